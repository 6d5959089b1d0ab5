//go:build !linux

package statedir

import (
	"errors"
	"os"

	"sekisho/internal/fileop"
)

// emptyTree and removeTree have nothing to remove where no task ever runs.
func emptyTree(fileop.FS, *os.File, string) error { return errors.ErrUnsupported }

func openUpTree(*os.File, string) error { return nil }

func removeTree(fileop.FS, *os.File, string) error { return errors.ErrUnsupported }
