package policy

import (
	"fmt"
	"net/netip"
	"slices"

	"sekisho/internal/sandbox"
)

// Reasons why an endpoint of the policy has no rule, as the audit's policy.deny records them.
const (
	ReasonDNSFailed      = "dns_failed"      // the name did not resolve
	ReasonPrivateAddress = "private_address" // it resolved to an address that is not public and not itself listed
	ReasonReserved       = "reserved_server" // it is the model server's, this server's or a relaycodex's
)

// maxNameAddresses bounds what is taken of one name's addresses; less when much is listed.
const maxNameAddresses = 16

// Denied is an endpoint, or one address of it, without a rule.
type Denied struct {
	Target string // host:port, or host:port (address)
	Port   int
	Reason string
}

// Names lists the names of a policy that must be resolved, in order.
func Names(n sandbox.NetworkPolicy) []string {
	var names []string
	for _, e := range n.Restricted {
		if _, err := netip.ParseAddr(e.Host); err != nil {
			names = append(names, e.Host)
		}
	}
	return names
}

// Snapshot makes the rules of a task from a compiled policy and what its names resolved to; a name without addresses has
// failed. What may not be reached has no rule and is denied; the task goes on without it (A-POL-12).
func Snapshot(n sandbox.NetworkPolicy, found map[string][]netip.Addr, m Machine) (sandbox.NetworkSnapshot, []Denied) {
	s := snapshot{machine: m, policy: n}
	for _, port := range n.Local {
		s.local(uint16(port))
	}
	for _, e := range n.Restricted { // literals first: they allow what a name may then lead to
		if a, err := netip.ParseAddr(e.Host); err == nil {
			for _, port := range e.Ports {
				s.rule(sandbox.NetworkRule{Address: netip.AddrPortFrom(a, uint16(port)), Host: e.Host}, sandbox.HostPort(e.Host, port))
			}
		}
	}
	literals := len(s.out.Rules)
	for _, e := range n.Restricted {
		if _, err := netip.ParseAddr(e.Host); err != nil {
			s.name(e, found[e.Host], s.out.Rules[:literals])
		}
	}
	return s.out, s.denied
}

type snapshot struct {
	machine Machine
	policy  sandbox.NetworkPolicy
	out     sandbox.NetworkSnapshot
	denied  []Denied
}

func (s *snapshot) local(port uint16) {
	v4, v6 := netip.AddrPortFrom(loopback4, port), netip.AddrPortFrom(loopback6, port)
	for _, r := range []sandbox.NetworkRule{{Address: v4, Other: v6}, {Address: v6, Other: v4}} {
		s.rule(r, r.Address.String())
	}
}

// rule adds a rule unless it is there already or must not be.
func (s *snapshot) rule(r sandbox.NetworkRule, target string) bool {
	if s.machine.Guards(r.Address) {
		s.deny(target, r.Address.Port(), ReasonReserved)
		return false
	}
	if !slices.ContainsFunc(s.out.Rules, func(o sandbox.NetworkRule) bool { return o.Address == r.Address }) {
		r.ID = fmt.Sprint("n", len(s.out.Rules)+1)
		s.out.Rules = append(s.out.Rules, r)
	}
	return true
}

func (s *snapshot) deny(target string, port uint16, reason string) {
	s.denied = append(s.denied, Denied{Target: target, Port: int(port), Reason: reason})
}

// name adds the rules of one name and pins it to the addresses that have one.
func (s *snapshot) name(e sandbox.Endpoint, answers []netip.Addr, literals []sandbox.NetworkRule) {
	addresses := s.chosen(answers)
	for _, port := range e.Ports {
		if len(addresses) == 0 {
			s.deny(sandbox.HostPort(e.Host, port), uint16(port), ReasonDNSFailed)
		}
	}
	for _, a := range addresses {
		pinned := false
		for _, port := range e.Ports {
			to := netip.AddrPortFrom(a, uint16(port))
			target := sandbox.HostPort(e.Host, port) + " (" + a.String() + ")"
			listed := slices.ContainsFunc(literals, func(r sandbox.NetworkRule) bool { return r.Address == to })
			if !Public(a) && !listed {
				s.deny(target, uint16(port), ReasonPrivateAddress)
				continue
			}
			pinned = s.rule(sandbox.NetworkRule{Address: to, Host: e.Host}, target) || pinned
		}
		if pinned {
			s.out.Names = append(s.out.Names, sandbox.NetworkName{Name: e.Host, Address: a})
		}
	}
}

// chosen makes the answers canonical, each once, the families by turns, and keeps the first few: all rules together must
// fit into MaxNetworkRules whatever a resolver says.
func (s *snapshot) chosen(answers []netip.Addr) []netip.Addr {
	var families [2][]netip.Addr
	for _, a := range answers {
		a = a.Unmap()
		family := 0
		if a.Is6() {
			family = 1
		}
		if a.IsValid() && a.Zone() == "" && !slices.Contains(families[family], a) {
			families[family] = append(families[family], a)
		}
	}
	pairs := 0
	for _, e := range s.policy.Restricted {
		pairs += len(e.Ports)
	}
	limit := min(maxNameAddresses, sandbox.MaxNetworkRules/max(pairs, 1))
	var out []netip.Addr
	for i := 0; len(out) < limit && (i < len(families[0]) || i < len(families[1])); i++ {
		for _, f := range families {
			if i < len(f) && len(out) < limit {
				out = append(out, f[i])
			}
		}
	}
	return out
}
