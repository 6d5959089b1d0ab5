package httpd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// proves A-MCP-05
func TestRefusedBodiesAreNotWaitedFor(t *testing.T) {
	h := open(t, nil)
	for status, text := range map[int]string{
		403: strings.Replace(head, "127.0.0.1:PORT", "evil.example", 1) + "Content-Length: 1000\r\n\r\n",
		405: strings.Replace(head, "POST", "GET", 1) + "Content-Length: 1000\r\n\r\n",
		413: head + "Content-Length: 99999999999\r\n\r\n",
		415: strings.Replace(head, "application/json", "text/plain", 1) + "Transfer-Encoding: chunked\r\n\r\n",
		404: strings.Replace(head, "/mcp", "/", 1) + "Expect: 100-continue\r\nContent-Length: 10\r\n\r\n",
	} {
		c := h.dial(t)
		io.WriteString(c, strings.ReplaceAll(text, "PORT", fmt.Sprint(h.port())))
		r := bufio.NewReader(c)
		if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != status {
			t.Errorf("%d: %v, %v", status, resp, err)
		}
	}
	answer := h.raw(t, head+"Expect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
	if !strings.HasPrefix(answer, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ") {
		t.Errorf("the control: %q", answer)
	}
}

// A client that sends its head, its body or its next request too slowly, or does not read, loses its connection; every place
// is free again afterwards.
//
// proves A-MCP-05
func TestSlowClientsLoseTheirConnection(t *testing.T) {
	// Only what is tested is short: the rest may take its time on a slow machine. A body has what is left of the time for the head, too.
	const short, roomy, long = 50 * time.Millisecond, 2 * time.Second, time.Minute
	for name, c := range map[string]struct {
		text, want string
		times      times
	}{
		"nothing":         {"", "", times{short, long, long, long}},
		"half a line":     {"POST /mc", "", times{short, long, long, long}},
		"half a head":     {head + "X: ", "", times{short, long, long, long}},
		"half a body":     {head + "Content-Length: 10\r\n\r\n{", "HTTP/1.1 408 ", times{roomy, short, long, long}},
		"half a chunk":    {head + "Transfer-Encoding: chunked\r\n\r\na\r\n{", "HTTP/1.1 408 ", times{roomy, short, long, long}},
		"no next request": {head + "Content-Length: 2\r\n\r\n{}", "HTTP/1.1 200 ", times{long, long, long, short}},
	} {
		h := open(t, func(cfg *Config) { cfg.times = c.times })
		var all []net.Conn
		for range MaxConnections { // every place
			conn := h.dial(t)
			conn.Write([]byte(strings.ReplaceAll(c.text, "PORT", fmt.Sprint(h.port()))))
			all = append(all, conn)
		}
		for i, conn := range all { // each ends, or the test's own deadline does
			if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), c.want) {
				t.Errorf("%s, connection %d: %q, %v; want %q", name, i, answer, err, c.want)
			}
		}
		for { // the server sees the end of the last one a little later
			if answer := h.raw(t, good); strings.HasPrefix(answer, "HTTP/1.1 200 ") {
				break
			}
		}
	}
}

// proves A-MCP-05
func TestAnswersThatAreNotReadEndTheConnection(t *testing.T) {
	recorded := make(chan Record, 1) // when the answer was given up
	h := open(t, func(c *Config) {
		c.times = times{header: 50 * time.Millisecond, body: 50 * time.Millisecond, answer: 50 * time.Millisecond, idle: time.Minute}
		c.Answer = large{}
		c.Record = func(r Record) { recorded <- r }
	})
	c := h.dial(t)
	io.WriteString(c, strings.ReplaceAll(good, "PORT", fmt.Sprint(h.port())))
	if r := <-recorded; r.Out >= largeAnswer {
		t.Errorf("recorded %+v", r)
	}
}

const largeAnswer = 64 << 20

type large struct{}

func (large) Answer(w http.ResponseWriter, _ *http.Request, _ []byte) Routing {
	part := make([]byte, 1<<20)
	for range largeAnswer / len(part) {
		if _, err := w.Write(part); err != nil {
			break
		}
	}
	return Routing{}
}

// A client that goes away cancels nothing, and a stop waits for the answer.
//
// proves A-MCP-05, A-STOP-01
func TestRequestsAreFinishedWhenTheClientOrTheServerGoes(t *testing.T) {
	h := open(t, nil)
	h.hold, h.entered = make(chan struct{}), make(chan struct{}, 2)
	gone := h.dial(t)
	io.WriteString(gone, strings.ReplaceAll(good, "PORT", fmt.Sprint(h.port())))
	<-h.entered
	gone.Close()
	stays := h.dial(t)
	io.WriteString(stays, strings.ReplaceAll(good, "PORT", fmt.Sprint(h.port())))
	<-h.entered
	stopped := make(chan error, 1)
	go func() { stopped <- h.Shutdown(context.Background()) }()
	for { // the port is closed first
		c, err := net.Dial("tcp", h.listener.Addr().String())
		if err != nil {
			break
		}
		c.Close()
	}
	select {
	case err := <-stopped:
		t.Errorf("the stop did not wait: %v", err)
	default:
	}
	close(h.hold)
	if answer, err := io.ReadAll(stays); err != nil || !strings.Contains(string(answer), "took 2, context <nil>") {
		t.Errorf("%q, %v", answer, err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	for _, err := range h.ended {
		if err != nil {
			t.Errorf("a request's context: %v", err)
		}
	}
	for _, r := range h.recorded() {
		if r.Status != 200 || r.Method != "ping" || r.In != 2 || r.Endpoint != Path || r.Verb != "POST" {
			t.Errorf("recorded %+v", r)
		}
	}
	if n := len(h.recorded()); n != 2 {
		t.Errorf("%d records", n)
	}
}
