package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sekisho/internal/sandbox"
)

// proves A-POL-12
func TestPublicAddresses(t *testing.T) {
	for _, a := range []string{"93.184.216.34", "1.1.1.1", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.0", "198.17.0.1", "2606:2800:220:1::1", "2001:4860:4860::8888", "64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8"} {
		if !Public(netip.MustParseAddr(a)) {
			t.Errorf("%s is not public", a)
		}
	}
	for _, a := range []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "100.64.0.1", "100.100.100.200",
		"192.0.0.192", "198.18.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "168.63.129.16",
		"::", "::1", "::7f00:1", "fe80::1", "febf::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "100::1", "2001:db8::1", "2001::1", "3fff::1", "5f00::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:7f00:1::1", "2002:a9fe:a9fe::", "2002:c0a8:1::1",
	} {
		if Public(netip.MustParseAddr(a)) {
			t.Errorf("%s is public", a)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func addresses(list ...string) (out []netip.Addr) {
	for _, a := range list {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

// told is a snapshot in words.
func told(s sandbox.NetworkSnapshot, denied []Denied) []string {
	var out []string
	for _, r := range s.Rules {
		line := r.ID + " " + r.Address.String()
		if r.Other.IsValid() {
			line += " or " + r.Other.String()
		}
		out = append(out, line)
	}
	for _, n := range s.Names {
		out = append(out, n.Name+" is "+n.Address.String())
	}
	for _, d := range denied {
		out = append(out, fmt.Sprint("no ", d.Target, " ", d.Port, " ", d.Reason))
	}
	return out
}

// proves A-POL-06, A-POL-12
func TestSnapshot(t *testing.T) {
	restricted := func(e ...sandbox.Endpoint) sandbox.NetworkPolicy {
		return sandbox.NetworkPolicy{Access: sandbox.NetworkRestricted, Restricted: e}
	}
	e := func(host string, ports ...int) sandbox.Endpoint { return sandbox.Endpoint{Host: host, Ports: ports} }
	here := addresses("192.168.1.5", "fe80::5")
	for _, c := range []struct {
		name   string
		policy sandbox.NetworkPolicy
		found  map[string][]netip.Addr
		m      Machine
		want   []string
	}{
		{"none", sandbox.NetworkPolicy{Access: sandbox.NetworkNone}, nil, Machine{}, nil},
		{"local: each loopback, the other one behind it", sandbox.NetworkPolicy{Access: sandbox.NetworkLocal, Local: []int{80}}, nil, Machine{},
			[]string{"n1 127.0.0.1:80 or [::1]:80", "n2 [::1]:80 or 127.0.0.1:80"}},
		{"local: a relay came up on the port", sandbox.NetworkPolicy{Access: sandbox.NetworkLocal, Local: []int{80, 81}}, nil,
			Machine{Servers: []Server{{Kind: ServerRelay, Host: "127.0.0.1", Port: 80}}},
			[]string{"n1 127.0.0.1:81 or [::1]:81", "n2 [::1]:81 or 127.0.0.1:81", "no 127.0.0.1:80 80 reserved_server", "no [::1]:80 80 reserved_server"}},
		{"names: both families by turns, mapped ones once", restricted(e("a.example", 80, 443)),
			map[string][]netip.Addr{"a.example": addresses("93.0.0.1", "93.0.0.2", "2606::1", "::ffff:93.0.0.1")}, Machine{},
			[]string{"n1 93.0.0.1:80", "n2 93.0.0.1:443", "n3 [2606::1]:80", "n4 [2606::1]:443", "n5 93.0.0.2:80", "n6 93.0.0.2:443",
				"a.example is 93.0.0.1", "a.example is 2606::1", "a.example is 93.0.0.2"}},
		{"a name that fails, beside one that works", restricted(e("gone.example", 80, 81), e("b.example", 443)), map[string][]netip.Addr{"b.example": addresses("93.0.0.1")}, Machine{},
			[]string{"n1 93.0.0.1:443", "b.example is 93.0.0.1", "no gone.example:80 80 dns_failed", "no gone.example:81 81 dns_failed"}},
		{"rebinding", restricted(e("evil.example", 80)), map[string][]netip.Addr{"evil.example": addresses("127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fe80::1", "64:ff9b::7f00:1")}, Machine{},
			[]string{"no evil.example:80 (127.0.0.1) 80 private_address", "no evil.example:80 (::1) 80 private_address", "no evil.example:80 (10.0.0.1) 80 private_address",
				"no evil.example:80 (fe80::1) 80 private_address", "no evil.example:80 (169.254.169.254) 80 private_address", "no evil.example:80 (64:ff9b::7f00:1) 80 private_address"}},
		{"a literal allows itself, and a name to lead to it, at its ports", restricted(e("db.example", 80, 443), e("10.0.0.1", 443)), map[string][]netip.Addr{"db.example": addresses("10.0.0.1")}, Machine{},
			[]string{"n1 10.0.0.1:443", "db.example is 10.0.0.1", "no db.example:80 (10.0.0.1) 80 private_address"}},
		{"two names of one address", restricted(e("a.example", 443), e("b.example", 443)), map[string][]netip.Addr{"a.example": addresses("93.0.0.1"), "b.example": addresses("93.0.0.1")}, Machine{},
			[]string{"n1 93.0.0.1:443", "a.example is 93.0.0.1", "b.example is 93.0.0.1"}},
		{"the model server under another name", restricted(e("a.example", 11434, 22)), map[string][]netip.Addr{"a.example": addresses("93.0.0.1")},
			Machine{Servers: []Server{{Kind: ServerModel, Host: "gpu.example", Port: 11434, Addresses: addresses("93.0.0.1")}}},
			[]string{"n1 93.0.0.1:22", "a.example is 93.0.0.1", "no a.example:11434 (93.0.0.1) 11434 reserved_server"}},
		{"the model server of this machine by its own address", restricted(e("192.168.1.5", 11434), e("127.0.0.2", 11434), e("fe80::5", 11434)), nil,
			Machine{Addresses: here, Servers: []Server{{Kind: ServerModel, Host: "localhost", Port: 11434}}},
			[]string{"no 192.168.1.5:11434 11434 reserved_server", "no 127.0.0.2:11434 11434 reserved_server", "no [fe80::5]:11434 11434 reserved_server"}},
		{"a model server whose name is this machine", sandbox.NetworkPolicy{Access: sandbox.NetworkLocal, Local: []int{11434}}, nil,
			Machine{Addresses: here, Servers: []Server{{Kind: ServerModel, Host: "my-host", Port: 11434, Addresses: addresses("192.168.1.5")}}},
			[]string{"no 127.0.0.1:11434 11434 reserved_server", "no [::1]:11434 11434 reserved_server"}},
	} {
		if diff := cmp.Diff(c.want, told(Snapshot(c.policy, c.found, c.m))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Whatever a resolver answers: bounded, every rule is listed by its port, public or a literal, and never a server's.
//
// proves A-POL-12, A-POL-06
func TestSnapshotOfAnyAnswer(t *testing.T) {
	address := rapid.Custom(func(t *rapid.T) netip.Addr {
		if rapid.Bool().Draw(t, "listed") {
			return rapid.SampledFrom(addresses("10.0.0.1", "93.0.0.1", "127.0.0.1", "::1", "::ffff:10.0.0.1", "fe80::1%eth0")).Draw(t, "known")
		}
		if rapid.Bool().Draw(t, "four") {
			return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "bytes")))
		}
		return netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes")))
	})
	rapid.Check(t, func(t *rapid.T) {
		n := sandbox.NetworkPolicy{Access: sandbox.NetworkRestricted}
		found := map[string][]netip.Addr{}
		for i := range rapid.IntRange(1, 8).Draw(t, "names") {
			host := fmt.Sprint("h", i, ".example")
			n.Restricted = append(n.Restricted, sandbox.Endpoint{Host: host, Ports: unique(rapid.SliceOfN(rapid.IntRange(1, 20), 1, 8).Draw(t, "ports"))})
			found[host] = rapid.SliceOfN(address, 0, 200).Draw(t, "answers")
		}
		n.Restricted = append(n.Restricted, sandbox.Endpoint{Host: "10.0.0.1", Ports: []int{7}})
		m := Machine{Servers: []Server{{Kind: ServerModel, Host: "93.0.0.1", Port: 3}}}
		s, _ := Snapshot(n, found, m)
		if len(s.Rules) > sandbox.MaxNetworkRules {
			t.Fatalf("%d rules", len(s.Rules))
		}
		seen := map[netip.AddrPort]bool{}
		for _, r := range s.Rules {
			i := slices.IndexFunc(n.Restricted, func(e sandbox.Endpoint) bool { return e.Host == r.Host })
			literal := r.Address == netip.MustParseAddrPort("10.0.0.1:7")
			if seen[r.Address] || i < 0 || !slices.Contains(n.Restricted[i].Ports, int(r.Address.Port())) || !literal && !Public(r.Address.Addr()) || r.Other.IsValid() ||
				r.Address == netip.MustParseAddrPort("93.0.0.1:3") {
				t.Fatalf("rule %+v", r)
			}
			seen[r.Address] = true
		}
		for _, name := range s.Names {
			if !slices.ContainsFunc(s.Rules, func(r sandbox.NetworkRule) bool { return r.Address.Addr() == name.Address }) {
				t.Fatalf("%+v is pinned without a rule", name)
			}
		}
	})
}

// proves A-POL-06
func TestServersThatNoEndpointMayBe(t *testing.T) {
	m := Machine{Addresses: addresses("192.168.1.5"), Servers: []Server{{Kind: ServerModel, Host: "LOCALHOST.", Port: 11434}, {Kind: ServerOwn, Host: "::1", Port: 8080},
		{Kind: ServerRelay, Host: "127.0.0.1", Port: 4000}, {Kind: ServerModel, Host: "GPU.example", Port: 443}}}
	for _, c := range []struct {
		network sandbox.NetworkPolicy
		want    []string
	}{
		{sandbox.NetworkPolicy{Access: sandbox.NetworkLocal, Local: []int{80, 11434, 8080, 4000, 443}}, []string{
			"sandbox.network.local_endpoints[1] policy_network_model", "sandbox.network.local_endpoints[2] policy_network_own", "sandbox.network.local_endpoints[3] policy_network_relay"}},
		{sandbox.NetworkPolicy{Access: sandbox.NetworkRestricted, Restricted: []sandbox.Endpoint{
			{Host: "127.1.2.3", Ports: []int{11434, 1}}, {Host: "[::1]", Ports: []int{4000}}, {Host: "192.168.1.5", Ports: []int{8080}}, {Host: "gpu.EXAMPLE.", Ports: []int{443}},
			{Host: "other.example", Ports: []int{443, 11434}}, {Host: "::ffff:127.0.0.1", Ports: []int{4000}}}}, []string{
			"sandbox.network.restricted_endpoints[0].ports policy_network_model", "sandbox.network.restricted_endpoints[1].ports policy_network_relay",
			"sandbox.network.restricted_endpoints[2].ports policy_network_own", "sandbox.network.restricted_endpoints[3].ports policy_network_model",
			"sandbox.network.restricted_endpoints[5].ports policy_network_relay"}},
		{sandbox.NetworkPolicy{Access: sandbox.NetworkRestricted, Restricted: []sandbox.Endpoint{{Host: "localhost", Ports: []int{1}}, {Host: "0.0.0.0", Ports: []int{1}}, {Host: "a.LOCALHOST", Ports: []int{1}},
			{Host: "ff02::1", Ports: []int{1}}, {Host: "255.255.255.255", Ports: []int{1}}, {Host: "::", Ports: []int{1}}}}, []string{
			"sandbox.network.restricted_endpoints[0].host policy_host_localhost", "sandbox.network.restricted_endpoints[1].host policy_host_address", "sandbox.network.restricted_endpoints[2].host policy_host_localhost",
			"sandbox.network.restricted_endpoints[3].host policy_host_address", "sandbox.network.restricted_endpoints[4].host policy_host_address", "sandbox.network.restricted_endpoints[5].host policy_host_address"}},
	} {
		d := base(ProfileDevelopment)
		d.Network, d.Machine = c.network, m
		if diff := cmp.Diff(c.want, places(t, d)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.network, diff)
		}
	}
}

// proves A-POL-06, A-POL-08
func TestEndpointsAreMergedAndCounted(t *testing.T) {
	d := base(ProfileDevelopment)
	d.Network = sandbox.NetworkPolicy{Access: sandbox.NetworkRestricted, Restricted: []sandbox.Endpoint{{Host: "B.example.", Ports: []int{443, 80, 443}}, {Host: "a.example", Ports: []int{1}}, {Host: "b.EXAMPLE", Ports: []int{80, 8080}}}}
	want := sandbox.NetworkPolicy{Access: sandbox.NetworkRestricted, Restricted: []sandbox.Endpoint{{Host: "b.example", Ports: []int{80, 443, 8080}}, {Host: "a.example", Ports: []int{1}}}}
	if diff := cmp.Diff(want, compile(t, d).Network); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.Network = sandbox.NetworkPolicy{Access: sandbox.NetworkLocal}
	for p := range maxPairs + 1 {
		d.Network.Local = append(d.Network.Local, p+1, p+1)
	}
	if diff := cmp.Diff([]string{"sandbox.network.access policy_network_many"}, places(t, d)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.Network.Local = d.Network.Local[2:]
	if s, _ := Snapshot(compile(t, d).Network, nil, Machine{}); len(s.Rules) != 2*maxPairs || len(s.Rules) > sandbox.MaxNetworkRules {
		t.Errorf("%d rules", len(s.Rules))
	}
}
