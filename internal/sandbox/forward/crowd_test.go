//go:build unix

package forward

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sekisho/internal/sandbox"
	"sekisho/test/goroutines"
)

// Two thousand connections at once, some of which never read: the cap holds, the others are served, and nothing is left.
//
// proves A-POL-06, A-SBX-05
func TestTwoThousandConnections(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	before := descriptors(t)
	const total = 2000
	c := &crowd{}
	slowly := make(chan struct{}, maxOfOneRule)
	flood := make([]byte, 8<<20)
	t.Run("at once", func(t *testing.T) { // its end waits for the server's own connections
		handle := func(c *net.TCPConn) {
			head := make([]byte, 1)
			if _, err := io.ReadFull(c, head); err != nil {
				return
			}
			if head[0] == 's' { // whoever asked never reads it
				slowly <- struct{}{}
				c.Write(flood)
				return
			}
			answer(c)
		}
		to := outside(t, "127.0.0.1:0", func(conn *net.TCPConn) { c.handle(conn, handle) })
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
		for range maxOfOneRule {
			<-slowly
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
		if served.Load() != total || c.most.Load() > maxConnections {
			t.Errorf("%d of %d were served, %d at once", served.Load(), total, c.most.Load())
		}
	})
	if n := c.now.Load(); n > 0 {
		t.Fatalf("%d connections are still handled", n)
	}
	goroutines.None(t, leaks)
	// The runtime keeps pipes for the next splice until they are collected, and closes them some time afterwards.
	after, limit := descriptors(t), time.Now().Add(patience)
	for ; after > before && time.Now().Before(limit); after = descriptors(t) {
		runtime.GC()
	}
	if after > before {
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
	goroutines.None(t, leaks)
}

// However many connections are opened, a bounded number of them is carried; the others wait, and come when there is room.
//
// proves A-POL-06, A-SBX-05
func TestConnectionsAreBounded(t *testing.T) {
	c := &crowd{came: make(chan struct{}, 2*maxConnections)}
	to := outside(t, "127.0.0.1:0", func(conn *net.TCPConn) { c.handle(conn, func(conn *net.TCPConn) { io.ReadAll(conn) }) })
	one, atOne := inside(t, sandbox.NetworkRule{ID: "n1", Address: to})
	two, atTwo := inside(t, sandbox.NetworkRule{ID: "n2", Address: to})
	serve(t, New(Options{Audit: &journal{room: -1}}), one, two)
	const waiting = 10 // beyond what is carried
	var conns []*net.TCPConn
	open := func(at string, n int) {
		for range n {
			conns = append(conns, connect(t, at))
		}
	}
	leave := func(n int) { // who is carried goes, and one who waits comes
		for range n {
			conns[0].Close()
			conns = conns[1:]
			c.await(t, 1)
		}
	}
	open(atOne, maxOfOneRule+waiting)
	c.await(t, maxOfOneRule)
	leave(waiting)
	if got := c.most.Load(); got != maxOfOneRule {
		t.Errorf("one rule carries %d connections, want %d", got, maxOfOneRule)
	}
	open(atTwo, maxConnections-maxOfOneRule+waiting)
	c.await(t, maxConnections-maxOfOneRule)
	leave(waiting)
	if got := c.most.Load(); got != maxConnections {
		t.Errorf("the sandbox carries %d connections, want %d", got, maxConnections)
	}
}

// crowd counts the connections that a server handles.
type crowd struct {
	now, most atomic.Int32
	came      chan struct{} // a token for each, unless nil
}

func (c *crowd) handle(conn *net.TCPConn, do func(*net.TCPConn)) {
	for n := c.now.Add(1); ; {
		if m := c.most.Load(); n <= m || c.most.CompareAndSwap(m, n) {
			break
		}
	}
	defer c.now.Add(-1)
	if c.came != nil {
		c.came <- struct{}{}
	}
	do(conn)
}

// await returns when n more have come.
func (c *crowd) await(t *testing.T, n int) {
	t.Helper()
	limit := time.After(patience)
	for i := range n {
		select {
		case <-c.came:
		case <-limit:
			t.Fatalf("%d connections came, want %d", i, n)
		}
	}
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
