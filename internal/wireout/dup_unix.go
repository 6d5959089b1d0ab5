//go:build unix && !linux

package wireout

import "syscall"

func dup2(from, to int) error {
	for {
		if err := syscall.Dup2(from, to); err != syscall.EINTR {
			return err
		}
	}
}
