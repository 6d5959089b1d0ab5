//go:build unix

package profile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

func configDir(env func(string) string) (string, error) {
	if dir := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home := env("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("neither XDG_CONFIG_HOME nor HOME holds an absolute path")
	}
	return filepath.Join(home, ".config"), nil
}

// checkUserOnly judges the open file, not its name, so that it cannot be exchanged in between.
func checkUserOnly(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return userOnly(info)
}

func userOnly(info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case !ok || int(st.Uid) != os.Geteuid():
		return errors.New("another user owns it")
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("its mode %04o lets other users in", info.Mode().Perm())
	}
	return nil
}
