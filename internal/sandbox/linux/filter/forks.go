//go:build linux

package filter

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Counter lists the processes (not threads) of the confined tree without PID 1, by ids of the caller's PID namespace.
type Counter func() ([]int, error)

const (
	// pollEvery is how often the tree is counted while a program runs and nobody asks.
	pollEvery = 5 * time.Millisecond
	// mostFilters is how many system call filters the programs of a tree may add to themselves until it is empty once. The kernel compiles
	// them to memory that no group pays and that all ordinary users share (net.core.bpf_jit_limit), up to 50 KB each (seen); programs
	// add a few.
	mostFilters = 512
	// countEvery is how soon one count follows another that was caused by a child's first word. A program can say that
	// word as often as it likes.
	countEvery = time.Millisecond
)

// Forks holds the confined tree to its limit of processes. A fork that asks goes on while fewer exist or were granted, and
// fails with EAGAIN otherwise. The forms of fork that must not wait (see the rules) are counted afterwards: within 1 ms of
// their child's first word, and every 5 ms for a child that never says one; pids.max is the ceiling of what can happen
// between two counts. At the first refusal or excess one value is sent on exceeded (never blocking: give it room for
// one) and the caller ends the tree with resource.process_limit (A-SBX-02).
//
// It has no goroutine. Whoever follows a run waits for the listener together with everything else and calls Serve: a thread that
// sleeps in poll(2) is woken on the asker's own processor, and nobody else with it. While nothing runs nobody can ask.
//
// It takes a quarter of one processor at most: a tree that asks for more is made to wait, not the server.
//
// It is part of the broker's process, never of PID 1, whose own forks wait for it too. It is for one goroutine at a time.
type Forks struct {
	listener *listener
	grants   grants
	exceeded chan<- struct{}
	reported bool
	counted  time.Time // the last count
	due      bool      // a child spoke since then
	pace     pace
	resume   time.Time // when somebody is heard again
	filters  int       // added by programs since the tree was empty
}

// Listen takes notify over, also when it fails.
func Listen(notify *os.File, procs Counter, limit int, exceeded chan<- struct{}) (*Forks, error) {
	l, err := listen(notify)
	if err != nil {
		return nil, err
	}
	f := &Forks{listener: l, exceeded: exceeded, grants: grants{procs: procs, limit: limit, exists: threadExists}}
	f.Begin()
	return f, nil
}

// Close makes every later fork of the tree fail with ENOSYS, and every one that waits.
func (f *Forks) Close() error { return f.listener.file.Close() }

// Begin begins a run: every process of the last one is dead, and what runs now is one process. From now on the tree is counted
// every 5 ms, also when none of its processes ever asks.
func (f *Forks) Begin() {
	f.grants.open, f.grants.known = map[uint32]time.Time{}, map[int]bool{}
	f.counted, f.due, f.filters = time.Now(), false, 0
}

// Next is what to wait for until Serve is called again: a descriptor to read from, or -1 when nobody is heard, and a time.
func (f *Forks) Next() (fd int, wait time.Duration) {
	if rest := time.Until(f.resume); rest > 0 {
		return -1, rest
	}
	every := pollEvery
	if f.due {
		every = countEvery
	}
	return f.listener.fd(), max(0, every-time.Since(f.counted))
}

// Serve answers one notification, if poll(2) said ready of the descriptor, and counts when that is due. After an error nothing
// holds the limit any more, and the caller ends the tree.
func (f *Forks) Serve(ctx context.Context, ready int16) error {
	begun, waited := time.Now(), f.grants.waited
	if begun.Before(f.resume) {
		return nil
	}
	req, err := f.listener.receive(ready)
	if err != nil {
		return err
	}
	if _, wait := f.Next(); req == nil && wait > 0 {
		return nil
	}
	err = f.serve(ctx, req, begun)
	f.resume = f.pace.spend(begun, time.Now().Add(waited-f.grants.waited))
	return err
}

// serve answers one notification, or, when there is none, counts.
func (f *Forks) serve(ctx context.Context, req *notification, now time.Time) error {
	if req != nil && (req.nr == unix.SYS_SECCOMP || req.nr == unix.SYS_PRCTL) {
		f.filters++
		_, err := f.listener.answer(req.id, f.filters <= mostFilters, unix.ENOMEM)
		return err
	}
	if req != nil && req.nr != unix.SYS_SET_ROBUST_LIST {
		ok, err := f.grants.grant(ctx, req.pid)
		if err != nil {
			return err
		}
		f.report(ok)
		delivered, err := f.listener.answer(req.id, ok, unix.EAGAIN)
		if err == nil && ok && delivered {
			f.grants.open[req.pid] = time.Now()
		}
		return err
	}
	// A child's first word is answered after the count when that is due, so that an excess is found before it goes on.
	f.due = true
	if req == nil || now.Sub(f.counted) >= countEvery {
		ok, err := f.grants.count()
		if err != nil {
			return err
		}
		f.counted, f.due = now, false
		if len(f.grants.known)+len(f.grants.open) == 0 {
			f.filters = 0
		}
		f.report(ok)
	}
	if req == nil {
		return nil
	}
	_, err := f.listener.answer(req.id, true, 0)
	return err
}

func (f *Forks) report(ok bool) {
	if ok || f.reported {
		return
	}
	f.reported = true
	select {
	case f.exceeded <- struct{}{}:
	default:
	}
}
