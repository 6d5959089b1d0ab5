//go:build linux

package initproc

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// bounds are the resource limits that a payload starts with and cannot raise. The control group holds memory and tasks;
// these hold what the kernel keeps by descriptor or counts by user, where the host's own user pays too.
var bounds = []struct {
	resource int
	most     uint64
}{
	// Twice what most systems begin with. Some buffers of the kernel come with a descriptor.
	{unix.RLIMIT_NOFILE, 4096},
	// Pending signals and timers, counted by user: the usual limit is the number of tasks of the machine.
	{unix.RLIMIT_SIGPENDING, 1024},
	// Message queues, which no payload can open.
	{unix.RLIMIT_MSGQUEUE, 0},
	// Locked memory; programs lock keys. Usual is 8 MiB.
	{unix.RLIMIT_MEMLOCK, 1 << 20},
}

// bound lowers what is higher; the first limit, which a program may raise to the second, stays where it can.
func bound() error {
	for _, b := range bounds {
		var l syscall.Rlimit
		if err := syscall.Getrlimit(b.resource, &l); err != nil {
			return wire.Fail(wire.StageDrop, "limits", fmt.Errorf("getrlimit %d: %w", b.resource, err))
		}
		l.Max = min(l.Max, b.most)
		l.Cur = min(l.Cur, l.Max)
		if err := syscall.Setrlimit(b.resource, &l); err != nil {
			return wire.Fail(wire.StageDrop, "limits", fmt.Errorf("setrlimit %d: %w", b.resource, err))
		}
	}
	return nil
}
