//go:build linux

package main

import (
	"context"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const netTimeout = 3 * time.Second

func init() {
	add(map[string]action{
		"tcp": {"ADDRESS TEXT", func(a []string) (string, error) { return send("tcp", a[0], a[1]) }},
		"udp": {"ADDRESS TEXT", func(a []string) (string, error) { return send("udp", a[0], a[1]) }},
		// A stream socket to a socket file, or to an abstract name when PATH begins with @.
		"unix": {"PATH TEXT", func(a []string) (string, error) { return toSocket(unix.SOCK_STREAM, a[0], a[1]) }},
		// Datagrams to a socket file, from a socket and from one end of a pair.
		"unix-datagram": {"PATH TEXT", func(a []string) (string, error) { return toSocket(unix.SOCK_DGRAM, a[0], a[1]) }},
		"pair-datagram": {"PATH TEXT", func(a []string) (string, error) {
			p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return "", err
			}
			return "", unix.Sendto(p[0], []byte(a[1]), 0, &unix.SockaddrUnix{Name: a[0]})
		}},
		"pair-stream": {"", func([]string) (string, error) {
			p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return "", err
			}
			_, err = unix.Write(p[0], []byte("x"))
			return "", err
		}},
		"socket": {"DOMAIN TYPE PROTOCOL", func(a []string) (string, error) {
			fd, err := unix.Socket(int(number(a[0])), int(number(a[1])), int(number(a[2])))
			if err == nil {
				unix.Close(fd)
			}
			return "", err
		}},
		// Sends TEXT, ends that direction, and reads the other to its end.
		"tcp-ask": {"ADDRESS TEXT", func(a []string) (string, error) { return ask(a[0], a[1]) }},
		// COUNT connections at once, each with one byte, held open.
		"tcp-flood": {"ADDRESS COUNT SECONDS", flood},
		// A server of one's own at ADDRESS, and a connection to it.
		"own-server": {"ADDRESS TEXT", ownServer},
		// COUNT connections to oneself, each filled with bytes that nobody reads; tells how many KiB the kernel took.
		"tcp-hoard": {"COUNT", hoard},
		// Sending that connects on the way.
		"tcp-fastopen": {"IP PORT TEXT", func(a []string) (string, error) {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return "", err
			}
			defer unix.Close(fd)
			to := &unix.SockaddrInet4{Port: int(number(a[1])), Addr: netip.MustParseAddr(a[0]).As4()}
			return "", unix.Sendto(fd, []byte(a[2]), unix.MSG_FASTOPEN, to)
		}},
		// A name server's answer for NAME, asked directly.
		"dns": {"SERVER NAME", func(a []string) (string, error) {
			r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, a[0])
			}}
			ctx, cancel := context.WithTimeout(context.Background(), netTimeout)
			defer cancel()
			found, err := r.LookupHost(ctx, a[1])
			return strings.Join(found, " "), err
		}},
		"listen": {"ADDRESS SECONDS", func(a []string) (string, error) {
			l, err := net.Listen("tcp", a[0])
			if err != nil {
				return "", err
			}
			defer l.Close()
			time.Sleep(seconds(a[1]))
			return l.Addr().String(), nil
		}},
		"resolve": {"NAME", func(a []string) (string, error) {
			ctx, cancel := context.WithTimeout(context.Background(), netTimeout)
			defer cancel()
			addrs, err := net.DefaultResolver.LookupHost(ctx, a[0])
			return strings.Join(addrs, " "), err
		}},
		"interfaces": {"", func([]string) (string, error) {
			list, err := net.Interfaces()
			var names []string
			for _, i := range list {
				names = append(names, i.Name+"("+i.Flags.String()+")")
			}
			return strings.Join(names, " "), err
		}},
	})
}

func send(network, address, text string) (string, error) {
	c, err := net.DialTimeout(network, address, netTimeout)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_, err = c.Write([]byte(text))
	return "", err
}

func ask(address, text string) (string, error) {
	c, err := net.DialTimeout("tcp", address, netTimeout)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(longest))
	if _, err := c.Write([]byte(text)); err != nil {
		return "", err
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return "", err
	}
	b, err := io.ReadAll(c)
	return string(b), err
}

// flood reports how many connections were made.
func flood(a []string) (string, error) {
	var made atomic.Int32
	var first atomic.Pointer[error]
	var all sync.WaitGroup
	hold := make(chan struct{})
	for range min(int(number(a[1])), 4000) {
		all.Go(func() {
			c, err := net.DialTimeout("tcp", a[0], seconds(a[2]))
			if err != nil {
				first.CompareAndSwap(nil, &err)
				return
			}
			defer c.Close()
			made.Add(1)
			c.Write([]byte("x"))
			<-hold
		})
	}
	time.Sleep(seconds(a[2]))
	close(hold)
	all.Wait()
	detail := itoa(int(made.Load()))
	if err := first.Load(); err != nil {
		detail += " " + (*err).Error()
	}
	return detail, nil
}

func hoard(a []string) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	chunk, total := make([]byte, 64<<10), 0
	var kept []net.Conn
	for range min(int(number(a[0])), 1000) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return itoa(total >> 10), err
		}
		s, err := l.Accept()
		if err != nil {
			return itoa(total >> 10), err
		}
		kept = append(kept, c, s)
		raw, err := c.(*net.TCPConn).SyscallConn()
		if err != nil {
			return "", err
		}
		for full := false; !full; {
			raw.Write(func(fd uintptr) bool {
				n, err := unix.Write(int(fd), chunk)
				total += max(n, 0)
				full = err != nil
				return true
			})
		}
	}
	for _, c := range kept {
		c.Close()
	}
	return itoa(total >> 10), nil
}

func ownServer(a []string) (string, error) {
	l, err := net.Listen("tcp", a[0])
	if err != nil {
		return "", err
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			io.Copy(c, c)
			c.Close()
		}
	}()
	return ask(l.Addr().String(), a[1])
}

func toSocket(kind int, path, text string) (string, error) {
	fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return "", err
	}
	_, err = unix.Write(fd, []byte(text))
	return "", err
}
