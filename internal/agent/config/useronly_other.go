//go:build !unix

package config

import "errors"

// checkUserOnly cannot judge access control lists, so that a credential file is refused here (A-OLL-09).
func checkUserOnly(string) error {
	return errors.New("access by other users cannot be checked on this operating system")
}
