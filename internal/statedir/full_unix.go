//go:build unix

package statedir

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// ignoreFull drops the error of removing a directory that is not empty or no longer there.
func ignoreFull(err error) error {
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
