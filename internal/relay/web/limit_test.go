package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/relay/uicontract"
)

// raw sends a request's text and returns the answer.
func (e *endpoint) raw(t *testing.T, text string) *http.Response {
	t.Helper()
	c, err := net.Dial("tcp", e.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// proves R-UI-01
func TestOptionsOfTheServerFollowTheRules(t *testing.T) {
	e := start(t, Options{})
	for text, want := range map[string]int{
		"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n":                                               403,
		"OPTIONS * HTTP/1.1\r\nHost: " + e.Addr().String() + "\r\nOrigin: http://evil.example\r\n\r\n":   403,
		"OPTIONS * HTTP/1.1\r\nHost: " + e.Addr().String() + "\r\n\r\n":                                  404,
		"OPTIONS * HTTP/1.1\r\nHost: " + e.Addr().String() + "\r\nOrigin: " + e.origin + "\r\n\r\n":      404,
		"OPTIONS / HTTP/1.1\r\nHost: " + e.Addr().String() + "\r\nOrigin: http://evil.example:1\r\n\r\n": 403,
	} {
		resp := e.raw(t, text)
		if resp.StatusCode != want || resp.Header.Get("Content-Security-Policy") != contentPolicy || resp.Header.Get("Allow") != "" {
			t.Errorf("%q: %d, %v", text, resp.StatusCode, resp.Header)
		}
	}
}

// A browser names neither in Host nor in Origin the port 80.
//
// proves R-UI-01
func TestPort80(t *testing.T) {
	for address, want := range map[string]struct {
		hosts  []string
		origin string
	}{
		"127.0.0.1:80":  {[]string{"127.0.0.1", "127.0.0.1:80"}, "http://127.0.0.1"},
		"[::1]:80":      {[]string{"[::1]", "[::1]:80"}, "http://[::1]"},
		"127.0.0.1:180": {[]string{"127.0.0.1:180"}, "http://127.0.0.1:180"},
	} {
		hosts, origin := names(address)
		if !slices.Equal(hosts, want.hosts) || origin != want.origin {
			t.Errorf("%s: %q, %q", address, hosts, origin)
		}
	}
	e := start(t, Options{})
	e.hosts, e.origin = names("127.0.0.1:80") // before the first request
	for in, want := range map[[2]string]int{
		{"127.0.0.1", "http://127.0.0.1"}:    200,
		{"127.0.0.1:80", "http://127.0.0.1"}: 200,
		{"127.0.0.1", "http://127.0.0.1:1"}:  403,
		{"127.0.0.1:1", "http://127.0.0.1"}:  403,
		{"localhost", "http://127.0.0.1"}:    403,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = in[0]
		r.Header.Set("Origin", in[1])
		w := httptest.NewRecorder()
		e.http.Handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%v: %d", in, w.Code)
		}
	}
	if !strings.HasPrefix(e.Address(), "http://127.0.0.1/#") {
		t.Error("the address names the port")
	}
}

// queue is a listener whose connections are pipes and wait, as in the system's queue, until they are accepted.
type queue struct {
	waiting  chan net.Conn
	accepted atomic.Int32
	closed   chan struct{}
	once     sync.Once
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.waiting:
		q.accepted.Add(1)
		return c, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

func (q *queue) Close() error {
	q.once.Do(func() { close(q.closed) })
	return nil
}

func (q *queue) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

// dial is the client's end of one more connection.
func (q *queue) dial() net.Conn {
	ours, theirs := net.Pipe()
	q.waiting <- theirs
	return ours
}

// Connections above the limit wait until one ends, by whoever opened it or by the time limit of reading.
//
// proves R-UI-01
func TestConnectionsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const more = 20
		q := &queue{waiting: make(chan net.Conn, maxConnections+more), closed: make(chan struct{})}
		startWith(t, Options{}, func(o Options) (*Server, error) { return serve(t.Context(), q, o), nil })
		var open []net.Conn
		for range maxConnections + more - 1 {
			open = append(open, q.dial())
		}
		last := q.dial()
		expect := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if got := int(q.accepted.Load()); got != want {
				t.Errorf("%s: %d connections were accepted, want %d", when, got, want)
			}
		}
		expect("all at once", maxConnections)
		for i := range 3 {
			open[i].Close()
			expect("one ended", maxConnections+1+i)
		}
		time.Sleep(6 * time.Second)
		expect("after the time limit", maxConnections+more)
		if _, err := io.WriteString(last, "GET / HTTP/1.1\r\nHost: "+q.Addr().String()+"\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(last), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
			t.Errorf("when there is room: %d, %v", resp.StatusCode, err)
		}
	})
}

// Two Authorization headers are none, whichever comes first.
//
// proves R-UI-01
func TestOneAuthorization(t *testing.T) {
	e := start(t, Options{})
	good, bad := "Authorization: Relay "+e.session(t)+"\r\n", "Authorization: Relay x\r\n"
	for headers, want := range map[string]int{good: 200, good + bad: 401, bad + good: 401, good + good: 401} {
		resp := e.raw(t, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nContent-Type: application/json\r\n%s: 1\r\n%sContent-Length: %d\r\nConnection: close\r\n\r\n%s",
			uicontract.PathCommand, e.Addr(), e.origin, uicontract.Header, headers, len(reconnect), reconnect))
		if resp.StatusCode != want {
			t.Errorf("%d headers: %d, want %d", strings.Count(headers, "Auth"), resp.StatusCode, want)
		}
	}
	if n := e.backend.executed.Load(); n != 1 {
		t.Errorf("%d commands were executed", n)
	}
}

// What net/http reports may quote a request; the log has a fixed text.
//
// proves R-LOG-01
func TestServerErrorsQuoteNothing(t *testing.T) {
	e := start(t, Options{})
	e.http.ErrorLog.Printf("http: panic serving %s: %s", "canary-client", "canary-text")
	if log := e.log.String(); strings.Contains(log, "canary") || !strings.Contains(log, "the HTTP server reported an error") {
		t.Errorf("the log: %s", log)
	}
}
