// Command stream sends bytes over TCP and receives them, for the section forward of the benchmarks.
//
//	stream sink                                listen on 127.0.0.1, print the address, read from everybody until standard input ends
//	stream send ADDRESS STREAMS SIZE BYTES     send BYTES over STREAMS connections in messages of SIZE, print the nanoseconds
//
// The time of a sender begins when all its connections are there, and ends when the receiver has confirmed the last byte.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "stream:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "sink":
		return sink()
	case len(args) == 5 && args[0] == "send":
		var numbers [3]int
		for i := range numbers {
			n, err := strconv.Atoi(args[i+2])
			if err != nil || n <= 0 {
				return fmt.Errorf("%q is no positive number", args[i+2])
			}
			numbers[i] = n
		}
		return send(args[1], numbers[0], numbers[1], numbers[2])
	}
	return errors.New("usage: stream sink | stream send ADDRESS STREAMS SIZE BYTES")
}

func sink() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go swallow(c)
		}
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// swallow reads to the end and confirms it with one byte.
func swallow(c net.Conn) {
	defer c.Close()
	buf := make([]byte, 256<<10)
	for {
		if _, err := c.Read(buf); err != nil {
			break
		}
	}
	c.Write([]byte{1})
}

func send(address string, streams, size, bytes int) error {
	conns := make([]*net.TCPConn, streams)
	for i := range conns {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		conns[i] = c.(*net.TCPConn)
	}
	begun := time.Now()
	errs := make([]error, streams)
	var sending sync.WaitGroup
	for i, c := range conns {
		sending.Go(func() { errs[i] = one(c, size, bytes/streams) })
	}
	sending.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, err := fmt.Println(time.Since(begun).Nanoseconds())
	return err
}

func one(c *net.TCPConn, size, bytes int) error {
	defer c.Close()
	message := make([]byte, size)
	for sent := 0; sent < bytes; sent += size {
		if _, err := c.Write(message); err != nil {
			return err
		}
	}
	if err := c.CloseWrite(); err != nil {
		return err
	}
	_, err := io.ReadFull(c, message[:1])
	return err
}
