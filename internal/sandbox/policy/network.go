package policy

import (
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// network checks the shape of A-POL-06 and returns it in canonical form. Of the three modes only none is available yet.
func (c *compiler) network() sandbox.NetworkPolicy {
	in := c.in.Network
	out := sandbox.NetworkPolicy{Access: in.Access}
	for i, port := range in.Local {
		c.port(InLocal, i, "", port)
	}
	for i, e := range in.Restricted {
		host, err := CanonicalHost(e.Host)
		if err != nil {
			c.invalid(InRestricted, i, "host", "policy_host", fault.Arg("value", strconv.QuoteToASCII(e.Host)), fault.Cause(err))
		}
		if len(e.Ports) == 0 {
			c.invalid(InRestricted, i, "ports", "policy_network_empty", fault.Arg("access", in.Access))
		}
		for _, port := range e.Ports {
			c.port(InRestricted, i, "ports", port)
		}
		out.Restricted = append(out.Restricted, sandbox.Endpoint{Host: host, Ports: unique(e.Ports)})
	}
	out.Local = unique(in.Local)
	c.mode(in)
	return out
}

// mode refuses endpoints of a mode that is not chosen and a mode without endpoints, then what comes later.
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
	if in.Access != sandbox.NetworkNone {
		c.problem(InAccess, -1, "", fault.FeatureUnavailable, "network", fault.Arg("access", in.Access))
	}
}

func (c *compiler) port(s Section, i int, field string, port int) {
	if port < 1 || port > 65535 {
		c.invalid(s, i, field, "policy_port", fault.Arg("value", port))
	}
}

func unique(ports []int) []int {
	return slices.Compact(slices.Sorted(slices.Values(ports)))
}

// Reasons why a text is no canonical host.
var (
	errHostEmpty   = errors.New("is empty or too long")
	errHostLetters = errors.New("has a character that no host name has")
	errHostLabel   = errors.New("has a label that is empty, too long, or begins or ends with a hyphen")
	errHostNumeric = errors.New("looks like a number or an address in an unusual form")
	errHostZone    = errors.New("has a zone")
)

// CanonicalHost returns the one form of a host (A-POL-06): an address as netip prints it (an IPv4-mapped one as IPv4), or a
// name in lower case without a trailing dot. What a resolver would read in some other way is refused: non-ASCII names
// (the xn-- form is meant), odd numeric forms such as 0x7f.1, 127.1, 017.0.0.1 or 2130706433, NUL, white space, scheme,
// port, wildcard.
func CanonicalHost(host string) (string, error) {
	literal := host
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		literal = host[1 : len(host)-1]
		if !strings.Contains(literal, ":") {
			return "", errHostLetters
		}
	}
	if a, err := netip.ParseAddr(literal); err == nil {
		if a.Zone() != "" {
			return "", errHostZone
		}
		return a.Unmap().String(), nil
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "" || len(name) > 253 {
		return "", errHostEmpty
	}
	if a, err := netip.ParseAddr(name); err == nil && a.Is4() {
		return a.String(), nil // an address with a trailing dot
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if strings.ContainsFunc(l, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }) {
			return "", errHostLetters
		}
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
			return "", errHostLabel
		}
	}
	if numeric(labels[len(labels)-1]) {
		return "", errHostNumeric
	}
	return name, nil
}

// numeric tells whether a resolver takes a last label for a number (WHATWG URL, "ends in a number"): decimal, octal or
// hexadecimal.
func numeric(label string) bool {
	if digits(label, "0123456789") {
		return true
	}
	rest, ok := strings.CutPrefix(label, "0x")
	return ok && digits(rest, "0123456789abcdef")
}

func digits(s, set string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(set, r) })
}
