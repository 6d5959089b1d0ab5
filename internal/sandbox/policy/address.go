package policy

import (
	"net/netip"
	"slices"
	"strings"
)

var (
	loopback4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	loopback6 = netip.IPv6Loopback()
	broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})
)

// The addresses that a name may not lead to (A-POL-12): everything that the IANA registries of special addresses do not
// call globally reachable, and what clouds keep for their metadata.
var private4 = prefixes("0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 " +
	"192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 168.63.129.16/32")

// In IPv6 only these are global unicast, less the rest.
var (
	global6  = prefixes("2000::/3 64:ff9b::/96")
	private6 = prefixes("2001::/23 2001:db8::/32 3fff::/20")
)

// Where an IPv6 address holds an IPv4 one that a translator or tunnel would send to, and at which byte.
var embedding = []struct {
	prefix netip.Prefix
	at     int
}{{netip.MustParsePrefix("::ffff:0:0/96"), 12}, {netip.MustParsePrefix("64:ff9b::/96"), 12}, {netip.MustParsePrefix("2002::/16"), 2}}

func prefixes(list string) []netip.Prefix {
	var out []netip.Prefix
	for p := range strings.FieldsSeq(list) {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// Public tells whether a name may lead to a: neither loopback, private, link-local, shared (carrier NAT), multicast,
// unspecified, reserved nor a metadata address, also not in a form that embeds an IPv4 address.
func Public(a netip.Addr) bool {
	a = a.WithZone("")
	for _, e := range embedding {
		if e.prefix.Contains(a) {
			b := a.As16()
			return Public(netip.AddrFrom4([4]byte(b[e.at : e.at+4])))
		}
	}
	in := func(list []netip.Prefix) bool {
		return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	if a.Is4() {
		return !in(private4)
	}
	return a.IsValid() && in(global6) && !in(private6)
}

// Machine is what must be known of this machine to keep payloads away from servers that they could drive (A-POL-06).
type Machine struct {
	Servers []Server
	// Addresses are those of this machine's interfaces: a server that listens everywhere is reached by each.
	Addresses []netip.Addr
}

// The kinds of Server.
const (
	ServerModel = "model" // the model server
	ServerOwn   = "own"   // this server's own HTTP port
	ServerRelay = "relay" // a relaycodex of this user
	ServerAgent = "agent" // another agent-mcp of this user
)

// Server is one that no payload may reach. Host is as its configuration writes it.
type Server struct {
	Kind string
	Host string
	Port int
	// Addresses are what Host resolves to, where it was resolved.
	Addresses []netip.Addr
}

// declares tells whether the canonical host and port name the server, as far as that shows without asking a resolver.
func (m Machine) declares(s Server, host string, port int) bool {
	if s.Port != port {
		return false
	}
	theirs, err := CanonicalHost(s.Host)
	if err != nil {
		theirs = strings.ToLower(s.Host)
	}
	return theirs == host || m.here(theirs) && m.here(host)
}

// here tells whether a canonical host is this machine.
func (m Machine) here(host string) bool {
	a, err := netip.ParseAddr(host)
	return isLocalhost(host) || err == nil && m.hereAddr(a)
}

func (m Machine) hereAddr(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.IsLoopback() || a.IsUnspecified() || slices.Contains(m.Addresses, a)
}

// Guards tells whether a connection to an address would reach one of the servers.
func (m Machine) Guards(to netip.AddrPort) bool {
	for _, s := range m.Servers {
		if s.Port != int(to.Port()) {
			continue
		}
		if m.declares(s, to.Addr().Unmap().String(), s.Port) {
			return true
		}
		for _, a := range s.Addresses {
			if a.Unmap() == to.Addr().Unmap() || m.hereAddr(a) && m.hereAddr(to.Addr()) {
				return true
			}
		}
	}
	return false
}
