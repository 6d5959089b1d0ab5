package sockowner

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"sekisho/test/goroutines"
)

// TestMain lets the test binary be the client of another user or of another network namespace.
func TestMain(m *testing.M) {
	if addr := os.Getenv("SOCKOWNER_DIAL"); addr != "" {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		io.WriteString(os.Stdout, "connected\n")
		io.Copy(io.Discard, os.Stdin) // until the test is done
		c.Close()
		os.Exit(0)
	}
	goroutines.Main(m)
}

// loopbacks are the addresses to listen on, and the network with which a client reaches each.
var loopbacks = map[string]string{"IPv4": "127.0.0.1:0", "IPv6": "[::1]:0"}

func listen(t *testing.T, addr string) *net.TCPListener {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

func accept(t *testing.T, l *net.TCPListener) *net.TCPConn {
	t.Helper()
	c, err := l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func dial(t *testing.T, l *net.TCPListener) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// proves A-MCP-05
func TestPeerIsKnownByItsSocket(t *testing.T) {
	for name, addr := range loopbacks {
		l := listen(t, addr)
		dial(t, l)
		if uid, err := PeerUID(accept(t, l)); err != nil || uid != os.Getuid() {
			t.Errorf("%s: %d, %v; want %d", name, uid, err, os.Getuid())
		}
		if err := Check(netip.MustParseAddrPort(l.Addr().String()).Addr(), os.Geteuid()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := Check(netip.MustParseAddrPort(l.Addr().String()).Addr(), os.Geteuid()+1); !errors.Is(err, ErrUncertain) {
			t.Errorf("%s: the check of another user: %v", name, err)
		}
	}
}

// An IPv6 socket that talks IPv4 is listed under the other family.
// proves A-MCP-05
func TestMappedPeerIsKnown(t *testing.T) {
	l := listen(t, "127.0.0.1:0")
	fd, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	to := &syscall.SockaddrInet6{Port: l.Addr().(*net.TCPAddr).Port, Addr: netip.MustParseAddr("::ffff:127.0.0.1").As16()}
	if err := syscall.Connect(fd, to); err != nil {
		t.Fatal(err)
	}
	if uid, err := PeerUID(accept(t, l)); err != nil || uid != os.Getuid() {
		t.Errorf("%d, %v; want %d", uid, err, os.Getuid())
	}
}

// proves A-MCP-05
func TestPeerOfAnotherUserIsThatUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	for name, addr := range loopbacks {
		l := listen(t, addr)
		cmd := exec.Command("/proc/self/exe")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
		stop := client(t, cmd, l.Addr().String())
		if uid, err := PeerUID(accept(t, l)); err != nil || uid != 12345 {
			t.Errorf("%s: %d, %v; want 12345", name, uid, err)
		}
		stop()
	}
}

// client starts a copy of this test that connects to addr, and returns when it has; stop ends it.
func client(t *testing.T, cmd *exec.Cmd, addr string) (stop func()) {
	t.Helper()
	cmd.Env = append(os.Environ(), "SOCKOWNER_DIAL="+addr)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 200)
	n, err := out.Read(answer)
	if !strings.HasPrefix(string(answer[:n]), "connected") {
		in.Close()
		cmd.Wait()
		t.Fatalf("the client said %q, %v", answer[:n], err)
	}
	return func() { in.Close(); cmd.Wait() }
}

// A reset connection leaves its port to whoever takes it next; what the lookup then finds is not our peer.
// proves A-MCP-05
func TestNoOneIsTakenForAPeerThatIsGone(t *testing.T) {
	for name, end := range map[string]func(*net.TCPConn){
		"reset":  func(c *net.TCPConn) { c.SetLinger(0); c.Close() },
		"closed": func(c *net.TCPConn) { c.Close() },
	} {
		l := listen(t, "127.0.0.1:0")
		c := dial(t, l)
		port := c.LocalAddr().(*net.TCPAddr)
		io.WriteString(c, "POST /mcp HTTP/1.1\r\n\r\n")
		served := accept(t, l)
		end(c)
		awaitEnd(t, served)
		if uid, err := PeerUID(served); !errors.Is(err, ErrUncertain) {
			t.Errorf("%s: %d, %v; want an error", name, uid, err)
		}
		if name != "reset" {
			continue
		}
		// The port's next user connects to the same listener: a socket with the very numbers of the dead connection's peer.
		d := net.Dialer{LocalAddr: port}
		next, err := d.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatalf("the port could not be used again: %v", err)
		}
		defer next.Close()
		if uid, err := PeerUID(served); !errors.Is(err, ErrUncertain) {
			t.Errorf("%s, port in use again: %d, %v; want an error", name, uid, err)
		}
		if uid, err := PeerUID(accept(t, l)); err != nil || uid != os.Getuid() { // the control: the lookup does find it
			t.Errorf("%s, the next connection: %d, %v", name, uid, err)
		}
	}
}

// A client may end its sending before it reads the answer.
//
// proves A-MCP-05
func TestPeerThatSendsNoMoreIsKnown(t *testing.T) {
	l := listen(t, "127.0.0.1:0")
	c := dial(t, l)
	served := accept(t, l)
	c.CloseWrite()
	awaitEnd(t, served)
	if uid, err := PeerUID(served); err != nil || uid != os.Getuid() {
		t.Errorf("%d, %v", uid, err)
	}
}

// awaitEnd returns when the kernel knows that the peer has closed.
func awaitEnd(t *testing.T, c *net.TCPConn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
}

// proves A-MCP-05
func TestPeerInAnotherNetworkNamespaceIsUncertain(t *testing.T) {
	if _, err := ask(2, netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:1"), 1<<tcpEstablished, false); err != nil {
		t.Errorf("a socket that does not exist: %v", err)
	}
	l := listen(t, "127.0.0.1:0")
	c, err := net.Dial("tcp", listen(t, "127.0.0.1:0").Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = l
	// What a mapped port looks like: the peer's numbers lead to no socket of this namespace. Here to no socket at all.
	found, err := ask(2, netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort(l.Addr().String()), 1<<tcpEstablished, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range found { // the listener itself, which the lookup falls back to, is no peer
		if 1<<s.state&peerStates != 0 {
			t.Errorf("found %+v", s)
		}
	}
}

// proves A-MCP-05
func TestListenerIsNamed(t *testing.T) {
	for name, addr := range loopbacks {
		l := listen(t, addr)
		h, err := ListenerOn(netip.MustParseAddrPort(l.Addr().String()))
		if err != nil || h.UID != os.Getuid() || h.PID != os.Getpid() || h.Name == "" {
			t.Errorf("%s: %+v, %v; want process %d", name, h, err, os.Getpid())
		}
	}
	l := listen(t, ":0")
	at := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(l.Addr().(*net.TCPAddr).Port))
	if h, err := ListenerOn(at); err != nil || h.PID != os.Getpid() {
		t.Errorf("on every address: %+v, %v", h, err)
	}
	l.Close()
	if h, err := ListenerOn(at); err == nil {
		t.Errorf("nobody listens: %+v", h)
	}
}

func FuzzDiagAnswer(f *testing.F) {
	f.Add(make([]byte, messageSize))
	f.Add(request(2, netip.MustParseAddrPort("127.0.0.1:80"), netip.MustParseAddrPort("127.0.0.1:8080"), 2, false))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, ok := parse(b); ok != (len(b) >= messageSize) || !ok && s != (socket{}) {
			t.Errorf("%d bytes: %+v, %v", len(b), s, ok)
		}
	})
}
