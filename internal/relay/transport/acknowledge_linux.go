package transport

import (
	"net"
	"syscall"
)

// acknowledger returns what has the bytes that were read from a connection acknowledged now. A server that leaves Nagle's algorithm
// on, as codex does, keeps the second of two small messages back until the first one is acknowledged, and a kernel that waits for
// something to send with it takes 40 ms for that. The kernel goes back to waiting by itself, so it is told after each reading. One
// that refuses is slower and nothing else, and then so is every later attempt: what it says has no consequence.
func acknowledger(c net.Conn) func() {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return func() {}
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return func() {}
	}
	return func() {
		_ = raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1) })
	}
}
