package transport

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"sekisho/internal/fault"
)

// closeWait bounds the farewell of a WebSocket: a server that does not answer it is left.
const closeWait = 2 * time.Second

// Dial connects once. The token is read from its file now and sent in the handshake only.
//
// Errors: connection.endpoint, connection.token_file, connection.ca_file (Config), connection.unauthorized (Auth),
// connection.certificate (TLS), connection.unreachable (Transient), connection.handshake (Config, or Transient when the
// server says that it is not ready), Cancelled.
func Dial(ctx context.Context, e Endpoint) (Conn, error) { return dial(ctx, e, nil) }

// dial is Dial over connect, or over TCP when it is nil.
func dial(ctx context.Context, e Endpoint, connect func(context.Context, string, string) (net.Conn, error)) (Conn, error) {
	t, err := e.target()
	if err != nil {
		return nil, err
	}
	if connect == nil {
		connect = t.dialer()
	}
	c := &wsConn{log: logger(e.Log), limits: e.Limits.withDefaults(), timing: e.Timing.withDefaults(), end: newEnding(), turn: newTurn()}
	client, err := e.client(t, func(ctx context.Context, network, addr string) (net.Conn, error) {
		raw, err := connect(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c.wire = newWire(raw)
		return c.wire, nil
	})
	if err != nil {
		return nil, err
	}
	header := http.Header{"User-Agent": {"relaycodex"}}
	secret, err := e.token()
	if err != nil {
		return nil, err
	}
	if !secret.Empty() {
		header.Set("Authorization", "Bearer "+secret.Reveal())
	}
	limited, cancel := context.WithTimeout(ctx, c.timing.Handshake)
	defer cancel()
	ws, resp, err := websocket.Dial(limited, t.url.String(), &websocket.DialOptions{HTTPClient: client, HTTPHeader: header})
	if err != nil {
		client.CloseIdleConnections()
		return nil, dialError(ctx, limited, t, resp, err)
	}
	ws.SetReadLimit(c.limits.Inbound)
	c.ws = ws
	c.tasks.Go(c.watch)
	c.log.Info("connected", "transport", WebSocket, "host", t.url.Host)
	return c, nil
}

// wsConn is a Conn over a WebSocket.
type wsConn struct {
	log    *slog.Logger
	limits Limits
	timing Timing
	ws     *websocket.Conn
	wire   *wire
	end    *ending
	turn   turn
	tasks  sync.WaitGroup
	closed sync.Once
}

// Kind implements Conn.
func (c *wsConn) Kind() Kind { return WebSocket }

// Read implements Conn.
func (c *wsConn) Read(ctx context.Context) ([]byte, error) {
	kind, data, err := c.ws.Read(ctx)
	if err != nil {
		return nil, c.stop(c.readError(ctx, err))
	}
	if kind != websocket.MessageText {
		return nil, c.stop(fail(Config, fault.ConnectionProtocol, fault.Arg("detail", "binary message")))
	}
	return data, nil
}

// Write implements Conn.
func (c *wsConn) Write(ctx context.Context, frame []byte) (bool, error) {
	if err := c.limits.gate(frame); err != nil {
		return false, err
	}
	if err := c.turn.take(ctx, c.end); err != nil {
		return false, err
	}
	defer c.turn.done()
	before := c.wire.sent()
	defer time.AfterFunc(c.timing.Write, func() { c.stop(lost("silent")) }).Stop()
	err := c.ws.Write(context.Background(), websocket.MessageText, frame)
	if err == nil {
		return true, nil
	}
	reason := c.end.as(lost("", fault.Cause(networkCause(err))))
	// A ping in between counts as if it were ours: proof or nothing.
	return c.wire.seal() != before, reason
}

// Close implements Conn.
func (c *wsConn) Close(reason Reason) error {
	c.closed.Do(func() {
		c.end.as(cancelled(errors.New(string(reason))))
		c.log.Info("disconnected", "transport", WebSocket, "reason", string(reason))
		defer time.AfterFunc(closeWait, func() { c.wire.seal() }).Stop()
		code := websocket.StatusNormalClosure
		switch reason {
		case ShuttingDown:
			code = websocket.StatusGoingAway
		case BadPeer:
			code = websocket.StatusProtocolError
		}
		c.ws.Close(code, "") // how the farewell went changes nothing: the wire is sealed
		c.wire.seal()
		c.tasks.Wait()
	})
	return nil
}

// stop ends the connection for err, or returns the reason for which it ended already.
func (c *wsConn) stop(err *Error) *Error {
	reason := c.end.as(err)
	c.wire.seal()
	return reason
}

// watch notices a server that is there no more: after a silence it must answer a ping (cases 26: half-open connections).
// Bytes of any frame are a sign of life; a frame that is being written has its own limit.
func (c *wsConn) watch() {
	seen := c.wire.received.Load()
	timer := time.NewTimer(c.timing.Ping)
	defer timer.Stop()
	for {
		select {
		case <-c.end.over:
			return
		case <-timer.C:
		}
		if c.wire.received.Load() == seen && !c.ping() && c.wire.received.Load() == seen && !c.turn.busy() {
			c.log.Warn("no sign of life", "transport", WebSocket)
			c.stop(lost("silent"))
			return
		}
		seen = c.wire.received.Load()
		timer.Reset(c.timing.Ping)
	}
}

func (c *wsConn) ping() bool {
	ctx, cancel := context.WithTimeout(context.Background(), c.timing.Pong)
	defer cancel()
	over := make(chan struct{})
	defer close(over)
	c.tasks.Go(func() {
		select {
		case <-c.end.over:
			cancel()
		case <-over:
		}
	})
	return c.ws.Ping(ctx) == nil
}
