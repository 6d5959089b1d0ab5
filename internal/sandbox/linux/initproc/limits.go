//go:build linux

package initproc

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/opcode"
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

// Limits are the values that the launcher gives to a program: what it may have itself, lowered to the bounds. The first limit,
// which a program may raise to the second, stays where it can.
func Limits() ([]uint64, error) {
	var values []uint64
	for _, b := range bounds {
		var l syscall.Rlimit
		if err := syscall.Getrlimit(b.resource, &l); err != nil {
			return nil, wire.Fail(wire.StageDrop, "limits", fmt.Errorf("getrlimit %d: %w", b.resource, err))
		}
		l.Max = min(l.Max, b.most)
		l.Cur = min(l.Cur, l.Max)
		values = append(values, l.Cur, l.Max)
	}
	return values, nil
}

// bind sets them.
func bind(b *opcode.Builder) {
	b.For(wire.StageDrop, "limits")
	for i, l := range bounds {
		b.Call(unix.SYS_PRLIMIT64, opcode.Int(0), opcode.Int(l.resource), opcode.At(b.Param(2*i)), opcode.Int(0))
	}
}
