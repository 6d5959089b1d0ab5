//go:build unix

package forward

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

const patience = 30 * time.Second

var noDeadline time.Time

// journal is an audit that can be full.
type journal struct {
	mu     sync.Mutex
	events []string
	room   int // events that fit; -1 for all
}

func (j *journal) Write(e audit.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.room == 0 {
		return errors.New("no room")
	}
	j.room--
	j.events = append(j.events, strings.TrimSpace(strings.Join([]string{e.Event, e.Target, e.RuleID, e.Reason, e.SessionID, e.TaskID}, " ")))
	return nil
}

func (j *journal) told() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.events...)
}

// inside is a listener as PID 1 of a sandbox would make it, and the address that programs connect to.
func inside(t testing.TB, rule sandbox.NetworkRule) (sandbox.Listening, string) {
	t.Helper()
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.Listening{Rule: rule, FD: fd}, l.Addr().String()
}

// outside is a server that handles each connection.
func outside(t testing.TB, address string, handle func(*net.TCPConn)) netip.AddrPort {
	t.Helper()
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address)))
	if err != nil {
		t.Fatal(err)
	}
	var owned sync.WaitGroup
	owned.Go(func() {
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return
			}
			owned.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(patience))
				handle(c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); owned.Wait() })
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// answer reads to the end of what comes and sends it back after a mark: it needs the half close in both directions.
func answer(c *net.TCPConn) {
	b, err := io.ReadAll(c)
	if err == nil {
		c.Write(append([]byte("read "), b...))
		c.CloseWrite()
	}
}

func connect(t testing.TB, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// ask sends text, ends that direction and reads the other to its end.
func ask(t testing.TB, c *net.TCPConn, text string) (string, error) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		return "", err
	}
	if err := c.CloseWrite(); err != nil {
		return "", err
	}
	b, err := io.ReadAll(c)
	return string(b), err
}

func serve(t testing.TB, f *Forwarder, l ...sandbox.Listening) {
	t.Helper()
	stop, err := f.Serve(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
}

// proves A-POL-06, A-AUD-01
func TestEachRuleLeadsToItsAddressAndIsAudited(t *testing.T) {
	a, b := outside(t, "127.0.0.1:0", answer), outside(t, "127.0.0.1:0", func(c *net.TCPConn) { c.Write([]byte("b")) })
	j := &journal{room: -1}
	f := New(Options{Session: "s", Task: "t", Audit: j})
	la, ina := inside(t, sandbox.NetworkRule{ID: "n1", Address: a, Host: "a.example"})
	lb, inb := inside(t, sandbox.NetworkRule{ID: "n2", Address: b})
	stop, err := f.Serve([]sandbox.Listening{la, lb})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ask(t, connect(t, ina), "hello"); got != "read hello" || err != nil {
		t.Errorf("a said %q, %v", got, err)
	}
	if got, err := ask(t, connect(t, inb), ""); got != "b" || err != nil {
		t.Errorf("b said %q, %v", got, err)
	}
	stop()
	want := []string{"network.rule.apply a.example (127.0.0.1) n1  s t", "network.rule.apply 127.0.0.1 n2  s t",
		"network.rule.remove a.example (127.0.0.1) n1  s t", "network.rule.remove 127.0.0.1 n2  s t"}
	if diff := cmp.Diff(want, j.told()); diff != "" || f.Err() != nil {
		t.Errorf("audit (-want +got):\n%s%v", diff, f.Err())
	}
	if c, err := net.Dial("tcp", ina); err == nil {
		c.Close()
		t.Error("the listener is still there")
	}
}

// proves A-POL-06
func TestTheOtherLoopbackIsTried(t *testing.T) {
	six := outside(t, "[::1]:0", answer)
	free := outside(t, "127.0.0.1:0", answer)
	only := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), six.Port())
	f := New(Options{Audit: &journal{room: -1}})
	l, in := inside(t, sandbox.NetworkRule{ID: "n1", Address: only, Other: six})
	alone, inAlone := inside(t, sandbox.NetworkRule{ID: "n2", Address: only})
	both, inBoth := inside(t, sandbox.NetworkRule{ID: "n3", Address: free, Other: six})
	serve(t, f, l, alone, both)
	for _, in := range []string{in, inBoth} {
		if got, err := ask(t, connect(t, in), "x"); got != "read x" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	// Nobody listens there, and the rule knows no other: a reset, not an empty answer.
	if c, err := net.Dial("tcp", inAlone); err == nil {
		c.SetDeadline(time.Now().Add(patience))
		if got, err := ask(t, c.(*net.TCPConn), "x"); err == nil {
			t.Errorf("without the other loopback: %q", got)
		}
		c.Close()
	}
}

