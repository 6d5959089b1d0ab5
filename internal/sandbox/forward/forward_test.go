//go:build unix

package forward

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

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
	for !holds(t, six.Port()) {
		six = outside(t, "[::1]:0", answer)
	}
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

// holds keeps a port of 127.0.0.1 for the test, where nobody listens. It may be another's already.
func holds(t *testing.T, port uint16) bool {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}}); err != nil && !errors.Is(err, syscall.EADDRINUSE) {
		t.Fatal(err)
	}
	return err == nil
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
