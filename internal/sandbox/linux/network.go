//go:build linux

package linux

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/probe"
	"sekisho/internal/sandbox/linux/wire"
)

// network is the network of a plan: where PID 1 listens, and who serves that.
type network struct {
	rules   []sandbox.NetworkRule
	forward sandbox.Forwarder
}

// networkOf is nil for a policy without a network. One with a network may have no rule: then programs reach each other.
func networkOf(p *sandbox.EffectivePolicy) *network {
	if p.Network.Access == sandbox.NetworkNone {
		return nil
	}
	return &network{rules: p.Task.Network.Rules, forward: p.Task.Forward}
}

// networkAvailable refuses a network that this kernel cannot confine twice, and a policy that does not fit together.
func (b *Backend) networkAvailable(p *sandbox.EffectivePolicy) error {
	n := p.Task.Network
	switch p.Network.Access {
	case sandbox.NetworkNone:
		if len(n.Rules) == 0 {
			return nil
		}
	case sandbox.NetworkLocal, sandbox.NetworkRestricted:
		if err := probe.RefuseNetwork(b.facts()); err != nil {
			return err
		}
		if len(n.Rules) == 0 || len(n.Rules) <= sandbox.MaxNetworkRules && p.Task.Forward != nil {
			return nil
		}
	}
	return fault.New(fault.ConfinementUnsupported, fault.Target("sandbox.network"))
}

func (n *network) setup() *wire.Network {
	if n == nil {
		return nil
	}
	out := &wire.Network{OwnFirst: sandbox.OwnPortFirst, OwnLast: sandbox.OwnPortLast}
	for _, r := range n.rules {
		out.Listen = append(out.Listen, wire.Listen{IP: r.Address.Addr().AsSlice(), Port: uint32(r.Address.Port())})
	}
	return out
}

// forward gives PID 1's listeners to whoever serves them. It takes the files over.
func (x *box) forward(n *network, listening []uint32, files []*os.File) (err error) {
	defer wire.CloseAll(files)
	if len(listening) == 0 {
		return nil
	}
	var out []sandbox.Listening
	defer func() {
		for _, l := range out {
			if err != nil {
				unix.Close(l.FD)
			}
		}
	}()
	seen := map[uint32]bool{}
	for i, index := range listening {
		if n == nil || int(index) >= len(n.rules) || seen[index] {
			return errors.New("PID 1 listens where it was not asked to")
		}
		seen[index] = true
		fd, err := unix.FcntlInt(files[i].Fd(), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return fmt.Errorf("taking over a listener: %w", err)
		}
		out = append(out, sandbox.Listening{Rule: n.rules[index], FD: fd})
	}
	given := out
	out = nil // they are the forwarder's now
	x.cut, err = n.forward.Serve(given)
	return err
}

// closing is the forwarder of a throw-away sandbox.
type closing struct{}

func (closing) Serve(listening []sandbox.Listening) (func(), error) {
	for _, l := range listening {
		unix.Close(l.FD)
	}
	if len(listening) == 0 {
		return nil, errors.New("PID 1 made no listener")
	}
	return func() {}, nil
}
