//go:build unix

package userfile

import (
	"fmt"
	"os"
	"syscall"
)

// CheckPrivate refuses a credential file that another account owns or may open (A-OLL-09).
func CheckPrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return ErrNotRegular
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != os.Geteuid() {
		return ErrNotOwn
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%w: %04o", ErrOpenToOthers, info.Mode().Perm())
	}
	return nil
}
