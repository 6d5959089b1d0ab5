//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The addresses of the world. The public ones belong to nobody here: nothing leaves the namespaces.
const (
	hostLAN4, hostLAN6   = "192.168.7.1", "fd07::1"
	outLAN4, outLAN6     = "192.168.7.2", "fd07::2"
	listed4, listed6     = "93.184.216.34", "2606:2800:220:1::34"
	unlisted4, unlisted6 = "93.184.216.35", "2606:2800:220:1::35"
	metadata             = "169.254.169.254"
	private              = "10.9.8.7"
)

// outsidePorts are where the outside listens, TCP and UDP, on every address.
var outsidePorts = []int{53, 80, 443, 7000, 8443}

// outside is the world beyond the host: servers and a sniffer on the wire.
type outside struct {
	thread  int
	mu      sync.Mutex
	heard   []string // "address:port text" of every connection
	packets []string // "tcp address:port", "udp address:port", "protocol N address"
}

// newOutside makes the second namespace on a thread that keeps it, and the wire between the two.
func newOutside() (*outside, error) {
	o := &outside{}
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
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		o.mu.Lock()
		found := slices.ContainsFunc(*list, func(s string) bool { return strings.Contains(s, text) })
		o.mu.Unlock()
		if found {
			return true
		}
	}
	return false
}

// order is what the attempting process is told; Inside is the sandbox, else it runs unconfined as the same user.
type order struct {
	Inside bool
	Args   []string
}

type answer struct {
	OK            bool
	Errno, Detail string
	Err           string
}

// try is one attempt of the payload: what it is asked, and the packet by which it is known on the wire.
type try struct {
	name, packet string
	args         []string
}

func tcp(name, host, port string) try {
	to := net.JoinHostPort(host, port)
	return try{name, "tcp " + to, []string{"tcp", to, "token"}}
}

func udp(name, host, port string) try {
	to := net.JoinHostPort(host, port)
	return try{name, "udp " + to, []string{"udp", to, "token"}}
}

// world is the host: args are mode, uid, work directory, product, payload, control group setting and the group's home.
func world(ctx context.Context, t *tally, args []string) error {
	if len(args) != 7 {
		return errors.New("seven arguments are needed")
	}
	o, err := newOutside()
	if err != nil {
		return fmt.Errorf("making the world: %w", err)
	}
	here := &outside{} // the host's own servers
	for _, port := range []int{7000, 7001} {
		if err := here.serve(fmt.Sprint(":", port)); err != nil {
			return err
		}
	}
	a, err := start(ctx, args)
	if err != nil {
		return err
	}
	defer a.close()
	denied, granted := restrictedTries()
	if args[0] == "local" {
		denied, granted = localTries()
	}
	time.Sleep(200 * time.Millisecond) // the link's own first words
	o.taken(&o.packets)

	// First everything that is refused, all of it, then a look at the wire.
	for _, d := range denied {
		got, err := a.do(order{true, d.args})
		if err != nil {
			return err
		}
		t.check("refused: "+d.name, !got.OK, "it worked: %+v", got)
	}
	time.Sleep(300 * time.Millisecond)
	seen, heard := o.taken(&o.packets), here.taken(&here.heard)
	t.check("not one packet left for any of them", len(seen) == 0, "%v", seen)
	t.check("and no server of the host heard anything", len(heard) == 0, "%v", heard)
	// The control of each: the same program, unconfined, as the same user, is seen.
	for _, d := range denied {
		if _, err := a.do(order{false, d.args}); err != nil {
			return err
		}
		if d.packet == "" {
			t.check("control: "+d.name, here.waits(&here.heard, "token"), "the host's server heard nothing")
			here.taken(&here.heard)
			continue
		}
		t.check("control: "+d.name, o.waits(&o.packets, d.packet), "the sniffer saw %v", o.taken(&o.packets))
		o.taken(&o.packets)
	}
	time.Sleep(300 * time.Millisecond)
	o.taken(&o.packets)
	o.taken(&o.heard)
	here.taken(&here.heard)
	for _, g := range granted {
		got, err := a.do(order{true, g.args})
		if err != nil {
			return err
		}
		arrived := g.packet != "" && o.waits(&o.packets, g.packet) && o.waits(&o.heard, "token") || g.packet == "" && here.waits(&here.heard, "token")
		t.check("granted: "+g.name, got.OK && arrived, "%+v, arrived %v", got, arrived)
		time.Sleep(100 * time.Millisecond)
		stray := slices.DeleteFunc(o.taken(&o.packets), func(p string) bool { return p == g.packet })
		t.check("and nothing else left", len(stray) == 0, "%v", stray)
		o.taken(&o.heard)
		here.taken(&here.heard)
	}
	return nil
}

