//go:build linux

package main

import (
	"context"
	"net"
	"strings"
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
