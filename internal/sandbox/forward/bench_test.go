//go:build unix

package forward

import (
	"io"
	"net"
	"testing"

	"sekisho/internal/sandbox"
)

// BenchmarkThroughput compares what goes through a rule with a direct connection, in messages of 64 KiB. Use the ratio of
// the two on a quiet machine.
func BenchmarkThroughput(b *testing.B) {
	to := outside(b, "127.0.0.1:0", func(c *net.TCPConn) {
		c.SetDeadline(noDeadline)
		io.Copy(io.Discard, c)
		c.Write([]byte("x"))
	})
	l, in := inside(b, sandbox.NetworkRule{ID: "n1", Address: to})
	serve(b, New(Options{Audit: &journal{room: -1}}), l)
	for name, address := range map[string]string{"direct": to.String(), "forwarded": in} {
		b.Run(name, func(b *testing.B) {
			c := connect(b, address)
			c.SetDeadline(noDeadline)
			message := make([]byte, 64<<10)
			b.SetBytes(int64(len(message)))
			for b.Loop() {
				if _, err := c.Write(message); err != nil {
					b.Fatal(err)
				}
			}
			c.CloseWrite()
			io.ReadAll(c) // all of it has arrived
		})
	}
}