// proves A-POL-06
func TestAGuardedAddressIsNotDialledAndToldOnce(t *testing.T) {
	var reached atomic.Int32
	to := outside(t, "127.0.0.1:0", func(c *net.TCPConn) { reached.Add(1) })
	var fail atomic.Bool
	guards := func(a netip.AddrPort) (bool, error) {
		if fail.Load() {
			return false, errors.New("unreadable")
		}
		return a == to, nil
	}
	j := &journal{room: -1}
	f := New(Options{Audit: j, Guards: guards})
	l, in := inside(t, sandbox.NetworkRule{ID: "n1", Address: to})
	serve(t, f, l)
	refused := func() {
		c, err := net.Dial("tcp", in) // the reset may be there before the dial returns
		if err != nil {
			return
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(patience))
		if got, err := ask(t, c.(*net.TCPConn), "x"); err == nil {
			t.Errorf("answered %q", got)
		}
	}
	for range 3 {
		refused()
	}
	fail.Store(true)
	refused()
	denials := 0
	for _, e := range j.told() {
		if strings.HasPrefix(e, "policy.deny "+to.String()+" n1 reserved_server") {
			denials++
		}
	}
	if reached.Load() != 0 || denials != 1 {
		t.Errorf("%d connections arrived, %d denials: %v", reached.Load(), denials, j.told())
	}
}

// A server that comes up between the question and the connection gets no byte of it.
//
// proves A-POL-06
func TestWhoListensIsAskedForAgainOnceConnected(t *testing.T) {
	var got atomic.Int32
	connected := make(chan struct{}, 1)
	to := outside(t, "127.0.0.1:0", func(c *net.TCPConn) {
		c.SetDeadline(time.Now().Add(patience))
		n, _ := io.Copy(io.Discard, c)
		got.Add(int32(n))
		connected <- struct{}{}
	})
	var asked atomic.Int32
	f := New(Options{Audit: &journal{room: -1}, Guards: func(netip.AddrPort) (bool, error) { return asked.Add(1) > 1, nil }})
	l, in := inside(t, sandbox.NetworkRule{ID: "n1", Address: to})
	serve(t, f, l)
	c, err := net.Dial("tcp", in)
	if err == nil {
		defer c.Close()
		c.SetDeadline(time.Now().Add(patience))
		if answer, err := ask(t, c.(*net.TCPConn), "x"); err == nil {
			t.Errorf("answered %q", answer)
		}
	}
	<-connected
	if got.Load() != 0 || asked.Load() != 2 {
		t.Errorf("%d bytes arrived, asked %d times", got.Load(), asked.Load())
	}
}

// proves A-AUD-01
func TestWithoutItsLineInTheAuditNoRuleCarriesAnything(t *testing.T) {
	to := outside(t, "127.0.0.1:0", answer)
	j := &journal{room: 1}
	f := New(Options{Audit: j})
	a, in := inside(t, sandbox.NetworkRule{ID: "n1", Address: to})
	b, _ := inside(t, sandbox.NetworkRule{ID: "n2", Address: to})
	if stop, err := f.Serve([]sandbox.Listening{a, b}); fault.CodeOf(err) != fault.StateUnusable || stop != nil {
		t.Fatalf("err = %v", err)
	}
	if c, err := net.Dial("tcp", in); err == nil {
		c.Close()
		t.Error("the first listener is still there")
	}
	if f.Err() == nil {
		t.Error("the missing line of the removal is not told")
	}
}

