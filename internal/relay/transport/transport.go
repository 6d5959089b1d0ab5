// Package transport carries JSON-RPC frames between the worker and one app-server: a supervised child over stdio, or a
// WebSocket (R-CONN-01). It knows bytes, limits and how a connection ends; what a frame means is the business of rpc.
//
// Threats: the server's bytes are untrusted (bounded before they are kept), the network is hostile (certificates are always
// verified, plain ws only reaches loopback), and the bearer token must not leave the handshake (R-PRI-07). A child must not
// outlive the worker (R-CONN-10): see StartChild.
//
// Lock order: a connection's write turn, then its wire counter. Neither is held while a caller is waited for.
package transport

import (
	"context"
	"time"
)

// Kind names how a connection carries frames.
type Kind string

// The kinds of R-CONN-01.
const (
	Stdio     Kind = "stdio"
	WebSocket Kind = "ws"
)

// Conn is one connection. It is used once: after the first failed Read or Write, or after Close, it never works again.
// A frame is one JSON-RPC message as UTF-8 text without a line feed.
//
// Every error is an *Error with a code for people and a Class for recovery.
type Conn interface {
	// Read returns the next frame, which becomes the caller's. One caller at a time; it must be called again and again
	// without waiting for anyone, because a connection that is not read is taken for dead. Frames that arrived before
	// the end are all returned before the error. A frame above Limits.Inbound ends the connection with
	// connection.inbound_too_large. When ctx ends during Read, the connection ends too.
	Read(ctx context.Context) ([]byte, error)

	// Write hands one frame over. It is safe for concurrent use; frames are never interleaved.
	//
	// started is false only with proof that not one byte of the frame was handed over to the operating system, nor ever
	// will be; it is true after success, after a partial write, and whenever that cannot be told (R-REC-07). A frame above
	// Limits.Outbound is refused with connection.outbound_too_large, nothing sent, and the connection stays usable; so it
	// does when ctx ends before the frame's turn came. From its first byte on a frame is written without regard to ctx,
	// for at most Timing.Write: a cut frame would end the connection.
	Write(ctx context.Context, frame []byte) (started bool, err error)

	// Close ends the connection and waits until nothing of it runs any more; for a child, until the child and all its
	// descendants have ended. The second call waits for the first and returns the same. Read then fails with class
	// Cancelled.
	Close(reason Reason) error

	// Kind tells how frames are carried.
	Kind() Kind
}

// Reason is why this side closes a connection; it is logged, and a WebSocket server sees the matching close code.
type Reason string

// Reasons of Close.
const (
	ByUser       Reason = "closed by the user"
	Replaced     Reason = "replaced by a new connection"
	ShuttingDown Reason = "the worker is stopping"
	BadPeer      Reason = "the server broke the protocol"
)

// Limits bounds frames, in bytes. Zero members take the defaults.
type Limits struct {
	Inbound  int64 // largest frame accepted; default 64 MiB
	Outbound int   // largest frame sent; default MaxOutbound, never above it
}

// The real server closes a connection without a word for a frame of 16 MiB and sends frames of 40 MiB itself.
const (
	MaxOutbound    = 16<<20 - 64<<10
	DefaultInbound = 64 << 20
)

func (l Limits) withDefaults() Limits {
	if l.Inbound <= 0 {
		l.Inbound = DefaultInbound
	}
	if l.Outbound <= 0 || l.Outbound > MaxOutbound {
		l.Outbound = MaxOutbound
	}
	return l
}

// Timing bounds how long a connection may stay silent. Zero members take the defaults.
type Timing struct {
	Handshake time.Duration // TCP, TLS and upgrade together; default 15 s
	Ping      time.Duration // WebSocket: silence after which a ping is sent; default 15 s
	Pong      time.Duration // WebSocket: further silence after which the connection is lost; default 10 s
	Write     time.Duration // for one frame; default 30 s
}

func (t Timing) withDefaults() Timing {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&t.Handshake, 15*time.Second)
	set(&t.Ping, 15*time.Second)
	set(&t.Pong, 10*time.Second)
	set(&t.Write, 30*time.Second)
	return t
}
