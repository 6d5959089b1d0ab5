//go:build unix

package wireout

import (
	"fmt"
	"os"
	"syscall"
)

// lowest is the smallest number of the private descriptor: above those that shells and supervisors hand down.
const lowest = 10

func setApart() (*os.File, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_FCNTL, 1, syscall.F_DUPFD_CLOEXEC, lowest)
	if errno != 0 {
		return nil, fmt.Errorf("standard output cannot be used: %w", errno)
	}
	// A closed standard error is the null device by now: the runtime opens the first three descriptors.
	if err := dup2(2, 1); err != nil {
		syscall.Close(int(fd))
		return nil, fmt.Errorf("standard output cannot be set apart: %w", err)
	}
	return os.NewFile(fd, "standard output"), nil
}
