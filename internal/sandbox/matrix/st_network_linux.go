package matrix

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sekisho/internal/audit"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
)

// heard is the audit of a world's network.
type heard struct {
	mu    sync.Mutex
	lines []string
}

// Write implements forward.Auditor.
func (h *heard) Write(e audit.Event) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, fmt.Sprint(e.Event, " ", e.Target, " ", e.Port))
	return nil
}

func (h *heard) count(event string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.lines {
		if strings.HasPrefix(l, event+" ") {
			n++
		}
	}
	return n
}

// The listeners of the host that network rows use, by name.
type ears map[string]*ear

func (e ears) port(name string) int {
	_, port, _ := net.SplitHostPort(e[name].address)
	n, _ := strconv.Atoi(port)
	return n
}

// at is host with the port of a listener.
func (e ears) at(host, name string) string { return net.JoinHostPort(host, strconv.Itoa(e.port(name))) }

// listening opens the listeners of a network row: listed and unlisted ones of both loopbacks. Each has its number for itself on
// both: an attempt that is to be refused does not lead to what is listed, nor does one that is granted lead to a stranger.
func (w *world) listening(e ears) error {
	for name, address := range map[string]string{"four": "127.0.0.1:0", "six": "[::1]:0", "unlisted": "127.0.0.1:0", "unlisted six": "[::1]:0", "any": "0.0.0.0:0"} {
		for alone := false; !alone; {
			if e[name] = w.ear("tcp", address); e[name] == nil {
				return errors.New("no listener on the host")
			}
			var err error
			if alone, err = w.alone(e[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// local declares two ports: one where the host listens on IPv4, one where it listens on IPv6.
func local(e ears) change {
	return func(w *world, p *policy.SandboxPolicy) error {
		if err := w.listening(e); err != nil {
			return err
		}
		p.Network = sandbox.NetworkPolicy{Access: sandbox.NetworkLocal, Local: []int{e.port("four"), e.port("six")}}
		return nil
	}
}

// restricted declares the same two as literals, a name that leads to one of them, and a name that leads to the other
// listener of the host, which no literal allows.
func restricted(e ears) change {
	return func(w *world, p *policy.SandboxPolicy) error {
		if err := w.listening(e); err != nil {
			return err
		}
		four, six := netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()
		w.found = map[string][]netip.Addr{"allowed.test": {four, six}, "rebound.test": {four}}
		p.Network = sandbox.NetworkPolicy{Access: sandbox.NetworkRestricted, Restricted: []sandbox.Endpoint{
			{Host: "127.0.0.1", Ports: []int{e.port("four")}}, {Host: "::1", Ports: []int{e.port("six")}},
			{Host: "allowed.test", Ports: []int{e.port("four")}}, {Host: "rebound.test", Ports: []int{e.port("unlisted")}}}}
		return nil
	}
}

// granted are the probes of what the policies above allow.
func (w *world) granted(e ears, hosts ...[2]string) {
	for _, h := range hosts {
		w.succeeds(w.sends("tcp to "+h[0]+" "+h[1], "tcp", e.at(h[0], h[1]), e[h[1]]))
	}
}

// everyNetwork makes a Judge that plays in a world of each network mode.
func everyNetwork(play func(w *world)) func(context.Context, Env, *Report) {
	return func(ctx context.Context, env Env, r *Report) {
		in(development, play)(ctx, env, r)
		in(development, play, local(ears{}))(ctx, env, r)
		in(development, play, restricted(ears{}))(ctx, env, r)
	}
}

var networkCases = []Case{
	{"ST-13", "local and restricted: allowed address and port, IPv4 and IPv6", "succeeds", func(ctx context.Context, env Env, r *Report) {
		e := ears{}
		in(development, func(w *world) {
			w.granted(e, [2]string{"127.0.0.1", "four"}, [2]string{"::1", "six"}, [2]string{"::1", "four"}, [2]string{"127.0.0.1", "six"}, [2]string{"localhost", "four"})
			w.Check("audit", w.audit.count(audit.NetworkRuleApply) == 4, "%v", w.audit.lines)
			w.shut()
			w.Check("audit of the end", w.audit.count(audit.NetworkRuleRemove) == 4, "%v", w.audit.lines)
		}, local(e))(ctx, env, r)
		e = ears{}
		in(readonly, func(w *world) {
			w.granted(e, [2]string{"127.0.0.1", "four"}, [2]string{"::1", "six"}, [2]string{"allowed.test", "four"})
			// No other loopback here: what is listed is an address. Unconfined nobody answers there either, so it only must fail.
			o := w.inside(w.real.Payload, "tcp", e.at("::1", "four"), "x")
			w.Check("the other loopback", !o.OK, "%v", o)
		}, restricted(e))(ctx, env, r)
	}},
	{"ST-14", "local and restricted: port outside the policy, IPv4 and IPv6", "refused", func(ctx context.Context, env Env, r *Report) {
		for _, declare := range []func(ears) change{local, restricted} {
			e := ears{}
			in(development, func(w *world) {
				for _, h := range [][2]string{{"127.0.0.1", "unlisted"}, {"::1", "unlisted six"}, {"localhost", "unlisted"}, {"127.0.0.2", "any"}, {"0.0.0.0", "any"}, {"0.0.0.0", "unlisted"}} {
					w.refused(w.sends("tcp to "+h[0]+" "+h[1], "tcp", e.at(h[0], h[1]), e[h[1]]))
				}
				w.granted(e, [2]string{"127.0.0.1", "four"}) // and the network is there
			}, declare(e))(ctx, env, r)
		}
	}},
}

// networkGrants is the half of ST-27 about the network: without it the positive case fails, and with it the negative set holds.
func networkGrants(ctx context.Context, env Env, r *Report) {
	needs := func(with bool) func(w *world, e ears) {
		return func(w *world, e ears) {
			positive := []probe{w.sends("the endpoint", "tcp", e.at("127.0.0.1", "four"), e["four"]), {"a server of one's own", words("own-server", "127.0.0.1:0", "x"), reached, false}}
			if with {
				w.succeeds(positive...)
			} else {
				w.refused(positive...)
			}
			u := w.ear("udp", "127.0.0.1:0")
			if u == nil {
				return
			}
			w.refused(w.sends("UDP", "udp", u.address, u), w.sends("another port", "tcp", e.at("127.0.0.1", "unlisted"), e["unlisted"]),
				probe{"a socket of another family", words("socket", "1", "1", "0"), reached, false}, // AF_UNIX
				probe{"write outside", at("append", "S", "x"), func(l *layout, _ output) bool { return strings.HasSuffix(reads(l.S), "x") }, false},
				probe{"read outside", at("read", "S"), knows, false},
				probe{"a name space of its own", words("unshare", "0x10000000"), reached, false})
		}
	}
	for _, with := range []bool{false, true} {
		e := ears{}
		declare := local(e)
		if !with {
			declare = func(w *world, p *policy.SandboxPolicy) error { return w.listening(e) }
		}
		in(development, func(w *world) { needs(with)(w, e) }, declare)(ctx, env, r)
	}
}

var attackEndpointCases = []Case{
	{"AC-45", "allowed address, other port; other address, allowed port; metadata", "refused", func(ctx context.Context, env Env, r *Report) {
		e := ears{}
		in(development, func(w *world) {
			four := e.port("four")
			w.refused(
				w.sends("the allowed address, another port", "tcp", e.at("127.0.0.1", "unlisted"), e["unlisted"]),
				w.sends("a name that leads to a loopback address", "tcp", e.at("rebound.test", "unlisted"), e["unlisted"]).optionally(),
				w.sends("another address, the allowed port", "tcp", e.at("127.0.0.3", "any"), e["any"]),
			)
			// Nobody answers there, here or unconfined: what counts is that even the attempt fails at once (no route).
			for _, address := range []string{"169.254.169.254:80", "[fd00:ec2::254]:80", fmt.Sprint("10.0.0.1:", four), "192.0.2.1:53"} {
				o := w.inside(w.real.Payload, "tcp", address, "x")
				w.Check(address, !o.OK && (o.Errno == "ENETUNREACH" || o.Errno == "EACCES" || o.Errno == "EHOSTUNREACH"), "%v", o)
			}
			w.granted(e, [2]string{"allowed.test", "four"})
		}, restricted(e))(ctx, env, r)
	}},
	{"AC-47", "host names that mean another host (NUL, case, dot, IDN, numbers)", "refused, or the same canonical host", func(_ context.Context, _ Env, r *Report) {
		for host, want := range map[string]string{"GOOD.com.": "good.com", "bücher.example": "xn--bcher-kva.example", "::FFFF:10.0.0.1": "10.0.0.1", "good.com": "good.com",
			"evil\x00.good.com": "", "0x7f.1": "", "127.1": "", "017700000001": "", "2130706433": "", "good.com:443": "", "fe80::1%1": "", "ｇood.com": "", "good。com": "", "localhost": "", "0.0.0.0": ""} {
			p, err := policy.Compile(policy.SandboxPolicy{Profile: development, Resources: policy.Resources{Profile: "normal", Cgroup: "auto"},
				Network: sandbox.NetworkPolicy{Access: sandbox.NetworkRestricted, Restricted: []sandbox.Endpoint{{Host: host, Ports: []int{443}}}}})
			got := ""
			if err == nil {
				got = p.Network.Restricted[0].Host
			}
			r.Check(strconv.QuoteToASCII(host), got == want, "%q became %q", host, got)
		}
	}},
	{"AC-52", "2,000 connections, slow readers, half close", "capped, the broker lives, other traffic works", func(ctx context.Context, env Env, r *Report) {
		e, busy := ears{}, &crowd{}
		in(development, func(w *world) {
			done := make(chan output, 1)
			go func() { done <- w.inside(w.real.Payload, "tcp-flood", busy.address, "2000", "5") }()
			full := await(ctx, patience, func() bool { return busy.most.Load() >= 64 })
			w.Check("the flood arrives", full, "%d connections", busy.most.Load())
			o := <-done
			capped := busy.most.Swap(0)
			control := w.outside(w.twin.Payload, "tcp-flood", busy.address, "400", "1")
			if many := busy.most.Load(); many < 300 {
				w.Block("the cap", "the control made %d connections: %v", many, control)
			}
			w.Check("the cap", capped <= 128, "%d connections at once: %v", capped, o)
			w.alive("the flood")
			w.granted(e, [2]string{"127.0.0.1", "four"}, [2]string{"::1", "six"})
			o = w.inside(w.real.Payload, "tcp-ask", busy.asking, strings.Repeat("y", 100_000))
			w.Check("half close both ways", o.OK && o.Detail == "100000", "%v", o)
		}, local(e), busy.listed)(ctx, env, r)
	}},
}

// crowd is two servers of the host: one that keeps every connection and never reads, one that answers how much it read.
type crowd struct {
	address, asking string
	now, most       atomic.Int32
}

func (c *crowd) listed(w *world, p *policy.SandboxPolicy) error {
	for _, s := range []struct {
		address *string
		handle  func(*net.TCPConn)
	}{{&c.address, func(conn *net.TCPConn) {
		n := c.now.Add(1)
		defer c.now.Add(-1)
		for m := c.most.Load(); n > m && !c.most.CompareAndSwap(m, n); m = c.most.Load() {
		}
		conn.SetDeadline(time.Now().Add(time.Minute))
		b := make([]byte, 1)
		for {
			if _, err := conn.Read(b); err != nil {
				return
			}
		}
	}}, {&c.asking, func(conn *net.TCPConn) {
		conn.SetDeadline(time.Now().Add(time.Minute))
		n, b := 0, make([]byte, 4096)
		for {
			k, err := conn.Read(b)
			n += k
			if err != nil {
				break
			}
		}
		conn.Write([]byte(strconv.Itoa(n)))
	}}} {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return err
		}
		*s.address = l.Addr().String()
		p.Network.Local = append(p.Network.Local, l.Addr().(*net.TCPAddr).Port)
		var owned sync.WaitGroup
		owned.Go(func() {
			for {
				conn, err := l.AcceptTCP()
				if err != nil {
					return
				}
				owned.Go(func() { defer conn.Close(); s.handle(conn) })
			}
		})
		w.closers = append(w.closers, func() { l.Close(); owned.Wait() })
	}
	return nil
}
