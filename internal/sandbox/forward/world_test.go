//go:build unix

package forward

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sekisho/internal/audit"
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

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
