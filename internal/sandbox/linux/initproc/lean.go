//go:build linux

package initproc

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Lean keeps the memory of this process, which is a launcher, to itself: from now on Fork copies neither its heap nor its variables
// nor the stacks of its threads. PID 1 needs nothing of them but a few pages of the stack that it begins on. Copying page tables
// costs, as do the faults by which both get pages of their own afterwards; and what is not there cannot be looked at. Memory
// that this process gets later is copied, so it is called again: own is what the last call returned, 0 at first, and where the
// process has no more than that nothing is done. No block is mapped meanwhile.
func Lean(own uint64) (uint64, error) {
	for {
		now, err := owned()
		if err != nil || now == own {
			return now, err
		}
		if err := keep(unix.MADV_DONTFORK); err != nil { // which itself may need memory
			return 0, err
		}
		own = now
	}
}

// owned is how much private and writable memory this process has, in pages.
func owned() (uint64, error) {
	var text [256]byte
	fd, err := unix.Open("/proc/self/statm", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("asking for the memory of the launcher: %w", err)
	}
	n, err := unix.Read(fd, text[:])
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return 0, fmt.Errorf("asking for the memory of the launcher: %w", err)
	}
	return data(string(text[:n]))
}

// data is the sixth field of /proc/self/statm, which counts heap, variables and stacks.
func data(statm string) (uint64, error) {
	f := strings.Fields(statm)
	if len(f) != 7 {
		return 0, fmt.Errorf("unexpected amount of memory %q", statm)
	}
	n, err := strconv.ParseUint(f[5], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("unexpected amount of memory %q: %w", statm, err)
	}
	return n, nil
}

func keep(advice int) error {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("reading the memory of the launcher: %w", err)
	}
	for line := range strings.Lines(string(maps)) {
		from, size, own, err := mapping(line)
		if err == nil && own {
			err = advise(from, size, advice)
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
