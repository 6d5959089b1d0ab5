//go:build unix && !linux

package fileop

import "golang.org/x/sys/unix"

// renameNoReplace links and unlinks: link(2) refuses an existing target, which rename(2) would replace.
func renameNoReplace(oldDir int, oldName string, newDir int, newName string) error {
	if err := unix.Linkat(oldDir, oldName, newDir, newName, 0); err != nil {
		return err
	}
	return unix.Unlinkat(oldDir, oldName, 0)
}
