package httpd

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// maxRefusals is how many refused connections are told so at a time; further ones are only closed.
	maxRefusals = 16
	// refusalTime bounds how long a refused peer may take to read its answer.
	refusalTime = time.Second
	// refusalDrain is how much of what it sent is thrown away, so that the kernel does not reset the connection under the
	// answer.
	refusalDrain = 64 << 10
)

// Answers to connections that never become requests.
const (
	foreign = "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 62\r\n\r\n" +
		"This server answers only processes of the user who started it\n"
	crowded = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 22\r\n\r\n" +
		"Too many connections.\n"
)

// listener accepts connections of this user only, and at most MaxConnections at a time. A connection that waits for its next
// request makes room for a new one.
type listener struct {
	*net.TCPListener
	config Config

	refusals chan struct{} // one token each
	tellers  sync.WaitGroup

	mu   sync.Mutex
	live map[*conn]time.Time // since when it is idle; the zero time is not idle
}

// conn is an admitted connection.
type conn struct {
	*net.TCPConn
	l *listener
}

func newListener(l *net.TCPListener, c Config) *listener {
	return &listener{TCPListener: l, config: c, refusals: make(chan struct{}, maxRefusals), live: map[*conn]time.Time{}}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		tcp, err := l.AcceptTCP()
		if err != nil {
			return nil, err
		}
		uid, err := l.config.Owner(tcp)
		if err != nil || uid != l.config.Self {
			l.refuse(tcp, http.StatusForbidden, "peer", foreign)
			continue
		}
		c := &conn{TCPConn: tcp, l: l}
		if !l.admit(c) {
			l.refuse(tcp, http.StatusServiceUnavailable, "connections", crowded)
			continue
		}
		return c, nil
	}
}

func (l *listener) admit(c *conn) bool {
	l.mu.Lock()
	var oldest *conn
	if len(l.live) >= MaxConnections {
		for other, since := range l.live {
			if !since.IsZero() && (oldest == nil || since.Before(l.live[oldest])) {
				oldest = other
			}
		}
		if oldest == nil {
			l.mu.Unlock()
			return false
		}
		delete(l.live, oldest)
	}
	l.live[c] = time.Time{}
	l.mu.Unlock()
	if oldest != nil {
		oldest.TCPConn.Close()
	}
	return true
}

// state is the HTTP server's hook.
func (l *listener) state(nc net.Conn, s http.ConnState) {
	c, ok := nc.(*conn)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.live[c]; !ok {
		return
	}
	switch s {
	case http.StateIdle:
		l.live[c] = time.Now()
	case http.StateActive:
		l.live[c] = time.Time{}
	}
}

// Close ends the connection and gives its place free.
func (c *conn) Close() error {
	c.l.mu.Lock()
	delete(c.l.live, c)
	c.l.mu.Unlock()
	return c.TCPConn.Close()
}

// refuse tells a peer why it is not served. What it sends is not parsed, only waited for: HTTP clients take an answer that
// comes before their request for an error.
func (l *listener) refuse(c *net.TCPConn, status int, reason, answer string) {
	l.config.Record(Record{Time: time.Now(), Verb: "other", Endpoint: "other", Status: status, Routing: Routing{Reason: reason}})
	select {
	case l.refusals <- struct{}{}:
	default:
		c.SetLinger(0)
		c.Close()
		return
	}
	l.tellers.Go(func() {
		defer func() { <-l.refusals }()
		defer c.Close()
		c.SetDeadline(time.Now().Add(refusalTime))
		skipHead(c)
		c.SetDeadline(time.Now().Add(refusalTime))
		if _, err := io.WriteString(c, answer); err == nil && c.CloseWrite() == nil {
			io.CopyN(io.Discard, c, refusalDrain)
		}
	})
}

// skipHead throws away what looks like the head of a request.
func skipHead(r io.Reader) {
	buf := make([]byte, maxHeader)
	for n := 0; n < len(buf); {
		m, err := r.Read(buf[n:])
		n += m
		if err != nil || bytes.Contains(buf[:n], []byte("\r\n\r\n")) {
			return
		}
	}
}

// wait returns when no refused connection is left.
func (l *listener) wait() { l.tellers.Wait() }
