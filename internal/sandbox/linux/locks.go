//go:build linux

package linux

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"sekisho/internal/fault"
)

// The kernel charges file locks to nobody and limits their number nowhere: 200 bytes each, 100,000 a second for every processor
// (seen). So they are counted while something runs. Programs hold a few; a database hundreds.
const (
	mostLocks  = 16384
	locksEvery = 250 * time.Millisecond
	// locksRead bounds one count when others on this machine hold many: reading the list takes the square of its length.
	locksRead = 4 * mostLocks
)

const locksFile = "/proc/locks"

// locked tells whether the tree holds too many file locks. Its processes can take only such that belong to a living one: the
// filter refuses locks of an open file, which name no process, and tables of descriptors that two processes share.
func (x *box) locked() error {
	if x.group == nil {
		return nil
	}
	f, err := os.Open(locksFile)
	if err != nil {
		return fault.New(fault.SandboxFailed, fault.Cause(fmt.Errorf("counting file locks: %w", err)))
	}
	defer f.Close()
	owners, err := lockOwners(f)
	if err != nil {
		return fault.New(fault.SandboxFailed, fault.Cause(fmt.Errorf("counting file locks: %w", err)))
	}
	if len(owners) <= mostLocks {
		return nil // also with those of everybody else
	}
	pids, err := x.group.Procs()
	if err != nil {
		return fault.New(fault.SandboxFailed, fault.Cause(fmt.Errorf("listing the processes of a sandbox: %w", err)))
	}
	ours := 0
	for _, pid := range owners {
		if slices.Contains(pids, pid) {
			ours++
		}
	}
	if ours <= mostLocks {
		return nil
	}
	return fault.New(fault.ResourceMemoryLimit, fault.Cause(errors.New("more than "+strconv.Itoa(mostLocks)+" file locks, which the kernel charges to nobody")))
}

// lockOwners reads the process of each lock from text in the format of /proc/locks, at most locksRead: "1: POSIX ADVISORY WRITE
// 708 08:01:4194305 0 EOF", with "->" after the number for one that waits.
func lockOwners(r io.Reader) ([]int, error) {
	var owners []int
	lines := bufio.NewReader(r)
	for len(owners) < locksRead {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", locksFile, err)
		}
		fields := strings.Fields(string(line))
		if len(fields) > 1 && fields[1] == "->" {
			fields = slices.Delete(fields, 1, 2)
		}
		if len(fields) < 5 {
			return nil, fmt.Errorf("unexpected line in %s: %q", locksFile, line)
		}
		pid, err := strconv.Atoi(fields[4])
		if err != nil {
			return nil, fmt.Errorf("unexpected line in %s: %w", locksFile, err)
		}
		owners = append(owners, pid)
	}
	return owners, nil
}
