//go:build linux

package initproc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/filter"
	"sekisho/internal/sandbox/linux/mounts"
	"sekisho/internal/sandbox/linux/wire"
)

// loIndex is the index of lo, the first and only interface of a network namespace.
const loIndex = 1

// backlog is how many connections to one listener may wait; they live in the sandbox's memory.
const backlog = 128

// listen makes the network of the sandbox (A-POL-06, A-SBX-05): lo, the addresses of the snapshot on it, and a listener at each
// address and port. Nothing leads out of the namespace; what comes to a listener is for the broker to carry on. Listeners of
// a family that this system does not have are left out; listening tells which ones there are. It must run before the root
// is built, while capabilities are held and no payload exists.
func listen(n *wire.Network) (listening []uint32, listeners []*os.File, err error) {
	if n == nil {
		return nil, nil, nil
	}
	defer func() {
		if err != nil {
			wire.CloseAll(listeners)
		}
	}()
	// Programs that listen at a port of the system's choice get one of those that Landlock lets them use. Reuse: a thousand ports
	// must be enough for programs that open one connection after another.
	// Buffers grow to 256 KiB, not to megabytes: not every kernel charges them to the control group.
	for name, value := range map[string]string{"net/ipv4/ip_local_port_range": fmt.Sprint(n.OwnFirst, " ", n.OwnLast), "net/ipv4/tcp_tw_reuse": "1",
		"net/ipv4/tcp_congestion_control": "reno", "net/ipv4/tcp_rmem": "4096 65536 262144", "net/ipv4/tcp_wmem": "4096 16384 262144"} {
		if err := mounts.Sysctl(name, value); err != nil {
			return nil, nil, wire.Fail(wire.StageNetwork, name, err)
		}
	}
	if err := up(); err != nil {
		return nil, nil, wire.Fail(wire.StageNetwork, "lo", err)
	}
	six := hasSix()
	var there []netip.Addr
	for i, l := range n.Listen {
		a, ok := netip.AddrFromSlice(l.IP)
		if !ok || l.Port < 1 || l.Port > 65535 {
			return nil, listeners, wire.Fail(wire.StageNetwork, fmt.Sprint(l.IP, l.Port), errors.New("not an address"))
		}
		if a.Is6() && !six {
			continue
		}
		if !a.IsLoopback() && !slices.Contains(there, a) {
			if err := add(a); err != nil {
				return nil, listeners, wire.Fail(wire.StageNetwork, a.String(), err)
			}
			there = append(there, a)
		}
		f, err := listenAt(netip.AddrPortFrom(a, uint16(l.Port)))
		if err != nil {
			return nil, listeners, wire.Fail(wire.StageNetwork, netip.AddrPortFrom(a, uint16(l.Port)).String(), err)
		}
		listening, listeners = append(listening, uint32(i)), append(listeners, f)
	}
	return listening, listeners, nil
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

func up() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_LOOPBACK | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}

// hasSix tells whether this system has IPv6 at all.
func hasSix() bool {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Bind(fd, &unix.SockaddrInet6{Addr: netip.IPv6Loopback().As16()}) == nil
}

// listenAt makes one listener. It is no payload's: no reuse of its address is possible while it is there.
func listenAt(at netip.AddrPort) (*os.File, error) {
	family := unix.AF_INET
	var to unix.Sockaddr
	if at.Addr().Is6() {
		family, to = unix.AF_INET6, &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
	} else {
		to = &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if family == unix.AF_INET6 {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
	}
	if err == nil {
		err = unix.Bind(fd, to)
	}
	if err == nil {
		err = unix.Listen(fd, backlog)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("listening: %w", err)
	}
	return os.NewFile(uintptr(fd), at.String()), nil
}

// add gives lo one more address, of a single host.
func add(a netip.Addr) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, newAddress(a), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	var answer [512]byte
	n, _, err := unix.Recvfrom(fd, answer[:], 0)
	if err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	if n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return errors.New("netlink gave no answer")
	}
	if errno := -int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); errno != 0 {
		return fmt.Errorf("adding the address: %w", unix.Errno(errno))
	}
	return nil
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
