//go:build linux && !cgo

package linux_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/forward"
)

// told is an audit in memory.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (t *told) Write(e audit.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, fmt.Sprint(e.Event, " ", e.Target, ":", e.Port))
	return nil
}

func (t *told) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}

// echoing is a server of the host that sends back what it reads.
func echoing(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var owned sync.WaitGroup
	owned.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			owned.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(patience))
				io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); owned.Wait() })
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// networked is a fixture with rules for some addresses of the host, and the payload in its workspace.
func networked(t *testing.T, access string, to ...netip.AddrPort) (f *fixture, program string, log *told) {
	t.Helper()
	f, log = declare(t), &told{}
	f.policy.Network.Access = access
	for i, a := range to {
		f.policy.Task.Network.Rules = append(f.policy.Task.Network.Rules, sandbox.NetworkRule{ID: fmt.Sprint("n", i+1), Address: a})
	}
	f.policy.Task.Forward = forward.New(forward.Options{Audit: log})
	return f, into(t, f.W, payload(t)), log
}

// proves A-POL-06, A-SBX-05
func TestProgramsReachTheirRulesAndEachOther(t *testing.T) {
	server := echoing(t)
	f, program, _ := networked(t, sandbox.NetworkLocal, server)
	f.policy.Task.Network.Names = []sandbox.NetworkName{{Name: "pinned.example", Address: server.Addr()}}
	f.open()
	port := fmt.Sprint(server.Port())
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"the rule":                          {[]string{"tcp-ask", server.String(), "hello"}, `"detail":"hello"`},
		"a large answer":                    {[]string{"tcp-ask", server.String(), strings.Repeat("x", 100_000)}, `"ok":true`},
		"a pinned name":                     {[]string{"tcp-ask", "pinned.example:" + port, "hello"}, `"detail":"hello"`},
		"another name":                      {[]string{"tcp-ask", "other.example:" + port, "hello"}, `"ok":false`},
		"another port: no rule of Landlock": {[]string{"tcp", "127.0.0.1:9", "x"}, `"errno":"EACCES"`},
		"an own port without a server":      {[]string{"tcp", "127.0.0.1:61500", "x"}, `"errno":"ECONNREFUSED"`},
		"a server of one's own":             {[]string{"own-server", "127.0.0.1:0", "hello"}, `"detail":"hello"`},
		"the same on IPv6":                  {[]string{"own-server", "[::1]:0", "hello"}, `"detail":"hello"`},
		"at a port that was given before":   {[]string{"own-server", "127.0.0.1:61007", "hello"}, `"detail":"hello"`},
		"at a fixed port":                   {[]string{"own-server", "127.0.0.1:8080", "hello"}, `"errno":"EACCES"`},
		"at the port of a rule":             {[]string{"own-server", "127.0.0.2:" + port, "hello"}, `"errno":"EACCES"`},
		"sending that connects":             {[]string{"tcp-fastopen", "127.0.0.1", port, "x"}, `"errno":"ENOTSUP"`},
		"UDP":                               {[]string{"udp", "127.0.0.1:61000", "x"}, `"errno":"EPERM"`},
	} {
		if got := f.run(f.command(program, c.args...)).out; !strings.Contains(got, c.want) {
			t.Errorf("%s: got %.200s, want %s", name, got, c.want)
		}
	}
}

