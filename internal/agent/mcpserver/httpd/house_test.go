package httpd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// inside answers every admitted request with its size, and remembers it.
type inside struct {
	mu     sync.Mutex
	bodies []int
	ended  []error // of the requests' contexts, when they were answered
	// hold, when set, is waited for inside; entered gets a token before.
	hold, entered chan struct{}
}

func (i *inside) Answer(w http.ResponseWriter, r *http.Request, body []byte) Routing {
	i.mu.Lock()
	i.bodies = append(i.bodies, len(body))
	i.mu.Unlock()
	if i.hold != nil {
		i.entered <- struct{}{}
		<-i.hold
	}
	i.mu.Lock()
	i.ended = append(i.ended, r.Context().Err())
	i.mu.Unlock()
	fmt.Fprintf(w, "took %d, context %v", len(body), r.Context().Err())
	return Routing{Method: "ping"}
}

func (i *inside) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.bodies)
}

// house is a running server and what it recorded.
type house struct {
	*Server
	*inside
	mu      sync.Mutex
	records []Record
	log     *bytes.Buffer
	idle    chan struct{} // a token for each connection that begins to wait for its next request, as long as they fit
}

// open starts a server on a port of its own; change may alter its configuration.
func open(t *testing.T, change func(*Config)) *house {
	t.Helper()
	h := &house{inside: &inside{}, log: &bytes.Buffer{}, idle: make(chan struct{}, MaxConnections)}
	c := Config{Addr: netip.MustParseAddrPort("127.0.0.1:0"), Answer: h.inside, Owner: func(*net.TCPConn) (int, error) { return 7, nil }, Self: 7,
		Record: func(r Record) { h.mu.Lock(); h.records = append(h.records, r); h.mu.Unlock() },
		Log:    slog.New(slog.NewTextHandler(h.log, nil))}
	if change != nil {
		change(&c)
	}
	var err error
	if h.Server, err = Listen(c); err != nil {
		t.Fatal(err)
	}
	note := h.http.ConnState
	h.http.ConnState = func(c net.Conn, s http.ConnState) {
		note(c, s)
		if s == http.StateIdle {
			select {
			case h.idle <- struct{}{}:
			default:
			}
		}
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve() }()
	t.Cleanup(func() {
		// Not Close: the HTTP library's goroutines outlive that a little.
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(h.Shutdown(ctx), <-served); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *house) recorded() []Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Record(nil), h.records...)
}

func (h *house) port() int { return h.listener.Addr().(*net.TCPAddr).Port }

func (h *house) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", h.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second)) // only against a hang of the test
	return c
}

// raw sends bytes as they are, with PORT replaced, and returns everything that comes back until the server closes.
func (h *house) raw(t *testing.T, text string) string {
	t.Helper()
	c := h.dial(t)
	if _, err := io.WriteString(c, strings.ReplaceAll(text, "PORT", fmt.Sprint(h.port()))); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("%q, then %v", answer, err)
	}
	return string(answer)
}

const head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\n"

// good is a complete request on a connection that ends after it.
const good = head + "Connection: close\r\nContent-Length: 2\r\n\r\n{}"
