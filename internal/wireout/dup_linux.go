package wireout

import "syscall"

func dup2(from, to int) error {
	for {
		if err := syscall.Dup3(from, to, 0); err != syscall.EINTR && err != syscall.EBUSY {
			return err
		}
	}
}
