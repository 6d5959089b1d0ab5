//go:build linux

package initproc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/filter"
	"sekisho/internal/sandbox/linux/mounts"
	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/wire"
)

// loIndex is the index of lo, the first and only interface of a network namespace.
const loIndex = 1

// backlog is how many connections to one listener may wait; they live in the sandbox's memory.
const backlog = 128

// listen makes the network of the sandbox (A-POL-06, A-SBX-05): lo, the addresses of the snapshot on it, and a listener at each
// address and port, which goes to the broker at once. Nothing leads out of the namespace; what comes to a listener is for the
// broker to carry on. Listeners of a family that this system does not have are left out. It comes before the root
// is built, while capabilities are held and no payload exists.
func listen(b *opcode.Builder, n *wire.Network) {
	// Programs that listen at a port of the system's choice get one of those that Landlock lets them use. Reuse: a thousand ports
	// must be enough for programs that open one connection after another.
	// Buffers grow to 256 KiB, not to megabytes: not every kernel charges them to the control group.
	mounts.Sysctls(b, wire.StageNetwork, [][2]string{{"net/ipv4/ip_local_port_range", fmt.Sprint(n.OwnFirst, " ", n.OwnLast)}, {"net/ipv4/tcp_tw_reuse", "1"},
		{"net/ipv4/tcp_congestion_control", "reno"}, {"net/ipv4/tcp_rmem", "4096 65536 262144"}, {"net/ipv4/tcp_wmem", "4096 16384 262144"}})
	up(b)
	listeners(b, n, false)
	// Whether this system has IPv6 at all.
	b.For(wire.StageNetwork, "lo")
	none := b.NewLabel()
	fd := b.Slot()
	b.Call(unix.SYS_SOCKET, opcode.Int(unix.AF_INET6), opcode.Int(unix.SOCK_STREAM|unix.SOCK_CLOEXEC), opcode.Int(0)).Into(fd).On(0, none)
	address := sockaddr(netip.AddrPortFrom(netip.IPv6Loopback(), 0))
	b.Call(unix.SYS_BIND, opcode.Value(fd), opcode.At(b.Bytes(address)), opcode.Int(len(address))).On(0, none)
	listeners(b, n, true)
	b.Mark(none)
}

// listeners makes those of one family.
func listeners(b *opcode.Builder, n *wire.Network, six bool) {
	var there []netip.Addr
	for i, l := range n.Listen {
		a, ok := netip.AddrFromSlice(l.IP)
		if !ok || l.Port < 1 || l.Port > 65535 {
			b.For(wire.StageNetwork, fmt.Sprint(l.IP, l.Port))
			b.Fail(errors.New("not an address"))
			return
		}
		if a.Is6() != six {
			continue
		}
		if !a.IsLoopback() && !slices.Contains(there, a) {
			add(b, a)
			there = append(there, a)
		}
		listenAt(b, netip.AddrPortFrom(a, uint16(l.Port)), i)
	}
}

// ports are the Landlock rules of a network: connecting where somebody listens, and the programs' own ports.
func ports(n *wire.Network) *filter.Ports {
	if n == nil {
		return nil
	}
	p := &filter.Ports{OwnFirst: uint16(n.OwnFirst), OwnLast: uint16(n.OwnLast)}
	for _, l := range n.Listen {
		if !slices.Contains(p.Connect, uint16(l.Port)) {
			p.Connect = append(p.Connect, uint16(l.Port))
		}
	}
	return p
}

func up(b *opcode.Builder) {
	b.For(wire.StageNetwork, "lo")
	fd := b.Slot()
	b.Call(unix.SYS_SOCKET, opcode.Int(unix.AF_INET), opcode.Int(unix.SOCK_DGRAM|unix.SOCK_CLOEXEC), opcode.Int(0)).Into(fd)
	// struct ifreq: a name of 16 bytes, then the flags.
	request := make([]byte, 40)
	copy(request, "lo")
	binary.NativeEndian.PutUint16(request[16:], unix.IFF_UP|unix.IFF_LOOPBACK|unix.IFF_RUNNING)
	b.Call(unix.SYS_IOCTL, opcode.Value(fd), opcode.Int(unix.SIOCSIFFLAGS), opcode.At(b.Bytes(request)))
	b.Call(unix.SYS_CLOSE, opcode.Value(fd))
}

