package broker

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/forward"
	"sekisho/internal/sandbox/policy"
)

// Resolver looks names up; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Network is what a policy with a network needs.
type Network struct {
	// Resolver is asked once for each name of a task, when its resources are applied.
	Resolver Resolver
	// Machine tells which servers no payload may reach, as they are now: when a task's resources are applied, and before
	// each connection, because a relaycodex may start later.
	Machine func() (policy.Machine, error)
	// Doors tells those that may be asked for each connection: the agent-mcp servers over HTTP. One that listens is told.
	Doors func() ([]policy.Server, error)
	Audit forward.Auditor
}

// resolveTime bounds the resolution of all names of a task.
const resolveTime = 10 * time.Second

// network resolves the policy's names and makes the task's snapshot and forwarder. What has no rule is audited as denied; the
// task goes on without it (A-POL-12).
func (b *Broker) network(ctx context.Context, session string, p *sandbox.EffectivePolicy) (*forward.Forwarder, error) {
	if p.Network.Access == sandbox.NetworkNone {
		return nil, nil
	}
	n := b.deps.Network
	if n == nil {
		return nil, fault.New(fault.ConfinementUnsupported, fault.Target("sandbox.network"))
	}
	machine, err := n.Machine()
	if err != nil {
		return nil, err
	}
	hosts := policy.Names(p.Network)
	for _, s := range machine.Servers {
		if _, err := netip.ParseAddr(s.Host); err != nil {
			hosts = append(hosts, s.Host) // an endpoint may lead to it under another name
		}
	}
	found := n.resolve(ctx, hosts)
	if err := ctx.Err(); err != nil {
		return nil, fault.New(fault.AgentCancelled, fault.Cause(err))
	}
	for i, s := range machine.Servers {
		machine.Servers[i].Addresses = found[s.Host]
	}
	snapshot, denied := policy.Snapshot(p.Network, found, machine)
	for _, d := range denied {
		if err := n.Audit.Write(audit.Event{Event: audit.PolicyDeny, SessionID: session, TaskID: p.Task.Task, Kind: audit.KindNetwork,
			Target: d.Target, Port: d.Port, Reason: d.Reason}); err != nil {
			return nil, unaudited(err)
		}
	}
	g := &guards{ask: n.Machine, doors: n.Doors, now: b.deps.Now, first: machine}
	f := forward.New(forward.Options{Session: session, Task: p.Task.Task, Audit: n.Audit, Guards: g.guards})
	p.Task.Network, p.Task.Forward = snapshot, f
	return f, nil
}

// guards tells for each connection whether its address has become a server that no payload may reach. Asking touches files
// and the servers themselves, so that a program which connects all the time must not make us ask all the time. The doors of
// agent-mcp servers have no key and are asked for every time: a payload that waits for one to open must not be its first client.
type guards struct {
	ask   func() (policy.Machine, error)
	doors func() ([]policy.Server, error) // asked each time
	now   func() time.Time
	first policy.Machine // with what names resolved to

	mu    sync.Mutex
	asked time.Time
	last  policy.Machine
	err   error
}

// guardsTime is how long an answer counts.
const guardsTime = time.Second

func (g *guards) guards(to netip.AddrPort) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.now(); g.asked.IsZero() || now.Sub(g.asked) >= guardsTime {
		g.last, g.err = g.ask()
		g.asked = now
	}
	if g.err != nil || g.first.Guards(to) || g.last.Guards(to) {
		return true, g.err
	}
	doors, err := g.doors()
	return policy.Machine{Servers: doors, Addresses: g.last.Addresses}.Guards(to), err
}

// resolve looks all names up at once. A name that fails has no addresses.
func (n *Network) resolve(ctx context.Context, names []string) map[string][]netip.Addr {
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	answers := make([][]netip.Addr, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		if strings.Contains(name, ".") {
			name += "." // absolute: no search list may lend it another meaning
		}
		asking.Go(func() {
			if a, err := n.Resolver.LookupNetIP(ctx, "ip", name); err == nil {
				answers[i] = a
			}
		})
	}
	asking.Wait()
	found := map[string][]netip.Addr{}
	for i, name := range names {
		found[name] = answers[i]
	}
	return found
}

// SystemResolver is the host's own resolver, its hosts file included.
func SystemResolver() Resolver { return net.DefaultResolver }

func unaudited(err error) error {
	return fault.New(fault.StateUnusable, fault.Variant("audit"), fault.Target(audit.FileName), fault.Arg("reason", err), fault.Cause(fmt.Errorf("network rules: %w", err)))
}
