//go:build linux

package filter

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Counter lists the processes (not threads) of the confined tree without PID 1, by ids of the caller's PID namespace.
type Counter func() ([]int, error)

const (
	// pollEvery is how often the tree is counted while it has processes and nobody asks.
	pollEvery = 5 * time.Millisecond
	// mostFilters is how many system call filters the programs of a tree may add to themselves until it is empty once. The kernel compiles
	// them to memory that no group pays and that all ordinary users share (net.core.bpf_jit_limit), up to 50 KB each (seen); programs
	// add a few.
	mostFilters = 512
	// countEvery is how soon one count follows another that was caused by a child's first word. A program can say that
	// word as often as it likes.
	countEvery = time.Millisecond
)

// ServeForks holds the confined tree to limit processes. A fork that asks goes on while fewer exist or were granted, and
// fails with EAGAIN otherwise. The forms of fork that must not wait (see the rules) are counted afterwards: within 1 ms of
// their child's first word, and every 5 ms for a child that never says one; pids.max is the ceiling of what can happen
// between two counts. At the first refusal or excess one value is sent on exceeded (never blocking: give it room for
// one) and the caller ends the tree with resource.process_limit (A-SBX-02).
//
// It takes a quarter of one processor at most: a tree that asks for more is made to wait, not the server.
//
// It runs in the broker's process, never in PID 1, whose own forks wait for it too. It takes notify over and closes it on return. It returns nil when the last restricted
// process is gone, ctx's error when ctx ends, and any other error when counting or answering became impossible: then
// nothing holds the limit any more and the caller ends the tree.
//
// While nothing runs, as runs tells, there is nothing to count, and it sleeps.
func ServeForks(ctx context.Context, notify *os.File, runs *Runs, procs Counter, limit int, exceeded chan<- struct{}) error {
	l, err := listen(notify)
	notify.Close()
	if err != nil {
		return err
	}
	l.runs = runs
	runs.attach(l)
	defer runs.attach(nil)
	defer l.file.Close()
	stop := context.AfterFunc(ctx, func() { l.stop() })
	defer stop()
	s := server{listener: l, exceeded: exceeded, grants: grants{procs: procs, limit: limit, exists: threadExists, open: map[uint32]time.Time{}, known: map[int]bool{}}}
	for {
		req, err := l.next(s.wait())
		if ctx.Err() != nil {
			return ctx.Err()
		}
		timeout := errors.Is(err, os.ErrDeadlineExceeded)
		if !timeout && (err != nil || req == nil) {
			return err
		}
		begun, waited := time.Now(), s.grants.waited
		if err := s.serve(ctx, req, begun); err != nil {
			return err
		}
		if err := s.pace.pause(ctx, begun, time.Now().Add(waited-s.grants.waited)); err != nil {
			return err
		}
	}
}

// Runs tells a server of forks whether a program runs. The zero value is ready: none does.
type Runs struct {
	mu       sync.Mutex // before that of a listener
	listener *listener
	on       atomic.Bool
}

// Set begins or ends a run. From its beginning on the tree is counted every 5 ms, also when none of its processes ever asks.
func (r *Runs) Set(on bool) {
	r.on.Store(on)
	r.mu.Lock()
	defer r.mu.Unlock()
	if on && r.listener != nil {
		r.listener.begin()
	}
}

// On tells whether a program runs.
func (r *Runs) On() bool { return r.on.Load() }

func (r *Runs) attach(l *listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listener = l
}

// server is the state of ServeForks.
type server struct {
	listener *listener
	grants   grants
	exceeded chan<- struct{}
	reported bool
	counted  time.Time // the last count
	due      bool      // a child spoke since then
	pace     pace
	filters  int // added by programs since the tree was empty
}

// wait is how long the next notification is waited for before the tree is counted; 0 is for ever.
func (s *server) wait() time.Duration {
	switch {
	case s.due:
		return max(countEvery-time.Since(s.counted), time.Microsecond)
	case len(s.grants.known)+len(s.grants.open) > 0:
		return pollEvery
	}
	return 0
}

// serve answers one notification, or, when there is none, counts.
func (s *server) serve(ctx context.Context, req *notification, now time.Time) error {
	if req != nil && (req.nr == unix.SYS_SECCOMP || req.nr == unix.SYS_PRCTL) {
		s.filters++
		_, err := s.listener.answer(req.id, s.filters <= mostFilters, unix.ENOMEM)
		return err
	}
	if req != nil && req.nr != unix.SYS_SET_ROBUST_LIST {
		ok, err := s.grants.grant(ctx, req.pid)
		if err != nil {
			return err
		}
		s.report(ok)
		delivered, err := s.listener.answer(req.id, ok, unix.EAGAIN)
		if err == nil && ok && delivered {
			s.grants.open[req.pid] = time.Now()
		}
		return err
	}
	// A child's first word is answered after the count when that is due, so that an excess is found before it goes on.
	s.due = true
	if req == nil || now.Sub(s.counted) >= countEvery {
		ok, err := s.grants.count()
		if err != nil {
			return err
		}
		s.counted, s.due = now, false
		if len(s.grants.known)+len(s.grants.open) == 0 {
			s.filters = 0
		}
		s.report(ok)
	}
	if req == nil {
		return nil
	}
	_, err := s.listener.answer(req.id, true, 0)
	return err
}

func (s *server) report(ok bool) {
	if ok || s.reported {
		return
	}
	s.reported = true
	select {
	case s.exceeded <- struct{}{}:
	default:
	}
}
