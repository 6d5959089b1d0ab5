package sockowner

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func peerUID(c *net.TCPConn) (int, error) {
	local, peer := end(c.LocalAddr()), end(c.RemoteAddr())
	if !local.Addr().IsLoopback() || !peer.Addr().IsLoopback() {
		return 0, fmt.Errorf("%w: not a loopback connection", ErrUncertain)
	}
	// The peer's socket has our ends the other way round.
	found, err := ask(family(peer.Addr()), peer, local, peerStates, false)
	if err != nil {
		return 0, errors.Join(ErrUncertain, err)
	}
	if len(found) != 1 {
		return 0, fmt.Errorf("%w: its socket is not on this machine", ErrUncertain)
	}
	s := found[0]
	if 1<<s.state&peerStates == 0 || s.inode == 0 || s.local != peer || s.peer != local {
		return 0, fmt.Errorf("%w: its socket is closed", ErrUncertain)
	}
	if err := alive(c); err != nil { // only now: see the package comment
		return 0, err
	}
	return s.uid, nil
}

// alive reports whether our own end is.
func alive(c *net.TCPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return errors.Join(ErrUncertain, err)
	}
	var info *unix.TCPInfo
	var infoErr error
	if err := raw.Control(func(fd uintptr) { info, infoErr = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); err != nil {
		return errors.Join(ErrUncertain, err)
	}
	if infoErr != nil {
		return errors.Join(ErrUncertain, infoErr)
	}
	if info.State != tcpEstablished && info.State != tcpCloseWait {
		return fmt.Errorf("%w: the connection has ended", ErrUncertain)
	}
	return nil
}

func end(a net.Addr) netip.AddrPort {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	p := t.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}

func family(a netip.Addr) uint8 {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// certain refuses a server whose own user is the one that stands for every user this namespace has no number for.
func certain(self int) error {
	text, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil {
		return errors.Join(ErrUncertain, err)
	}
	overflow, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || overflow != self {
		return err
	}
	whole, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return errors.Join(ErrUncertain, err)
	}
	if f := strings.Fields(string(whole)); len(f) == 3 && f[0] == "0" && f[2] == "4294967295" {
		return nil // every user has a number here
	}
	return fmt.Errorf("%w: user %d stands for others here", ErrUncertain, self)
}

func listenerOn(addr netip.AddrPort) (Holder, error) {
	var errs []error
	for _, f := range []uint8{unix.AF_INET, unix.AF_INET6} {
		found, err := ask(f, netip.AddrPort{}, netip.AddrPort{}, 1<<tcpListen, true)
		errs = append(errs, err)
		for _, s := range found {
			if s.state != tcpListen || s.local.Port() != addr.Port() || s.local.Addr() != addr.Addr() && !s.local.Addr().IsUnspecified() {
				continue
			}
			h := Holder{UID: s.uid}
			h.PID, h.Name = process(s.inode)
			return h, nil
		}
	}
	return Holder{}, errors.Join(append(errs, ErrUncertain)...)
}

// process finds who holds a socket among the processes that this one may look into. It is for a message only.
func process(inode uint32) (pid int, name string) {
	want := fmt.Sprintf("socket:[%d]", inode)
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, ""
	}
	for _, dir := range dirs {
		fds, err := os.ReadDir(filepath.Join(dir, "fd"))
		if err != nil {
			continue // gone, or another user's
		}
		for _, fd := range fds {
			if link, err := os.Readlink(filepath.Join(dir, "fd", fd.Name())); err == nil && link == want {
				comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
				pid, _ := strconv.Atoi(filepath.Base(dir))
				return pid, strings.TrimSpace(string(comm))
			}
		}
	}
	return 0, ""
}
