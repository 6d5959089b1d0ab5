package matrix

import (
	"context"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ear is a listener of the host that remembers all bytes that reached it.
type ear struct {
	address string
	mu      sync.Mutex
	heard   strings.Builder
	closers []io.Closer
	owned   sync.WaitGroup
}

// hear listens on a stream or datagram network of package net; the caller closes the ear.
func hear(network, address string) (*ear, error) {
	e := &ear{address: address}
	if network == "udp" || network == "unixgram" {
		c, err := net.ListenPacket(network, address)
		if err != nil {
			return nil, err
		}
		e.address = c.LocalAddr().String()
		e.closers = append(e.closers, c)
		e.owned.Go(func() {
			buf := make([]byte, 2048)
			for {
				n, _, err := c.ReadFrom(buf)
				if err != nil {
					return
				}
				e.note(buf[:n])
			}
		})
		return e, nil
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	e.address = l.Addr().String()
	e.closers = append(e.closers, l)
	e.owned.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.SetDeadline(time.Now().Add(5 * time.Second))
			b, _ := io.ReadAll(io.LimitReader(c, 1<<16))
			c.Close()
			e.note(b)
		}
	})
	return e, nil
}

func (e *ear) note(b []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard.Write(b)
}

func (e *ear) close() {
	for _, c := range e.closers {
		c.Close()
	}
	e.owned.Wait()
}

// has tells whether the text arrived, at the latest a moment from now.
func (e *ear) has(ctx context.Context, text string) bool {
	return await(ctx, 200*time.Millisecond, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return strings.Contains(e.heard.String(), text)
	})
}

// ear opens a listener for a case, which ends with it.
func (w *world) ear(network, address string) *ear {
	e, err := hear(network, address)
	if err != nil {
		w.Block(network+" "+address, "listening on the host: %v", err)
		return nil
	}
	w.closers = append(w.closers, e.close)
	return e
}

// alone takes the ear's port on the loopback of the other family and does not listen there; false: somebody has it.
func (w *world) alone(e *ear) (bool, error) {
	at, err := netip.ParseAddrPort(e.address)
	if err != nil {
		return false, err
	}
	if at.Addr() == netip.IPv6Unspecified() {
		return true, nil // it listens on both
	}
	family, other := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Port: int(at.Port()), Addr: [4]byte{127, 0, 0, 1}})
	if at.Addr().Is4() {
		family, other = unix.AF_INET6, &unix.SockaddrInet6{Port: int(at.Port()), Addr: netip.IPv6Loopback().As16()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	w.closers = append(w.closers, func() { unix.Close(fd) })
	err = unix.Bind(fd, other)
	if err == unix.EADDRINUSE {
		return false, nil
	}
	return err == nil, err
}

// sends is a probe that sends the layout's token and its own name to an ear, which other probes may use as well.
func (w *world) sends(name, action, address string, e *ear) probe {
	return probe{name: name, args: at(action, address, "TOKEN/"+name), effect: func(l *layout, _ output) bool { return e.has(w.ctx, l.Token+"/"+name) }}
}
