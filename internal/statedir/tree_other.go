//go:build !linux

package statedir

import (
	"errors"
	"os"

	"sekisho/internal/fileop"
)

// removeTree has nothing to remove where no task ever runs.
func removeTree(fileop.FS, *os.File, string) error { return errors.ErrUnsupported }
