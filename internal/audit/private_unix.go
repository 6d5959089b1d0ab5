//go:build unix

package audit

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

func private(st fs.FileInfo) error {
	if st.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("mode %#o lets others in; it must be 0600", st.Mode().Perm())
	}
	if s, ok := st.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("owner is uid %d, not this user", s.Uid)
	}
	return nil
}
