// Package sockowner tells which user's process is at the other end of a loopback TCP connection, and which process holds a
// port (A-MCP-05).
//
// The kernel is asked for the peer's own socket by the connection's four numbers. The answer counts only when it cannot
// belong to anybody else's socket:
//   - the socket found has completed its handshake and still has a file (a socket that was closed, and one in TIME_WAIT, have
//     no owner any more and would be reported as root's), and it is the exact counterpart, no listener that the lookup fell
//     back to. It may have ended its own sending, as some clients do after a request;
//   - afterwards our own end is still alive. A user could connect, send a request, reset the connection and leave the port to a
//     process of the server's user: the lookup would then find the wrong socket, but our end is dead by then. While our end is
//     alive no second connection with the same four numbers gets through its handshake, so what was found is its peer.
//
// A peer in another network namespace, behind a port mapping, has no socket here: its connection is made by the program or
// the kernel that maps the port, and is judged by that program's user or not at all. Everything uncertain is an error.
package sockowner

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// ErrUncertain reports that the peer's user cannot be told: it may have gone, or its socket is not on this machine.
var ErrUncertain = errors.New("the peer's user cannot be told")

// Holder is a process that listens on a port. PID is 0 when only its user is known.
type Holder struct {
	UID  int
	PID  int
	Name string // short name of the program, "" when unknown; chosen by the process, so untrusted text
}

// PeerUID returns the user of the process that owns the other end of c, as this process's user namespace numbers users. It
// reads nothing from c. Errors: ErrUncertain; errors.ErrUnsupported where the system has no way.
func PeerUID(c *net.TCPConn) (int, error) { return peerUID(c) }

// ListenerOn returns who listens where a listener on addr would collide. Errors as PeerUID's.
func ListenerOn(addr netip.AddrPort) (Holder, error) { return listenerOn(addr) }

// Check proves on a connection of this process with itself, over ip, that PeerUID works here.
func Check(ip netip.Addr, self int) error {
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0)))
	if err != nil {
		return err
	}
	defer l.Close()
	client, err := net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		return err
	}
	defer client.Close()
	served, err := l.AcceptTCP()
	if err != nil {
		return err
	}
	defer served.Close()
	switch uid, err := PeerUID(served); {
	case err != nil:
		return err
	case uid != self:
		return fmt.Errorf("%w: user %d was reported as %d", ErrUncertain, self, uid)
	}
	return certain(self)
}
