//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// outsidePorts are where the outside listens, TCP and UDP, on every address.
var outsidePorts = []int{53, 80, 443, 7000, 8443}

// outside is the world beyond the host: servers and a sniffer on the wire.
type outside struct {
	thread  int
	mu      sync.Mutex
	heard   []string      // "connected: address:port" and "address:port text" of every connection
	packets []string      // "tcp address:port", "udp address:port", "protocol N address"
	changed chan struct{} // closed with the next entry of either
}

// newOutside makes the second namespace on a thread that keeps it, and the wire between the two.
func newOutside() (*outside, error) {
	o := &outside{changed: make(chan struct{})}
	ready, done := make(chan error), make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with its namespace
		err := unix.Unshare(unix.CLONE_NEWNET)
		o.thread = unix.Gettid()
		ready <- err
		if err != nil {
			return
		}
		<-ready // the wire is there
		done <- o.furnish()
		select {}
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	host := []string{
		"link set lo up",
		"link add wan type veth peer name lan netns " + strconv.Itoa(o.thread),
		"addr add " + hostLAN4 + "/24 dev wan", "-6 addr add " + hostLAN6 + "/64 dev wan nodad", "link set wan up",
	}
	if err := ip(host...); err != nil {
		return nil, err
	}
	ready <- nil
	if err := <-done; err != nil {
		return nil, err
	}
	return o, ip("route add default via "+outLAN4, "-6 route add default via "+outLAN6)
}

// ip runs commands of ip(8) in the namespace of the calling thread.
func ip(commands ...string) error {
	for _, c := range commands {
		if out, err := exec.Command("ip", strings.Fields(c)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", c, err, out)
		}
	}
	return nil
}

// furnish runs on the outside's thread: sockets belong to the namespace of the thread that makes them.
func (o *outside) furnish() error {
	commands := []string{"link set lo up", "addr add " + outLAN4 + "/24 dev lan", "-6 addr add " + outLAN6 + "/64 dev lan nodad", "link set lan up"}
	for _, a := range []string{listed4, unlisted4, metadata, private} {
		commands = append(commands, "addr add "+a+"/32 dev lo")
	}
	for _, a := range []string{listed6, unlisted6} {
		commands = append(commands, "-6 addr add "+a+"/128 dev lo nodad")
	}
	commands = append(commands, "route add default via "+hostLAN4, "-6 route add default via "+hostLAN6)
	if err := ip(commands...); err != nil {
		return err
	}
	for _, port := range outsidePorts {
		if err := o.serve(fmt.Sprint(":", port)); err != nil {
			return err
		}
	}
	return o.sniff()
}

// serve listens for TCP and UDP on all addresses of the calling thread's namespace.
func (o *outside) serve(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	u, err := net.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			o.note(&o.heard, "connected: "+c.RemoteAddr().String()) // in the order of the connections
			go func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(10 * time.Second))
				b, _ := io.ReadAll(io.LimitReader(c, 1<<16))
				fmt.Fprintf(c, "%s", b)
				o.note(&o.heard, c.LocalAddr().String()+" "+string(b))
			}()
		}
	}()
	go func() {
		b := make([]byte, 2048)
		for {
			n, _, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			o.note(&o.heard, "udp "+string(b[:n]))
		}
	}()
	return nil
}

// sniff records every IP packet that comes from the host over the wire, but for the neighbour discovery of the link itself.
func (o *outside) sniff() error {
	lan, err := net.InterfaceByName("lan")
	if err != nil {
		return err
	}
	all := uint16(unix.ETH_P_ALL)<<8 | uint16(unix.ETH_P_ALL)>>8
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(all))
	if err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: lan.Index}); err != nil {
		return err
	}
	go func() {
		b := make([]byte, 1<<16)
		for {
			n, from, err := unix.Recvfrom(fd, b, 0)
			if err != nil {
				return
			}
			if l, ok := from.(*unix.SockaddrLinklayer); ok && l.Pkttype != unix.PACKET_OUTGOING {
				if p := describe(b[:n]); p != "" {
					o.note(&o.packets, p)
				}
			}
		}
	}()
	return nil
}

// describe names a packet by protocol and destination; "" is what a link says by itself.
func describe(b []byte) string {
	var to netip.Addr
	var protocol byte
	var rest []byte
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		to, protocol, rest = netip.AddrFrom4([4]byte(b[16:20])), b[9], b[int(b[0]&15)*4:]
	case len(b) >= 40 && b[0]>>4 == 6:
		to, protocol, rest = netip.AddrFrom16([16]byte(b[24:40])), b[6], b[40:]
	default:
		return "" // ARP
	}
	names := map[byte]string{unix.IPPROTO_TCP: "tcp", unix.IPPROTO_UDP: "udp"}
	switch {
	case names[protocol] != "" && len(rest) >= 4:
		return names[protocol] + " " + netip.AddrPortFrom(to, uint16(rest[2])<<8|uint16(rest[3])).String()
	case protocol == unix.IPPROTO_ICMPV6 && len(rest) > 0 && (rest[0] >= 133 && rest[0] <= 136 || rest[0] == 143),
		protocol == unix.IPPROTO_HOPOPTS, protocol == unix.IPPROTO_IGMP:
		return ""
	}
	return fmt.Sprint("protocol ", protocol, " ", to)
}

func (o *outside) note(list *[]string, s string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*list = append(*list, s)
	close(o.changed)
	o.changed = make(chan struct{})
}

// taken returns what a list holds and empties it.
func (o *outside) taken(list *[]string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := *list
	*list = nil
	return out
}

// waits until the list has an element that holds text.
func (o *outside) waits(list *[]string, text string) bool {
	limit := time.After(3 * time.Second)
	for {
		o.mu.Lock()
		found, changed := slices.ContainsFunc(*list, func(s string) bool { return strings.Contains(s, text) }), o.changed
		o.mu.Unlock()
		if found {
			return true
		}
		select {
		case <-changed:
		case <-limit:
			return false
		}
	}
}

// told returns what the servers of the given ports of this namespace heard so far, and forgets it. A server takes connections in
// their order: the marker's is the last.
func (o *outside) told(ports ...int) ([]string, error) {
	var own []string
	for _, port := range ports {
		c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			return nil, err
		}
		own = append(own, c.LocalAddr().String())
		_, err = io.WriteString(c, fmt.Sprint("marker ", port))
		if err = errors.Join(err, c.(*net.TCPConn).CloseWrite()); err == nil {
			_, err = io.ReadAll(c)
		}
		c.Close()
		if err != nil || !o.waits(&o.heard, fmt.Sprint("marker ", port)) {
			return nil, fmt.Errorf("the server of port %d did not hear the marker: %v", port, err)
		}
	}
	return slices.DeleteFunc(o.taken(&o.heard), func(h string) bool {
		return strings.Contains(h, "marker ") || slices.ContainsFunc(own, func(a string) bool { return h == "connected: "+a })
	}), nil
}
