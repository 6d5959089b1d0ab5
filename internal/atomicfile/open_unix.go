//go:build unix

package atomicfile

import "syscall"

// Opening a FIFO to read would wait for a writer.
const (
	noWait   = syscall.O_NONBLOCK
	noFollow = syscall.O_NOFOLLOW
)