func restrictedTries() (denied, granted []try) {
	dns := func(server string) try {
		return try{"a question to a name server at " + server, "udp " + net.JoinHostPort(server, "53"), []string{"dns", net.JoinHostPort(server, "53"), "secret.evil.test"}}
	}
	return []try{
			tcp("the listed address, another port", listed4, "8443"), tcp("the listed address, another port, IPv6", listed6, "80"),
			tcp("another address, the listed port", unlisted4, "443"), tcp("another address, the listed port, IPv6", unlisted6, "443"),
			tcp("the metadata address", metadata, "80"), tcp("the metadata address, a name led there", metadata, "443"),
			tcp("a private address, a name led there", private, "443"), tcp("the router", outLAN4, "80"), tcp("the router, IPv6", outLAN6, "80"),
			udp("UDP to the listed pair", listed4, "443"), udp("UDP to the listed pair, IPv6", listed6, "443"), udp("UDP", unlisted4, "53"),
			dns(unlisted4), dns(listed6),
			{"TCP fast open to another address", "tcp " + unlisted4 + ":443", []string{"tcp-fastopen", unlisted4, "443", "token"}},
		}, []try{
			tcp("the listed pair", listed4, "443"), tcp("the listed pair, IPv6", listed6, "443"),
			{"the listed name", "tcp " + listed4 + ":443", []string{"tcp", "api.test:443", "token"}},
			tcp("the listed private address at its port", private, "8443"),
		}
}

func localTries() (denied, granted []try) {
	return []try{
			{"another port of this machine", "", []string{"tcp", "127.0.0.1:7001", "token"}}, {"another port of this machine, IPv6", "", []string{"tcp", "[::1]:7001", "token"}},
			{"the listed port of this machine's address in the LAN", "", []string{"tcp", hostLAN4 + ":7000", "token"}}, {"the same, IPv6", "", []string{"tcp", "[" + hostLAN6 + "]:7000", "token"}},
			tcp("the listed port in the LAN", outLAN4, "7000"), tcp("the listed port in the LAN, IPv6", outLAN6, "7000"), tcp("the listed port outside", listed4, "7000"),
			udp("UDP", outLAN4, "53"), udp("UDP, IPv6", outLAN6, "53"),
		}, []try{
			{"the listed port", "", []string{"tcp", "127.0.0.1:7000", "token"}}, {"the listed port, IPv6", "", []string{"tcp", "[::1]:7000", "token"}}, {"the listed port by name", "", []string{"tcp", "localhost:7000", "token"}},
		}
}

// attempting is the other process, of the user in question.
type attempting struct {
	cmd *exec.Cmd
	in  *json.Encoder
	out *bufio.Scanner
	end io.Closer
}

func start(ctx context.Context, args []string) (*attempting, error) {
	uid, err := strconv.Atoi(args[1])
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append([]string{roleAttempt}, args[:6]...)...)
	cmd.Stderr = os.Stderr
	cmd.Dir = args[2]
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid), Groups: []uint32{}}}
	if args[6] != "" && uid != 0 {
		home, err := os.Open(args[6])
		if err != nil {
			return nil, err
		}
		defer home.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(home.Fd())
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &attempting{cmd, json.NewEncoder(in), bufio.NewScanner(out), in}, nil
}

func (a *attempting) do(o order) (got answer, err error) {
	if err := a.in.Encode(o); err != nil {
		return got, err
	}
	if !a.out.Scan() {
		return got, errors.New("the attempting process ended")
	}
	if err := json.Unmarshal(a.out.Bytes(), &got); err != nil {
		return got, fmt.Errorf("%q: %w", a.out.Bytes(), err)
	}
	if got.Err != "" {
		return got, errors.New(got.Err)
	}
	return got, nil
}

func (a *attempting) close() {
	a.end.Close()
	a.cmd.Wait()
}
