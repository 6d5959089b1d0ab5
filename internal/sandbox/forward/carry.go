package forward

import (
	"context"
	"net"
	"net/netip"
	"sync"

	"sekisho/internal/audit"
	"sekisho/internal/sandbox"
)

// reasonReserved is policy.ReasonReserved: what the audit says of a server that came up on an address of a rule.
const reasonReserved = "reserved_server"

// carry connects c to its rule's address and copies both ways until both have ended, one has failed, or the sandbox ends.
func (s *serving) carry(in *inlet, c *net.TCPConn) {
	out, err := s.dial(in)
	if err != nil {
		abort(c) // who connected is told by a reset: an orderly end would be an empty answer
		return
	}
	if !s.hold(out) {
		abort(c)
		return
	}
	defer s.release(out)
	narrow(c)
	narrow(out)
	unpaced(c) // it does not leave the sandbox's namespace
	if out.RemoteAddr().(*net.TCPAddr).IP.IsLoopback() {
		unpaced(out)
	}
	var back sync.WaitGroup
	back.Go(func() { s.f.pipe(c, out) })
	s.f.pipe(out, c)
	back.Wait()
}

// dial tries the rule's address and, where there is one, the other loopback.
func (s *serving) dial(in *inlet) (*net.TCPConn, error) {
	c, err := s.dialOne(in, in.rule.Address)
	if err != nil && in.rule.Other.IsValid() && s.ctx.Err() == nil {
		return s.dialOne(in, in.rule.Other)
	}
	return c, err
}

func (s *serving) dialOne(in *inlet, to netip.AddrPort) (*net.TCPConn, error) {
	if s.guarded(in, to) {
		return nil, net.ErrClosed
	}
	ctx, cancel := context.WithTimeout(s.ctx, dialTime)
	defer cancel()
	var d net.Dialer
	c, err := d.DialTCP(ctx, "tcp", netip.AddrPort{}, to)
	if err != nil {
		return nil, err
	}
	if s.guarded(in, to) { // who listens now may not have listened then
		abort(c)
		return nil, net.ErrClosed
	}
	return c, nil
}

// guarded asks whether a server that no payload may reach is at an address.
func (s *serving) guarded(in *inlet, to netip.AddrPort) bool {
	guards := s.f.o.Guards
	if guards == nil {
		return false
	}
	yes, err := guards(to)
	if !yes && err == nil {
		return false
	}
	in.guarded.Do(func() { s.f.denied(in.rule, to) })
	return true
}

// denied tells the audit; a line that cannot be written is told at the end.
func (f *Forwarder) denied(r sandbox.NetworkRule, to netip.AddrPort) {
	err := f.o.Audit.Write(audit.Event{Event: audit.PolicyDeny, SessionID: f.o.Session, TaskID: f.o.Task, Kind: audit.KindNetwork,
		Target: to.String(), Port: int(to.Port()), Reason: reasonReserved, RuleID: r.ID})
	if err != nil {
		f.mu.Lock()
		f.err = err
		f.mu.Unlock()
	}
}

// pipe copies until from ends, and then ends to in the same way: an orderly end closes that direction only, a failure of
// either side resets both. Where the system can, the bytes never come into this process (splice).
func (f *Forwarder) pipe(to, from *net.TCPConn) {
	if err := f.transfer(to, from); err != nil {
		abort(from)
		abort(to)
		return
	}
	to.CloseWrite()
}

// abort closes with a reset. A connection may be closed more than once.
func abort(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}
