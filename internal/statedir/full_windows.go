package statedir

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/windows"
)

// ignoreFull drops the error of removing a directory that is not empty or no longer there.
func ignoreFull(err error) error {
	if errors.Is(err, windows.ERROR_DIR_NOT_EMPTY) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
