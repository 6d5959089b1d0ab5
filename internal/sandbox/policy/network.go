package policy

import (
	"net/netip"
	"slices"
	"strconv"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// maxPairs bounds the pairs of host and port that can be declared (ports, in mode local).
const maxPairs = 64

// network checks A-POL-06 and returns the declaration in canonical form: ports sorted, each port and host once.
func (c *compiler) network() sandbox.NetworkPolicy {
	in := c.in.Network
	out := sandbox.NetworkPolicy{Access: in.Access}
	for i, port := range in.Local {
		if c.port(InLocal, i, "", port) {
			c.ours(InLocal, i, "", netip.AddrPortFrom(loopback4, uint16(port)).String(), "localhost", port)
		}
	}
	pairs := len(unique(in.Local))
	hosts := map[string]int{} // index in out.Restricted
	for i, e := range in.Restricted {
		host, ok := c.host(i, e.Host)
		if len(e.Ports) == 0 {
			c.invalid(InRestricted, i, "ports", "policy_network_empty", fault.Arg("access", in.Access))
		}
		for _, port := range e.Ports {
			if c.port(InRestricted, i, "ports", port) && ok {
				c.ours(InRestricted, i, "ports", sandbox.HostPort(host, port), host, port)
			}
		}
		at, twice := hosts[host]
		if !twice {
			at = len(out.Restricted)
			hosts[host] = at
			out.Restricted = append(out.Restricted, sandbox.Endpoint{Host: host})
		}
		ports := unique(slices.Concat(out.Restricted[at].Ports, e.Ports))
		pairs += len(ports) - len(out.Restricted[at].Ports)
		out.Restricted[at].Ports = ports
	}
	if pairs > maxPairs {
		c.invalid(InAccess, -1, "", "policy_network_many", fault.Arg("count", pairs), fault.Arg("limit", maxPairs))
	}
	out.Local = unique(in.Local)
	c.mode(in)
	return out
}

// mode refuses endpoints of a mode that is not chosen and a mode without endpoints.
func (c *compiler) mode(in sandbox.NetworkPolicy) {
	known := []string{sandbox.NetworkNone, sandbox.NetworkLocal, sandbox.NetworkRestricted}
	if !slices.Contains(known, in.Access) {
		c.invalid(InAccess, -1, "", "policy_network_access", fault.Arg("value", in.Access))
		return
	}
	for _, l := range []struct {
		section Section
		mode    string
		n       int
	}{{InLocal, sandbox.NetworkLocal, len(in.Local)}, {InRestricted, sandbox.NetworkRestricted, len(in.Restricted)}} {
		switch {
		case l.n > 0 && in.Access != l.mode:
			c.invalid(l.section, -1, "", "policy_network_mismatch", fault.Arg("access", in.Access))
		case l.n == 0 && in.Access == l.mode:
			c.invalid(l.section, -1, "", "policy_network_empty", fault.Arg("access", in.Access))
		}
	}
}

func (c *compiler) port(s Section, i int, field string, port int) bool {
	if port >= 1 && port <= 65535 {
		return true
	}
	c.invalid(s, i, field, "policy_port", fault.Arg("value", port))
	return false
}

// host returns the canonical host of a restricted endpoint.
func (c *compiler) host(i int, text string) (string, bool) {
	variant, err := HostProblem(text)
	if variant != "" {
		c.invalid(InRestricted, i, "host", variant, fault.Arg("value", strconv.QuoteToASCII(text)), fault.Cause(err))
		return text, false
	}
	host, err := CanonicalHost(text)
	return host, err == nil
}

// HostProblem returns the variant of configuration.invalid that says why text is no host of an endpoint, or "".
func HostProblem(text string) (variant string, cause error) {
	host, err := CanonicalHost(text)
	if err != nil {
		return "policy_host", err
	}
	if isLocalhost(host) {
		return "policy_host_localhost", nil // what it resolves to never gets a rule (A-POL-12)
	}
	if a, err := netip.ParseAddr(host); err == nil && (a.IsUnspecified() || a.IsMulticast() || a == broadcast) {
		return "policy_host_address", nil
	}
	return "", nil
}

// ours refuses an endpoint that is a server which no payload may reach.
func (c *compiler) ours(s Section, i int, field, shown, host string, port int) {
	for _, server := range c.in.Machine.Servers {
		if c.in.Machine.declares(server, host, port) {
			c.invalid(s, i, field, "policy_network_"+server.Kind, fault.Arg("endpoint", shown))
			return
		}
	}
}

func unique(ports []int) []int {
	return slices.Compact(slices.Sorted(slices.Values(ports)))
}
