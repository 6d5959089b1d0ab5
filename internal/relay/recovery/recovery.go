// Package recovery has the one owner of connecting (R-REC-01, R-CONN-04): whatever makes, replaces or ends a connection
// runs in its Lane, one at a time, and what a loss means is decided in one place.
//
// In this version nothing is tried by itself: after a loss the state is "waiting for manual reconnect", whatever its
// class, and the class only selects what a person is told.
package recovery

import (
	"context"
	"errors"
	"sync"

	"sekisho/internal/relay/transport"
)

// Loss is what the end of a connection means.
type Loss string

// The losses.
const (
	Transient Loss = "transient" // process exit, broken connection, silence, unexpected close: trying again can help
	Permanent Loss = "permanent" // authentication, TLS, profile, protocol: something must be changed first
	Wanted    Loss = "wanted"    // this side ended it
)

// Classify tells what the end of a connection or a failed attempt means. What nobody classified is permanent: it is not
// tried again.
func Classify(err error) Loss {
	switch transport.ClassOf(err) {
	case transport.Transient:
		return Transient
	case transport.Cancelled:
		return Wanted
	}
	return Permanent
}

// ErrClosed reports a Lane that was closed.
var ErrClosed = errors.New("the worker is stopping")

// Lane runs actions on the connection one at a time, in the order in which they were asked for.
type Lane struct {
	mu     sync.Mutex
	free   chan struct{}     // one token: whoever holds it acts
	under  map[string]*share // actions that run or wait, by kind
	closed bool
}

// share is one action that several callers wait for.
type share struct {
	done chan struct{}
	err  error
}

// NewLane returns a free Lane.
func NewLane() *Lane {
	l := &Lane{free: make(chan struct{}, 1), under: map[string]*share{}}
	l.free <- struct{}{}
	return l
}

// Do runs act when its turn comes. Asked for a kind of action that runs or waits already, it waits for that one and
// returns its result: two clicks on "reconnect" make one connection. ctx bounds the caller's wait; once act runs, it is
// act's own business. An empty kind is never shared.
func (l *Lane) Do(ctx context.Context, kind string, act func() error) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	if s := l.under[kind]; s != nil {
		l.mu.Unlock()
		select {
		case <-s.done:
			return s.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s := &share{done: make(chan struct{})}
	if kind != "" {
		l.under[kind] = s
	}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		if l.under[kind] == s {
			delete(l.under, kind)
		}
		l.mu.Unlock()
		close(s.done)
	}()

	select {
	case <-l.free:
	case <-ctx.Done():
		s.err = ctx.Err()
		return s.err
	}
	defer func() { l.free <- struct{}{} }()
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if closed {
		s.err = ErrClosed
		return s.err
	}
	s.err = act()
	return s.err
}

// Close lets nothing new in, waits for the action that runs, and runs last.
func (l *Lane) Close(last func()) {
	l.mu.Lock()
	was := l.closed
	l.closed = true
	l.mu.Unlock()
	<-l.free
	defer func() { l.free <- struct{}{} }()
	if !was {
		last()
	}
}