func TestWhatDoesNotListenIsRefusedAndClosed(t *testing.T) {
	before := descriptors(t)
	f := New(Options{Audit: &journal{room: -1}})
	good, _ := inside(t, sandbox.NetworkRule{ID: "n1"})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fd, err := syscall.Dup(int(w.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := f.Serve([]sandbox.Listening{good, {FD: fd}, {FD: -1}}); fault.CodeOf(err) != fault.SandboxFailed {
		t.Errorf("err = %v", err)
	}
	r.Close()
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// A reset of either side is a reset at the other: whoever was promised bytes does not take a cut for an end.
//
// proves A-POL-06
func TestAResetIsPassedOn(t *testing.T) {
	seen := make(chan error, 1)
	to := outside(t, "127.0.0.1:0", func(c *net.TCPConn) {
		b := make([]byte, 1)
		io.ReadFull(c, b)
		if b[0] == 'r' {
			abort(c)
			return
		}
		c.Write(b)
		_, err := io.ReadAll(c)
		seen <- err
	})
	l, in := inside(t, sandbox.NetworkRule{ID: "n1", Address: to})
	serve(t, New(Options{Audit: &journal{room: -1}}), l)
	c := connect(t, in)
	c.Write([]byte("r"))
	if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the server's reset came as %v", err)
	}
	c = connect(t, in)
	c.Write([]byte("x"))
	io.ReadFull(c, make([]byte, 1))
	abort(c)
	if err := <-seen; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the program's reset came as %v", err)
	}
}

// Two thousand connections at once, some of which never read: the cap holds, the others are served, and nothing is left.
//
// proves A-POL-06, A-SBX-05
func TestTwoThousandConnections(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	before := descriptors(t)
	const total = 2000
	var now, most atomic.Int32
	flood := make([]byte, 8<<20)
	func() {
		to := outside(t, "127.0.0.1:0", func(c *net.TCPConn) {
			for n := now.Add(1); ; {
				if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
					break
				}
			}
			defer now.Add(-1)
			head := make([]byte, 1)
			if _, err := io.ReadFull(c, head); err != nil {
				return
			}
			if head[0] == 's' { // whoever asked never reads it
				c.Write(flood)
				return
			}
			answer(c)
		})
		f := New(Options{Audit: &journal{room: -1}})
		l, in := inside(t, sandbox.NetworkRule{ID: "n1", Address: to})
		other, inOther := inside(t, sandbox.NetworkRule{ID: "n2", Address: to})
		stop, err := f.Serve([]sandbox.Listening{l, other})
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		// As many slow readers as one rule may have stop at the bounded buffers.
		var slow []*net.TCPConn
		for range maxOfOneRule {
			c := connect(t, in)
			c.Write([]byte("s"))
			slow = append(slow, c)
		}
		for deadline := time.Now().Add(patience); now.Load() < maxOfOneRule && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond) //nolint // the servers' own count is the barrier
		}
		// Its own queue waits; another rule does not.
		if got, err := ask(t, connect(t, inOther), "xother"); got != "read other" || err != nil {
			t.Errorf("another rule: %q, %v", got, err)
		}
		var wg sync.WaitGroup
		var served atomic.Int32
		for _, c := range slow {
			c.Close()
		}
		for range 50 { // workers
			wg.Go(func() {
				for range total / 50 {
					c, err := net.Dial("tcp", in)
					if err != nil {
						t.Errorf("dial: %v", err)
						return
					}
					c.SetDeadline(time.Now().Add(patience))
					if got, err := ask(t, c.(*net.TCPConn), "xhello"); got != "read hello" || err != nil {
						t.Errorf("got %q, %v", got, err)
					} else {
						served.Add(1)
					}
					c.Close()
				}
			})
		}
		wg.Wait()
		if served.Load() != total || most.Load() > maxConnections {
			t.Errorf("%d of %d were served, %d at once", served.Load(), total, most.Load())
		}
	}()
	for deadline := time.Now().Add(patience); now.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	goleak.VerifyNone(t, leaks, goleak.IgnoreAnyFunction("sekisho/internal/sandbox/forward.outside.func1"))
	for range 3 { // the runtime keeps pipes for the next splice until they are collected
		runtime.GC()
	}
	if after := descriptors(t); after > before+2 { // the server above
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// proves A-POL-06
func TestStopEndsWhatIsOpen(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	ended := make(chan error, 3)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	in1, in := inside(t, sandbox.NetworkRule{ID: "n1", Address: l.Addr().(*net.TCPAddr).AddrPort()})
	stop, err := New(Options{Audit: &journal{room: -1}}).Serve([]sandbox.Listening{in1})
	if err != nil {
		t.Fatal(err)
	}
	var inner []*net.TCPConn
	for range 3 {
		c := connect(t, in)
		c.Write([]byte("x"))
		inner = append(inner, c)
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		s.SetDeadline(time.Now().Add(patience))
		if _, err := io.ReadFull(s, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := io.ReadAll(s)
			s.Close()
			ended <- err
		}()
	}
	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()
	select {
	case <-stopped:
	case <-time.After(patience):
		t.Fatal("what is open keeps the end waiting")
	}
	for _, c := range inner {
		if err := <-ended; !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the server saw %v", err)
		}
		if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the program saw %v", err)
		}
	}
	goleak.VerifyNone(t, leaks)
}

