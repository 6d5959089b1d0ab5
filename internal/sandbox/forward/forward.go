// Package forward carries the connections of a sandbox with a network to the outside (A-POL-06, A-SBX-05).
//
// PID 1 of the sandbox made the listeners in its own network namespace; their descriptors are here. Each connection that
// comes out of one goes to exactly the address of its rule, and to nothing else: no name is resolved here, no byte looked at.
//
// Threat: who connects is hostile, and may open as much as it likes, read slowly, never close. It can only wear out its own
// share: connections are capped for each sandbox and each rule, new ones are paced, every buffer is bounded and belongs to
// one connection, and nobody waits for another's reader. What the cap leaves out waits in the kernel's queue of the
// listener, in the sandbox's memory.
//
// Everything that Serve started has ended when its stop returns; the process's end, by whatever cause, ends it as well,
// because listeners and connections are descriptors of this process.
package forward

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// Limits of one sandbox. A connection takes at most about 1.5 MiB of the kernel's memory here: two sockets with two buffers
// each, and on Linux two pipes. Each of maxWide directions takes 9 MiB more.
const (
	maxConnections = 128 // at a time
	maxOfOneRule   = 96  // of these, so that one rule's idle connections do not keep all others out
	dialTime       = 10 * time.Second
	perSecond      = 2000 // new connections, after a burst of maxConnections
	acceptPause    = 50 * time.Millisecond
)

// Auditor takes audit events.
type Auditor interface{ Write(audit.Event) error }

// Options are what a Forwarder works with.
type Options struct {
	Session, Task string
	Audit         Auditor
	// Guards is asked right before each dial, and again before the first byte of a connection that was made, whether the
	// address has become a server that no payload may reach; nil means never. An error is a yes.
	Guards func(netip.AddrPort) (bool, error)
}

// Forwarder serves the confinements of one task. It implements sandbox.Forwarder.
type Forwarder struct {
	o     Options
	slots chan struct{}
	wide  chan struct{}
	pace  *pace

	mu  sync.Mutex
	err error
}

var _ sandbox.Forwarder = (*Forwarder)(nil)

// New returns a Forwarder for one task.
func New(o Options) *Forwarder {
	return &Forwarder{o: o, slots: make(chan struct{}, maxConnections), wide: make(chan struct{}, maxWide), pace: newPace(perSecond, maxConnections)}
}

// Err tells what could not be written to the audit when rules were removed. The rules themselves are gone.
func (f *Forwarder) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Serve implements sandbox.Forwarder. Each rule is audited before it carries anything; when that fails none does.
func (f *Forwarder) Serve(listening []sandbox.Listening) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &serving{f: f, ctx: ctx, cancel: cancel, conns: map[*net.TCPConn]struct{}{}}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	for _, l := range listening {
		listener, lerr := listenerOf(l)
		if lerr != nil {
			err = errors.Join(err, lerr)
			continue // the others are taken over as well
		}
		s.inlets = append(s.inlets, &inlet{rule: l.Rule, listener: listener, slots: make(chan struct{}, maxOfOneRule)})
	}
	if err != nil {
		return nil, fault.New(fault.SandboxFailed, fault.Cause(err))
	}
	for _, in := range s.inlets {
		if err := f.write(audit.NetworkRuleApply, in.rule); err != nil {
			return nil, fault.New(fault.StateUnusable, fault.Variant("audit"), fault.Target(audit.FileName), fault.Arg("reason", err), fault.Cause(err))
		}
		in.applied = true
	}
	for _, in := range s.inlets {
		s.owned.Go(func() { s.accept(in) })
	}
	return s.stop, nil
}

func (f *Forwarder) write(event string, r sandbox.NetworkRule) error {
	target := r.Address.Addr().String()
	if r.Host != "" && r.Host != target {
		target = r.Host + " (" + target + ")"
	}
	return f.o.Audit.Write(audit.Event{Event: event, SessionID: f.o.Session, TaskID: f.o.Task, Target: target, Port: int(r.Address.Port()), RuleID: r.ID})
}

// listenerOf takes the descriptor over.
func listenerOf(l sandbox.Listening) (*net.TCPListener, error) {
	file := os.NewFile(uintptr(l.FD), "listener "+l.Rule.Address.String())
	if file == nil {
		return nil, fmt.Errorf("no listener for %v", l.Rule.Address)
	}
	defer file.Close()
	any, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("listener for %v: %w", l.Rule.Address, err)
	}
	listener, ok := any.(*net.TCPListener)
	if !ok {
		any.Close()
		return nil, fmt.Errorf("what is given for %v does not listen on TCP", l.Rule.Address)
	}
	return listener, nil
}

// serving is one confinement at work.
type serving struct {
	f      *Forwarder
	ctx    context.Context
	cancel context.CancelFunc
	inlets []*inlet
	owned  sync.WaitGroup

	mu    sync.Mutex
	ended bool
	conns map[*net.TCPConn]struct{}
}

// inlet is one listener.
type inlet struct {
	rule     sandbox.NetworkRule
	listener *net.TCPListener
	slots    chan struct{}
	applied  bool
	guarded  sync.Once // a refusal by Guards is audited once
}

// stop ends everything, waits for it and audits the end of the rules.
func (s *serving) stop() {
	s.cancel()
	s.mu.Lock()
	s.ended = true
	for c := range s.conns {
		abort(c)
	}
	s.mu.Unlock()
	for _, in := range s.inlets {
		in.listener.Close()
	}
	s.owned.Wait()
	for _, in := range s.inlets {
		if !in.applied {
			continue
		}
		if err := s.f.write(audit.NetworkRuleRemove, in.rule); err != nil {
			s.f.mu.Lock()
			s.f.err = errors.Join(s.f.err, err)
			s.f.mu.Unlock()
		}
	}
}

// hold registers a connection for stop; false means that it came too late and is closed.
func (s *serving) hold(c *net.TCPConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		abort(c)
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *serving) release(c *net.TCPConn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	c.Close()
}

// accept admits connections while there is room for them. The one that finds none waits here, the rest in the kernel.
func (s *serving) accept(in *inlet) {
	for s.ctx.Err() == nil {
		c, err := in.listener.AcceptTCP()
		if err != nil {
			// Nothing but the end closes a listener; what else keeps from accepting, such as a lack of descriptors, passes.
			s.pause(acceptPause)
			continue
		}
		if !s.hold(c) {
			return
		}
		if s.f.pace.wait(s.ctx) != nil || !s.take(in.slots) {
			s.release(c)
			return
		}
		if !s.take(s.f.slots) {
			<-in.slots
			s.release(c)
			return
		}
		s.owned.Go(func() {
			defer func() { <-s.f.slots; <-in.slots }()
			defer s.release(c)
			s.carry(in, c)
		})
	}
}

func (s *serving) take(slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	case <-s.ctx.Done():
		return false
	}
}

func (s *serving) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}
