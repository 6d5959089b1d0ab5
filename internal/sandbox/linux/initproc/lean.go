//go:build linux

package initproc

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Lean keeps the memory of this process, which is a launcher, to itself: from now on Fork copies neither its heap nor its variables
// nor the stacks of its threads. PID 1 needs nothing of them but a few pages of the stack that it begins on. Copying page tables
// costs, as do the faults by which both get pages of their own afterwards; and what is not there cannot be looked at. Memory
// that this process gets later is copied.
func Lean() error {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("reading the memory of the launcher: %w", err)
	}
	for line := range strings.Lines(string(maps)) {
		from, size, own, err := mapping(line)
		if err == nil && own {
			err = advise(from, size, unix.MADV_DONTFORK)
		}
		if err != nil {
			return fmt.Errorf("keeping the memory of the launcher to itself: %w", err)
		}
	}
	return nil
}

// mapping reads a line of /proc/self/maps. own is memory that a copy would be made of: private and writable.
func mapping(line string) (from, size uintptr, own bool, err error) {
	f := strings.Fields(line)
	if len(f) < 5 {
		return 0, 0, false, fmt.Errorf("unexpected mapping %q", line)
	}
	first, last, _ := strings.Cut(f[0], "-")
	begin, err := strconv.ParseUint(first, 16, 64)
	if err != nil {
		return 0, 0, false, fmt.Errorf("unexpected mapping %q: %w", line, err)
	}
	end, err := strconv.ParseUint(last, 16, 64)
	if err != nil || end <= begin || len(f[1]) != 4 {
		return 0, 0, false, fmt.Errorf("unexpected mapping %q: %w", line, err)
	}
	own = f[1][1] == 'w' && f[1][3] == 'p'
	return uintptr(begin), uintptr(end - begin), own, nil
}

func advise(from, size uintptr, advice int) error {
	if _, _, errno := unix.RawSyscall(unix.SYS_MADVISE, from, size, uintptr(advice)); errno != 0 {
		return errno
	}
	return nil
}
