package transport

import (
	"context"
	"net"
	"syscall"
	"testing"
)

// disguised is a connection of which nobody knows that it is TCP.
type disguised struct{ net.Conn }

// TestWhatWasReadIsAcknowledged: after each message the kernel does not wait for something to send with the acknowledgement, as it
// does in the same conversation of a connection that nobody told.
func TestWhatWasReadIsAcknowledged(t *testing.T) {
	url := serve(t, echo)
	talk := func(wrap func(net.Conn) net.Conn) (once func() (waits bool)) {
		var socket syscall.RawConn
		conn, err := dial(t.Context(), Endpoint{URL: url}, func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			if socket, err = c.(*net.TCPConn).SyscallConn(); err != nil {
				return nil, err
			}
			return wrap(c), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close(ByUser) })
		return func() bool {
			t.Helper()
			if _, err := conn.Write(t.Context(), []byte(`{"method":"a"}`)); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
			prompt, failed := 0, error(nil)
			if err := socket.Control(func(fd uintptr) {
				prompt, failed = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK)
			}); err != nil || failed != nil {
				t.Fatal(err, failed)
			}
			return prompt == 0
		}
	}
	ours := talk(func(c net.Conn) net.Conn { return c })
	for range 50 {
		if ours() {
			t.Fatal("the kernel waits with the acknowledgement")
		}
	}
	untold := talk(func(c net.Conn) net.Conn { return disguised{c} })
	for tries := 0; !untold(); tries++ { // it begins to wait when an answer is followed by the next question soon enough
		if tries == 100_000 {
			t.Fatal("control: the kernel never waits, so nothing was shown")
		}
	}
}
