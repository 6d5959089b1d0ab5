//go:build unix

package config

import (
	"fmt"
	"os"
	"syscall"
)

// checkUserOnly refuses a credential file that another account owns or may open (A-OLL-09).
func checkUserOnly(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errNotRegular
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != os.Geteuid() {
		return errNotOwn
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%w: %04o", errOpenToOthers, info.Mode().Perm())
	}
	return nil
}
