package sandbox

import (
	"net/netip"
	"strconv"
	"strings"
)

// Network access modes (A-POL-06).
const (
	NetworkNone       = "none"
	NetworkLocal      = "local"
	NetworkRestricted = "restricted"
)

// NetworkPolicy is the network part of a policy, in canonical form: ports sorted, each host once.
type NetworkPolicy struct {
	Access     string     `json:"access"`
	Local      []int      `json:"local_endpoints,omitempty"`
	Restricted []Endpoint `json:"restricted_endpoints,omitempty"`
}

// Endpoint is one restricted host with its TCP ports.
type Endpoint struct {
	Host  string `json:"host"`
	Ports []int  `json:"ports"`
}

// HostPort is host:port, with brackets around an IPv6 address.
func HostPort(host string, port int) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(port)
}

// NetworkSnapshot is what a NetworkPolicy means for one task: its names resolved once, when the task's resources are
// applied, for the whole task (A-POL-06, A-POL-12).
type NetworkSnapshot struct {
	Rules []NetworkRule `json:"rules,omitempty"` // at most MaxNetworkRules, each Address once
	// Names pin what was resolved in the sandbox's hosts file, in the order of the configuration.
	Names []NetworkName `json:"names,omitempty"`
}

// NetworkRule lets a sandbox reach one address and TCP port of the host's network. Inside, PID 1 listens at Address; the
// broker's forwarder dials exactly Address.
type NetworkRule struct {
	// ID names the rule in the audit; unique in its task.
	ID      string         `json:"id"`
	Address netip.AddrPort `json:"address"`
	// Other is dialled when Address does not answer: the loopback of the other family, in mode local only.
	Other netip.AddrPort `json:"other,omitzero"`
	// Host is the endpoint's host as the configuration names it, or "" in mode local.
	Host string `json:"host,omitempty"`
}

// NetworkName is one line of the sandbox's hosts file.
type NetworkName struct {
	Name    string     `json:"name"`
	Address netip.Addr `json:"address"`
}

// MaxNetworkRules bounds the listeners of one sandbox.
const MaxNetworkRules = 240

// The TCP ports at which programs of a sandbox with a network can listen themselves: the system picks one of them for a
// program that asks for port 0. They are reached from inside the same sandbox only.
const (
	OwnPortFirst = 61000
	OwnPortLast  = 62023
)

// Listening is one listener inside a confinement. FD is a descriptor of this process; whoever is given it closes it.
type Listening struct {
	Rule NetworkRule
	FD   int
}

// Forwarder carries what a confinement's programs connect to its listeners to the addresses of their rules. The broker
// gives it to the backend in TaskBinding; each confinement that a Job builds is served once.
type Forwarder interface {
	// Serve takes the descriptors over, also on error. It returns when every rule is in force. stop ends every connection and
	// listener of this confinement and returns when none is left; it is called once.
	Serve(listening []Listening) (stop func(), err error)
}
