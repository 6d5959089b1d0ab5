//go:build !unix

package userfile

import "errors"

// CheckPrivate cannot judge access control lists, so that a credential file is refused here (A-OLL-09).
func CheckPrivate(string) error {
	return errors.New("access by other users cannot be checked on this operating system")
}