// Every listener is PID 1's work and nobody's but the broker's: no program has one, and there is nothing but lo.
//
// proves A-SBX-03, A-SBX-05
func TestProgramsSeeTheirNamespaceOnly(t *testing.T) {
	server := echoing(t)
	outer := netip.MustParseAddrPort("93.184.216.34:443")
	f, program, _ := networked(t, sandbox.NetworkRestricted, server, outer)
	f.open()
	if got := f.run(f.command(program, "fds")).out; !strings.Contains(got, `"ok":true`) || strings.Contains(got, "socket:") {
		t.Errorf("descriptors: %s", got)
	}
	devices := f.sh(`cat /proc/net/dev | tail -n +3 | cut -d: -f1; cat /proc/net/tcp | tail -n +2 | wc -l; cat /proc/net/udp | tail -n +2 | wc -l`).ok(t)
	if got := strings.Join(strings.Fields(devices), " "); got != "lo 2 0" {
		t.Errorf("devices, listeners of TCP and of UDP: %q", got)
	}
	// An address of the snapshot is nothing but a listener: its other ports are closed, and so are all other addresses.
	for address, want := range map[string]string{"93.184.216.34:444": "EACCES", "93.184.216.35:443": "ENETUNREACH", "169.254.169.254:443": "ENETUNREACH", "[2606::1]:443": "ENETUNREACH"} {
		if got := f.run(f.command(program, "tcp", address, "x")).out; !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// proves A-POL-06, A-AUD-01, A-SBX-02
func TestANewConfinementHasTheSameNetwork(t *testing.T) {
	server := echoing(t)
	f, program, log := networked(t, sandbox.NetworkLocal, server)
	f.open()
	ask := func() {
		t.Helper()
		if got := f.run(f.command(program, "tcp-ask", server.String(), "hello")).out; !strings.Contains(got, `"detail":"hello"`) {
			t.Errorf("got %s", got)
		}
	}
	ask()
	c := f.command(program, "tcp-flood", server.String(), "50", "60")
	c.Timeout = time.Second
	f.run(c).coded(t, fault.ResourceTimeLimit)
	ask()
	f.close()
	line := fmt.Sprint(" 127.0.0.1:", server.Port())
	want := strings.Join([]string{audit.NetworkRuleApply + line, audit.NetworkRuleRemove + line, audit.NetworkRuleApply + line, audit.NetworkRuleRemove + line}, "\n")
	if log.String() != want {
		t.Errorf("audit:\n%s\nwant:\n%s", log, want)
	}
	f.undos = nil
}

// proves A-POL-06
func TestTheServerKeepsNoListener(t *testing.T) {
	server := echoing(t)
	count := func() (n int) {
		entries, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		for _, e := range entries {
			if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, "socket:") {
				n++
			}
		}
		return n
	}
	before := count()
	for range 5 {
		f, program, _ := networked(t, sandbox.NetworkLocal, server)
		f.open()
		f.run(f.command(program, "tcp-flood", server.String(), "20", "0"))
		f.close()
		f.undos = nil
	}
	for end := time.Now().Add(patience); count() > before && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond) // the echoing server sees the ends a moment later
	}
	if after := count(); after > before {
		t.Errorf("%d sockets, %d before", after, before)
	}
}

// What nobody reads is paid by the sandbox: connections of programs among themselves hold no more of the kernel's memory than
// the sandbox may have.
//
// proves A-SBX-02, A-POL-07
func TestBuffersOfConnectionsAreLimited(t *testing.T) {
	const megabytes = 64
	f, program, _ := networked(t, sandbox.NetworkLocal)
	f.policy.Resources.MemoryMB = megabytes
	f.open()
	kib := func(out string) (n int) {
		var said struct{ Detail string }
		if json.Unmarshal([]byte(out), &said) == nil {
			fmt.Sscan(said.Detail, &n)
		}
		return n
	}
	control := unconfined(t, f.W, program, "tcp-hoard", "300")
	if n := kib(control.out); n < 2*megabytes<<10 {
		t.Fatalf("the control took only %d KiB: %+v", n, control)
	}
	r := f.run(f.command(program, "tcp-hoard", "1000"))
	if n := kib(r.out); n > 3*megabytes/2<<10 || r.fault == nil && n == 0 {
		t.Errorf("%d KiB were taken: %+v", n, r)
	} else {
		t.Logf("%d KiB, %v", n, r.fault)
	}
}

// proves A-CLI-01, A-PRI-05
func TestPreflightWithANetwork(t *testing.T) {
	must(t, networkBackend(t).Preflight(within(t)))
}
