package forward

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// pair is a connection, both ends.
func pair(t *testing.T) (a, b *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a = connect(t, l.Addr().String())
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return a, c.(*net.TCPConn)
}

func option(t *testing.T, c *net.TCPConn, name int) (value int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err == nil {
		cerr := raw.Control(func(fd uintptr) { value, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, name) })
		if err == nil {
			err = cerr
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// What a direction may hold is fixed from the start; a stream gets more, at most maxWide of a sandbox do, and the room is
// there again when the stream has ended.
//
// proves A-SBX-05
func TestStreamsGetRoomAndItIsBounded(t *testing.T) {
	f := New(Options{Audit: &journal{room: -1}})
	stream := func(bytes int) (receive, send int) {
		source, from := pair(t)
		to, sink := pair(t)
		narrow(from)
		narrow(to)
		if r, s := option(t, from, syscall.SO_RCVBUF), option(t, to, syscall.SO_SNDBUF); r > 2*narrowBuffer || s > 2*narrowBuffer {
			t.Errorf("buffers of %d and %d bytes from the start", r, s)
		}
		ended := make(chan struct{})
		go func() { defer close(ended); f.pipe(to, from) }()
		go func() { source.Write(make([]byte, bytes)); source.CloseWrite() }()
		n := 0
		for buf := make([]byte, 64<<10); ; {
			m, err := sink.Read(buf)
			n += m
			if err != nil {
				break
			}
		}
		<-ended
		if n != bytes {
			t.Errorf("%d bytes of %d arrived", n, bytes)
		}
		return option(t, from, syscall.SO_RCVBUF), option(t, to, syscall.SO_SNDBUF)
	}
	small, _ := stream(widenAfter / 2)
	if small > 2*narrowBuffer {
		t.Errorf("a conversation has a buffer of %d bytes", small)
	}
	receive, send := stream(4 * widenAfter)
	if receive <= small || receive > 2*wideBuffer || send > 2*wideBuffer {
		t.Errorf("a stream has buffers of %d and %d bytes", receive, send)
	}
	if len(f.wide) != 0 {
		t.Fatalf("%d streams have room after their end", len(f.wide))
	}
	for range maxWide {
		f.wide <- struct{}{}
	}
	if receive, send := stream(4 * widenAfter); receive > 2*narrowBuffer || send > 2*narrowBuffer {
		t.Errorf("one stream too many has buffers of %d and %d bytes", receive, send)
	}
	if len(f.wide) != maxWide {
		t.Errorf("%d places are taken, want %d", len(f.wide), maxWide)
	}
}

// A direction whose reader stops holds what its buffers and its pipe hold, and no more.
//
// proves A-SBX-05
func TestASlowReaderHoldsABoundedAmount(t *testing.T) {
	f := New(Options{Audit: &journal{room: -1}})
	source, from := pair(t)
	to, sink := pair(t)
	narrow(from)
	narrow(to)
	sink.SetReadBuffer(4096)
	ended := make(chan struct{})
	go func() { defer close(ended); f.pipe(to, from) }()
	source.SetWriteBuffer(4096)
	taken := 0
	for source.SetWriteDeadline(soon()); ; source.SetWriteDeadline(soon()) {
		n, err := source.Write(make([]byte, 16<<10))
		taken += n
		if err != nil {
			break
		}
		if taken > 64<<20 {
			t.Fatal("it takes everything")
		}
	}
	if most := 4*(2*wideBuffer) + widePipe; taken > most {
		t.Errorf("%d bytes were taken for somebody who reads nothing, want at most %d", taken, most)
	}
	source.Close()
	sink.Close()
	<-ended
}

func soon() time.Time { return time.Now().Add(300 * time.Millisecond) }
