package recovery

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"sekisho/internal/fault"
	"sekisho/internal/relay/transport"
)

// proves R-REC-01: the classes; nothing is tried by itself yet.
func TestClassify(t *testing.T) {
	of := func(c transport.Class) error {
		return &transport.Error{Class: c, Fault: fault.New(fault.ConnectionLost)}
	}
	for err, want := range map[error]Loss{
		of(transport.Transient): Transient, of(transport.Auth): Permanent, of(transport.TLS): Permanent, of(transport.Config): Permanent,
		of(transport.Cancelled): Wanted, context.Canceled: Wanted, errors.New("new"): Permanent,
	} {
		if got := Classify(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

// proves R-CONN-04, R-REC-01
func TestLaneSerialises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLane()
		var mu sync.Mutex
		active, most, runs := 0, 0, map[string]int{}
		release := make(chan struct{})
		act := func(kind string) func() error {
			return func() error {
				mu.Lock()
				active++
				most = max(most, active)
				runs[kind]++
				mu.Unlock()
				<-release
				mu.Lock()
				active--
				mu.Unlock()
				return nil
			}
		}
		var callers sync.WaitGroup
		for range 5 {
			callers.Go(func() { l.Do(t.Context(), "reconnect", act("reconnect")) })
			callers.Go(func() { l.Do(t.Context(), "close", act("close")) })
		}
		synctest.Wait()
		close(release)
		callers.Wait()
		if most != 1 || runs["reconnect"] != 1 || runs["close"] != 1 {
			t.Errorf("%d at once, %v", most, runs)
		}
		gaveUp, cancel := context.WithCancel(t.Context())
		cancel()
		hold := make(chan struct{})
		callers.Go(func() { l.Do(t.Context(), "", func() error { <-hold; return nil }) })
		synctest.Wait()
		if err := l.Do(gaveUp, "", act("never")); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that gave up: %v", err)
		}
		close(hold)
		callers.Wait()
		last := 0
		l.Close(func() { last++ })
		l.Close(func() { last++ })
		if err := l.Do(t.Context(), "", act("late")); !errors.Is(err, ErrClosed) || last != 1 || runs["late"] != 0 {
			t.Errorf("after Close: %v, last %d, %v", err, last, runs)
		}
	})
}
