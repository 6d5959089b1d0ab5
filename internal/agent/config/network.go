package config

import (
	"strings"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/yamltree"
)

// network reads the declaration of A-POL-06. What depends on this machine and on other keys is judged by the policy.
func (s *sections) network(m *yamltree.Section) {
	defer m.Done()
	access := m.Key("access")
	n := &s.c.Sandbox.Network
	n.Access = access.Enum(sandbox.NetworkNone, sandbox.NetworkNone, sandbox.NetworkLocal, sandbox.NetworkRestricted)
	local, restricted := m.Key("local_endpoints"), m.Key("restricted_endpoints")
	n.Local = ports(local)
	for _, item := range restricted.List() {
		if shaped(item, "config.accepts.endpoint_item") {
			n.Restricted = append(n.Restricted, endpoint(item))
		}
	}
	s.networkMode(access, local, restricted)
}

func endpoint(item yamltree.Value) sandbox.Endpoint {
	for _, e := range item.Free() {
		if key := strings.ToLower(e.Name); strings.HasPrefix(key, "udp") || (key == "protocol" || key == "network") && isUDP(e.Value) {
			refuseUDP(e.Value)
			return sandbox.Endpoint{}
		}
	}
	e := item.Section()
	defer e.Done()
	host, list := e.Key("host"), e.Key("ports")
	list.Required()
	out := sandbox.Endpoint{Host: host.Text(""), Ports: ports(list)}
	if list.Present() && list.Node().Kind == yamltree.List && len(list.Node().Items) == 0 {
		list.Fail(yamltree.T("config.network.no_ports"), yamltree.Text{})
	}
	switch {
	case !host.Required() || host.Node().Kind != yamltree.String || out.Host == "" && host.Node().Text != "":
	case isUDP(host):
		refuseUDP(host)
	default:
		if variant, _ := policy.HostProblem(out.Host); variant != "" {
			args := map[string]string{"value": host.Shown()}
			host.Fail(yamltree.Text{Key: "error.configuration.invalid." + variant, Args: args}, yamltree.Text{Key: "remedy.configuration.invalid." + variant, Args: args})
		}
	}
	return out
}

// networkMode refuses endpoints of a mode that is not chosen, and a chosen mode without endpoints (A-POL-06).
func (s *sections) networkMode(access, local, restricted yamltree.Value) {
	n := s.c.Sandbox.Network
	for _, list := range []struct {
		v    yamltree.Value
		mode string
		n    int // those that could be read
	}{{local, sandbox.NetworkLocal, len(n.Local)}, {restricted, sandbox.NetworkRestricted, len(n.Restricted)}} {
		switch {
		case list.n > 0 && n.Access != list.mode:
			list.v.Fail(yamltree.T("config.network.mode_mismatch", "access", n.Access, "mode", list.mode), yamltree.Text{})
		case items(list.v) == 0 && n.Access == list.mode:
			access.Fail(yamltree.T("config.network.empty", "access", n.Access, "key", list.v.Path()), yamltree.Text{})
		}
	}
}

func items(list yamltree.Value) int {
	if !list.Present() {
		return 0
	}
	return len(list.Node().Items)
}

func ports(v yamltree.Value) []int {
	var out []int
	for _, p := range v.List() {
		if isUDP(p) {
			refuseUDP(p)
			continue
		}
		if n := int(p.Int(0, 1, 65535)); n > 0 {
			out = append(out, n)
		}
	}
	return out
}

// isUDP tells whether a text names that protocol in one of the ways in which people write it: udp, 53/udp, udp://host.
func isUDP(v yamltree.Value) bool {
	if !v.Present() || v.Node().Kind != yamltree.String {
		return false
	}
	text := strings.ToLower(v.Node().Text)
	return text == "udp" || strings.HasPrefix(text, "udp/") || strings.HasPrefix(text, "udp:") || strings.HasSuffix(text, "/udp")
}

func refuseUDP(v yamltree.Value) {
	v.Fail(yamltree.T("config.network.udp"), yamltree.Text{})
}