// However many connections are opened, a bounded number of them is carried; the others wait, and come when there is room.
//
// proves A-POL-06, A-SBX-05
func TestConnectionsAreBounded(t *testing.T) {
	var now, most atomic.Int32
	to := outside(t, "127.0.0.1:0", func(c *net.TCPConn) {
		for n := now.Add(1); ; {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		defer now.Add(-1)
		io.ReadAll(c)
	})
	var all []sandbox.Listening
	var at []string
	for _, id := range []string{"n1", "n2"} {
		l, in := inside(t, sandbox.NetworkRule{ID: id, Address: to})
		all, at = append(all, l), append(at, in)
	}
	stop, err := New(Options{Audit: &journal{room: -1}}).Serve(all)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	// The servers' own count is the barrier; a little longer, for what must not come.
	settle := func(want int32) {
		for deadline := time.Now().Add(patience); now.Load() < want && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond) //nolint
		}
		for range 50 {
			time.Sleep(time.Millisecond) //nolint
		}
	}
	var conns []*net.TCPConn
	open := func(rule, n int) {
		for range n {
			conns = append(conns, connect(t, at[rule]))
		}
	}
	open(0, maxOfOneRule+10)
	settle(maxOfOneRule)
	if got := most.Load(); got != maxOfOneRule {
		t.Errorf("one rule carries %d connections, want %d", got, maxOfOneRule)
	}
	open(1, maxConnections-maxOfOneRule+10)
	settle(maxConnections)
	if got := most.Load(); got != maxConnections {
		t.Errorf("the sandbox carries %d connections, want %d", got, maxConnections)
	}
	for _, c := range conns {
		c.Close()
	}
}

// Whatever is sent in whatever pieces arrives whole and in order, both ways, as on a direct connection.
//
// proves A-POL-06
func TestBytesArriveAsOnADirectConnection(t *testing.T) {
	conversations := make(chan *net.TCPConn)
	done := make(chan struct{})
	to := outside(t, "127.0.0.1:0", func(c *net.TCPConn) { conversations <- c; <-done })
	l, in := inside(t, sandbox.NetworkRule{ID: "n1", Address: to})
	serve(t, New(Options{Audit: &journal{room: -1}}), l)
	defer close(done)
	rapid.Check(t, func(rt *rapid.T) {
		c := connect(t, in)
		s := <-conversations
		pieces := rapid.SliceOfN(rapid.IntRange(0, 200_000), 0, 8)
		var wg sync.WaitGroup
		for _, side := range [][2]*net.TCPConn{{c, s}, {s, c}} {
			sizes := pieces.Draw(rt, "sizes")
			var sent bytes.Buffer
			for i, n := range sizes {
				sent.Write(bytes.Repeat([]byte{byte(i + 1)}, n))
			}
			all := sent.Bytes()
			wg.Go(func() {
				rest := all
				for _, n := range sizes {
					side[0].Write(rest[:n])
					rest = rest[n:]
				}
				side[0].CloseWrite()
			})
			wg.Go(func() {
				if got, err := io.ReadAll(side[1]); err != nil || !bytes.Equal(got, all) {
					rt.Errorf("%d bytes of %d arrived, %v", len(got), len(all), err)
				}
			})
		}
		wg.Wait()
		c.Close()
		s.Close()
	})
}

// proves A-POL-06
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begun := newPace(100, 10), time.Now()
		for range 10 {
			p.wait(t.Context())
		}
		if d := time.Since(begun); d != 0 {
			t.Errorf("a burst took %v", d)
		}
		for range 200 {
			p.wait(t.Context())
		}
		if d := time.Since(begun); d != 2*time.Second {
			t.Errorf("200 more took %v", d)
		}
		time.Sleep(time.Hour) // rest earns one burst, not more
		begun = time.Now()
		for range 110 {
			p.wait(t.Context())
		}
		if d := time.Since(begun); d != time.Second {
			t.Errorf("after a rest: %v", d)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if p.wait(ctx) == nil {
			t.Error("a cancelled wait succeeded")
		}
	})
}
