//go:build unix

package ollama

import (
	"fmt"
	"os"
	"syscall"
)

// openPrivate opens a regular file that belongs to this user and is closed to everybody else. It judges the opened
// file, not the name, and a FIFO cannot hold it up.
func openPrivate(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the header value file: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("inspecting the header value file: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		err = fmt.Errorf("the header value file is no regular file")
	case !ok || int(st.Uid) != os.Geteuid():
		err = fmt.Errorf("the header value file belongs to another user")
	case info.Mode().Perm()&0o077 != 0:
		err = fmt.Errorf("the header value file is open to other users (mode %04o); make it 0600", info.Mode().Perm())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