// sockaddr is a struct sockaddr_in or sockaddr_in6.
func sockaddr(at netip.AddrPort) []byte {
	family := uint16(unix.AF_INET)
	if at.Addr().Is6() {
		family = unix.AF_INET6
	}
	s := binary.NativeEndian.AppendUint16(nil, family)
	s = binary.BigEndian.AppendUint16(s, at.Port())
	if at.Addr().Is6() {
		s = append(append(s, 0, 0, 0, 0), at.Addr().AsSlice()...)
		return append(s, 0, 0, 0, 0)
	}
	return append(append(s, at.Addr().AsSlice()...), make([]byte, 8)...)
}

// listenAt makes one listener. It is no payload's: no reuse of its address is possible while it is there.
func listenAt(b *opcode.Builder, at netip.AddrPort, index int) {
	b.For(wire.StageNetwork, at.String())
	message, fd := handover(b, wire.Listening, index)
	family := unix.AF_INET
	if at.Addr().Is6() {
		family = unix.AF_INET6
	}
	b.Call(unix.SYS_SOCKET, opcode.Int(family), opcode.Int(unix.SOCK_STREAM|unix.SOCK_CLOEXEC), opcode.Int(0)).Into(fd)
	if at.Addr().Is6() {
		one := b.Bytes([]byte{1, 0, 0, 0})
		b.Call(unix.SYS_SETSOCKOPT, opcode.Value(fd), opcode.Int(unix.IPPROTO_IPV6), opcode.Int(unix.IPV6_V6ONLY), opcode.At(one), opcode.Int(4))
	}
	address := sockaddr(at)
	b.Call(unix.SYS_BIND, opcode.Value(fd), opcode.At(b.Bytes(address)), opcode.Int(len(address)))
	b.Call(unix.SYS_LISTEN, opcode.Value(fd), opcode.Int(backlog))
	b.Call(unix.SYS_SENDMSG, opcode.Int(socket), opcode.At(message), opcode.Int(unix.MSG_NOSIGNAL)).Exactly(replySize)
	b.Call(unix.SYS_CLOSE, opcode.Value(fd))
}

// add gives lo one more address, of a single host.
func add(b *opcode.Builder, a netip.Addr) {
	b.For(wire.StageNetwork, a.String())
	fd, answer := b.Slot(), b.Reserve(512)
	b.Call(unix.SYS_SOCKET, opcode.Int(unix.AF_NETLINK), opcode.Int(unix.SOCK_RAW|unix.SOCK_CLOEXEC), opcode.Int(unix.NETLINK_ROUTE)).Into(fd)
	request := newAddress(a)
	to := b.Bytes(append(binary.NativeEndian.AppendUint16(nil, unix.AF_NETLINK), make([]byte, 10)...))
	b.Call(unix.SYS_SENDTO, opcode.Value(fd), opcode.At(b.Bytes(request)), opcode.Int(len(request)), opcode.Int(0), opcode.At(to), opcode.Int(12)).Exactly(len(request))
	b.Call(unix.SYS_RECVFROM, opcode.Value(fd), opcode.At(answer), opcode.Int(512), opcode.Int(0), opcode.Int(0), opcode.Int(0))
	// struct nlmsghdr: the length, then the kind; the negative error follows it.
	b.Mask(answer+4, 0xffff, unix.NLMSG_ERROR, unix.EBADMSG)
	b.Error(answer + unix.SizeofNlMsghdr)
	b.Call(unix.SYS_CLOSE, opcode.Value(fd))
}

// newAddress is the RTM_NEWADDR message of one address on lo.
func newAddress(a netip.Addr) []byte {
	family, bits := byte(unix.AF_INET), byte(32)
	if a.Is6() {
		family, bits = unix.AF_INET6, 128
	}
	ip := a.AsSlice()
	order := binary.NativeEndian
	b := make([]byte, unix.SizeofNlMsghdr, 96)
	b = append(b, family, bits, unix.IFA_F_NODAD, unix.RT_SCOPE_HOST)
	b = order.AppendUint32(b, loIndex)
	for _, kind := range []uint16{unix.IFA_LOCAL, unix.IFA_ADDRESS} {
		b = order.AppendUint16(b, uint16(unix.SizeofRtAttr+len(ip)))
		b = order.AppendUint16(b, kind)
		b = append(b, ip...)
	}
	order.PutUint32(b[0:], uint32(len(b)))
	order.PutUint16(b[4:], unix.RTM_NEWADDR)
	order.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	return b
}
