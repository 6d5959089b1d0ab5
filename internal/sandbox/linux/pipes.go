//go:build linux

package linux

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// stdio are the three pipes of a run: bare descriptors, as most runs need no goroutine for any of them.
type stdio struct {
	ours   [3]int // -1 when closed, or given to a file
	theirs []int
}

// pipes makes them so that the payload owns its ends: programs open /dev/stderr anew. Each run has its own: what a program did to
// its ends (their size, flags, mode) does not reach the next one.
func (b *Backend) pipes() (*stdio, error) {
	s := &stdio{ours: [3]int{-1, -1, -1}, theirs: make([]int, 0, 3)}
	for i := range s.ours {
		var fds [2]int
		// Only our end is non-blocking, so that closing it ends a blocked read.
		if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
			s.close()
			return nil, fmt.Errorf("making the pipes of a process: %w", err)
		}
		ours, theirs := fds[0], fds[1]
		if i == 0 {
			ours, theirs = theirs, ours
		}
		s.ours[i], s.theirs = ours, append(s.theirs, theirs)
		_, err := unix.FcntlInt(uintptr(theirs), unix.F_SETFL, 0)
		if err == nil && b.id.root {
			err = unix.Fchown(theirs, b.id.uid, b.id.gid)
		}
		if err != nil {
			s.close()
			return nil, fmt.Errorf("preparing the pipes of a process: %w", err)
		}
	}
	return s, nil
}

// pipes are those of the next run. The caller holds mu.
func (j *job) pipes() (*stdio, error) {
	if s := j.ready; s != nil {
		j.ready = nil
		return s, nil
	}
	return j.backend.pipes()
}

// ahead makes the pipes of the next run while this one's program is being loaded. Where that fails, it is tried again when they are
// needed, and told. The caller holds mu.
func (j *job) ahead() {
	if j.ready == nil {
		if s, err := j.backend.pipes(); err == nil {
			j.ready = s
		}
	}
}

// closeTheirs closes the payload's ends; it may be called again.
func (s *stdio) closeTheirs() {
	for _, fd := range s.theirs {
		unix.Close(fd)
	}
	s.theirs = nil
}

// closeOurs closes one of our ends; it may be called again.
func (s *stdio) closeOurs(i int) {
	if s.ours[i] >= 0 {
		unix.Close(s.ours[i])
		s.ours[i] = -1
	}
}

func (s *stdio) close() {
	s.closeTheirs()
	for i := range s.ours {
		s.closeOurs(i)
	}
}

// file makes one of our ends a file that goroutines can wait for.
func (s *stdio) file(i int) *os.File {
	f := os.NewFile(uintptr(s.ours[i]), "pipe")
	s.ours[i] = -1
	return f
}

// fill writes input as far as the pipe takes it and returns the rest; after the last byte it closes the pipe.
func (s *stdio) fill(input []byte) (rest []byte) {
	for len(input) > 0 {
		n, err := unix.Write(s.ours[0], input)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return input // it is full; anything else is met again
		}
		input = input[n:]
	}
	s.closeOurs(0)
	return nil
}

// empty tells that nothing is in a pipe of output. A doubt is a no.
func (s *stdio) empty(i int) bool {
	n, err := unix.IoctlGetInt(s.ours[i], unix.TIOCINQ)
	return err == nil && n == 0
}
