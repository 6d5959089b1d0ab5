//go:build unix

package transport

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// openGuarded judges the opened file, never the name, so that nothing can be put in its place afterwards. It does not wait
// for the other end of a FIFO. A file of root's is accepted when others may read it, since root could change ours too.
func openGuarded(path string, open uint32) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("opening: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		err = guarded(info, open)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func guarded(info os.FileInfo, open uint32) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	mode := uint32(info.Mode().Perm())
	switch {
	case !info.Mode().IsRegular():
		return errors.New("it is no regular file")
	case !ok || int(st.Uid) != os.Geteuid() && st.Uid != 0:
		return errors.New("it belongs to another user")
	case mode&open != 0:
		return fmt.Errorf("its mode %04o gives other users access; make it %04o", mode, mode&^open)
	}
	return nil
}
