package sockowner

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// States of a TCP socket as the kernel numbers them.
const (
	tcpEstablished = 1
	tcpFinWait1    = 4 // it sends no more
	tcpFinWait2    = 5
	tcpCloseWait   = 8 // the other end sends no more
	tcpListen      = 10
)

// peerStates are those of a peer that can still take an answer.
const peerStates = 1<<tcpEstablished | 1<<tcpFinWait1 | 1<<tcpFinWait2

// Sizes of the kernel's inet_diag_req_v2 and inet_diag_msg, and the offset of inet_diag_sockid in both.
const (
	requestSize  = 56
	messageSize  = 72
	requestSocks = 8
	messageSocks = 4
)

// maxSockets bounds the answers to one question.
const maxSockets = 4096

// socket is one answer of sock_diag.
type socket struct {
	state       int
	local, peer netip.AddrPort // IPv4 also where the socket is an IPv6 one that talks IPv4
	uid         int
	inode       uint32 // 0: no file, so no owner
}

// ask sends one request to the kernel. With all it wants every socket of the family in states (a bit mask), else the one with
// the given ends; none is a nil answer.
func ask(family uint8, local, peer netip.AddrPort, states uint32, all bool) ([]socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("opening a sock_diag socket: %w", err)
	}
	defer unix.Close(fd)
	timeout := unix.NsecToTimeval(int64(time.Second)) // the kernel answers within the call; this only rules out a hang
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		return nil, err
	}
	if err := unix.Sendto(fd, request(family, local, peer, states, all), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, fmt.Errorf("asking sock_diag: %w", err)
	}
	var found []socket
	buf := make([]byte, 32<<10)
	for len(found) < maxSockets {
		n, from, err := unix.Recvfrom(fd, buf, 0)
		if err != nil {
			return nil, fmt.Errorf("reading from sock_diag: %w", err)
		}
		if k, ok := from.(*unix.SockaddrNetlink); !ok || k.Pid != 0 {
			continue // not from the kernel
		}
		messages, err := syscall.ParseNetlinkMessage(buf[:n])
		if err != nil {
			return nil, fmt.Errorf("reading from sock_diag: %w", err)
		}
		for _, m := range messages {
			switch m.Header.Type {
			case unix.NLMSG_DONE:
				return found, nil
			case unix.NLMSG_ERROR:
				if len(m.Data) < 4 {
					return nil, fmt.Errorf("%w: a short answer", ErrUncertain)
				}
				if e := unix.Errno(-int32(binary.NativeEndian.Uint32(m.Data))); e != unix.ENOENT {
					return nil, fmt.Errorf("sock_diag: %w", e)
				}
				return nil, nil
			case unix.SOCK_DIAG_BY_FAMILY:
				s, ok := parse(m.Data)
				if !ok {
					return nil, fmt.Errorf("%w: an answer of %d bytes", ErrUncertain, len(m.Data))
				}
				if found = append(found, s); !all {
					return found, nil
				}
			}
		}
	}
	return found, nil
}

func request(family uint8, local, peer netip.AddrPort, states uint32, all bool) []byte {
	b := make([]byte, unix.SizeofNlMsghdr+requestSize)
	binary.NativeEndian.PutUint32(b[0:], uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	flags := uint16(unix.NLM_F_REQUEST)
	if all {
		flags |= unix.NLM_F_DUMP
	}
	binary.NativeEndian.PutUint16(b[6:], flags)
	r := b[unix.SizeofNlMsghdr:]
	r[0], r[1] = family, unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(r[4:], states)
	id := r[requestSocks:]
	binary.BigEndian.PutUint16(id[0:], local.Port())
	binary.BigEndian.PutUint16(id[2:], peer.Port())
	putAddr(id[4:20], local.Addr())
	putAddr(id[20:36], peer.Addr())
	for i := 40; i < 48; i++ { // no cookie
		id[i] = 0xff
	}
	return b
}

func putAddr(b []byte, a netip.Addr) {
	if a.IsValid() {
		copy(b, a.AsSlice())
	}
}

func parse(b []byte) (socket, bool) {
	if len(b) < messageSize {
		return socket{}, false
	}
	id := b[messageSocks:]
	end := func(port, addr []byte) netip.AddrPort {
		a := netip.AddrFrom16([16]byte(addr[:16])).Unmap()
		if b[0] == unix.AF_INET {
			a = netip.AddrFrom4([4]byte(addr[:4]))
		}
		return netip.AddrPortFrom(a, binary.BigEndian.Uint16(port))
	}
	return socket{
		state: int(b[1]),
		local: end(id[0:2], id[4:20]),
		peer:  end(id[2:4], id[20:36]),
		uid:   int(binary.NativeEndian.Uint32(b[64:])),
		inode: binary.NativeEndian.Uint32(b[68:]),
	}, true
}
