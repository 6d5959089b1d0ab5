package instance

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// short is a listener that fails a few times before each connection, as one without descriptors does.
type short struct {
	net.Listener
	left int
}

func (s *short) Accept() (net.Conn, error) {
	if s.left > 0 {
		s.left--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return s.Listener.Accept()
}

// proves R-CLI-01
func TestAFailureToAcceptPasses(t *testing.T) {
	i := open(t, filepath.Join(t.TempDir(), "relaycodex"))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	i.listener = &short{Listener: l, left: 3}
	i.serving.Go(func() { i.serve(func() string { return "http://127.0.0.1:1/#a" }) })
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(controlTime)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("{\"version\":1,\"want\":\"url\"}\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := readLine(c); err != nil || string(line) != `{"version":1,"url":"http://127.0.0.1:1/#a"}` {
		t.Errorf("answered %q, %v", line, err)
	}
}
