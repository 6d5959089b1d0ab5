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
	"testing"
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

// proves R-UI-01
func TestConnectionsAreLimited(t *testing.T) {
	e := start(t, Options{})
	places := e.listener.(*limited).places
	var open []net.Conn
	for range maxConnections + 20 {
		c, err := net.Dial("tcp", e.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "GET / HTTP/1.1\r\n")
		open = append(open, c)
	}
	for limit := time.After(5 * time.Second); len(places) < maxConnections; {
		select {
		case <-limit:
			t.Fatalf("%d places are taken", len(places))
		case <-time.After(time.Millisecond):
		}
	}
	answered := make(chan int, 1)
	go func() {
		resp, err := http.Get(e.origin + "/")
		if err != nil {
			answered <- 0
			return
		}
		resp.Body.Close()
		answered <- resp.StatusCode
	}()
	select {
	case got := <-answered:
		t.Errorf("one more was answered: %d", got)
	case <-time.After(100 * time.Millisecond):
	}
	for _, c := range open {
		c.Close()
	}
	if got := <-answered; got != 200 {
		t.Errorf("when there is room: %d", got)
	}
	http.DefaultClient.CloseIdleConnections()
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
