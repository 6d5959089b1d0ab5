package profile

import (
	"errors"
	"os"
	"path/filepath"
)

func configDir(env func(string) string) (string, error) {
	dir := env("APPDATA")
	if !filepath.IsAbs(dir) {
		return "", errors.New("APPDATA does not hold an absolute path")
	}
	return dir, nil
}

// checkUserOnly asks only for a regular file: files in the user's application data inherit its user-only list.
func checkUserOnly(f *os.File) error {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	return err
}
