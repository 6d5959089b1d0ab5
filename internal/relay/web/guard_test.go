package web

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"sekisho/internal/relay/uicontract"
)

const reconnect = `{"version":1,"operation":"a","kind":"reconnect"}`

// report 48, 49
// proves R-UI-01, R-UI-03, R-UI-04
func TestRules(t *testing.T) {
	e := start(t, Options{})
	session := e.session(t)
	port := e.Addr().Port()
	with := func(changes ...string) map[string]string {
		h := e.postHeader(session)
		for i := 0; i < len(changes); i += 2 {
			h[changes[i]] = changes[i+1]
		}
		return h
	}
	stream := func(changes ...string) map[string]string {
		h := map[string]string{"Authorization": "Relay " + session, "Sec-Fetch-Site": "same-origin", uicontract.Header: "1"}
		for i := 0; i < len(changes); i += 2 {
			h[changes[i]] = changes[i+1]
		}
		return h
	}
	command := func(h map[string]string) request {
		return request{method: "POST", path: uicontract.PathCommand, body: reconnect, header: h}
	}
	listen := func(h map[string]string) request {
		return request{method: "GET", path: uicontract.PathStream, header: h}
	}
	evil := "evil.example:" + strconv.Itoa(int(port))
	tests := []struct {
		name   string
		in     request
		status int
		rule   string
	}{
		{"page", request{method: "GET", path: "/"}, 200, ""},
		{"page with our origin", request{method: "GET", path: "/", header: map[string]string{"Origin": e.origin}}, 200, ""},
		{"page, rebinding", request{method: "GET", path: "/", host: evil, header: map[string]string{"Origin": "http://" + evil}}, 403, "host"},
		{"page, localhost", request{method: "GET", path: "/", host: "localhost:" + strconv.Itoa(int(port))}, 403, "host"},
		{"page, no port", request{method: "GET", path: "/", host: "127.0.0.1"}, 403, "host"},
		{"page, other port", request{method: "GET", path: "/", host: "127.0.0.1:1"}, 403, "host"},
		{"page, foreign origin", request{method: "GET", path: "/", header: map[string]string{"Origin": "http://" + evil}}, 403, "origin"},
		{"page, null origin", request{method: "GET", path: "/", header: map[string]string{"Origin": "null"}}, 403, "origin"},
		{"page, post", request{method: "POST", path: "/"}, 405, "method"},
		{"nothing there", request{method: "GET", path: "/secret"}, 404, "not_found"},
		{"nothing there, rebinding", request{method: "GET", path: "/secret", host: evil}, 403, "host"},

		{"command", command(with()), 200, ""},
		{"command, rebinding", request{method: "POST", path: uicontract.PathCommand, host: evil, body: reconnect, header: with("Origin", "http://"+evil)}, 403, "host"},
		{"command, no origin", command(with("Origin", "")), 403, "origin"},
		{"command, other port's origin", command(with("Origin", "http://127.0.0.1:1")), 403, "origin"},
		{"command, https origin", command(with("Origin", "https://"+e.hosts[0])), 403, "origin"},
		{"command, form type", command(with("Content-Type", "application/x-www-form-urlencoded")), 415, "content_type"},
		{"command, text type", command(with("Content-Type", "text/plain")), 415, "content_type"},
		{"command, charset", command(with("Content-Type", "application/json; charset=UTF-8")), 200, ""},
		{"command, other charset", command(with("Content-Type", "application/json; charset=utf-7")), 415, "content_type"},
		{"command, no header", command(with(uicontract.Header, "")), 409, "version"},
		{"command, other version", command(with(uicontract.Header, "2")), 409, "version"},
		{"command, no key", command(with("Authorization", "")), 401, "key"},
		{"command, other scheme", command(with("Authorization", "Bearer "+session)), 401, "key"},
		{"command, wrong key", command(with("Authorization", "Relay "+session[1:]+"A")), 401, "key"},
		{"command, key as cookie", command(with("Authorization", "", "Cookie", "relay="+session)), 401, "key"},
		{"command, one-time key as session", command(with("Authorization", "Relay "+e.oneTimeKey(t))), 401, "key"},
		{"command, get", request{method: "GET", path: uicontract.PathCommand, header: with()}, 405, "method"},
		{"command, preflight", request{method: "OPTIONS", path: uicontract.PathCommand, header: map[string]string{"Origin": e.origin}}, 405, "method"},
		{"command, key in the query", request{method: "POST", path: uicontract.PathCommand + "?key=" + session, body: reconnect, header: with("Authorization", "")}, 401, "key"},
		{"command, no command", request{method: "POST", path: uicontract.PathCommand, body: `{"version":1}`, header: with()}, 400, "command"},
		{"command, other version inside", request{method: "POST", path: uicontract.PathCommand, body: `{"version":2}`, header: with()}, 409, "version"},
		{"command, too large", request{method: "POST", path: uicontract.PathCommand, body: strings.Repeat(" ", uicontract.MaxCommand+1), header: with()}, 413, "too_large"},

		{"exchange, no origin", request{method: "POST", path: uicontract.PathSession, body: "{}"}, 403, "origin"},
		{"exchange, get", request{method: "GET", path: uicontract.PathSession}, 405, "method"},
		{"exchange, too large", request{method: "POST", path: uicontract.PathSession, body: strings.Repeat(" ", 5<<10), header: e.postHeader("")}, 413, "too_large"},
		{"exchange, guess", e.exchangeRequest(strings.Repeat("A", 43)), 401, "key"},
		{"exchange, empty", e.exchangeRequest(""), 401, "key"},

		{"stream, cross-site", listen(stream("Sec-Fetch-Site", "cross-site")), 403, "fetch_site"},
		{"stream, same site", listen(stream("Sec-Fetch-Site", "same-site")), 403, "fetch_site"},
		{"stream, no fetch metadata", listen(stream("Sec-Fetch-Site", "")), 403, "fetch_site"},
		{"stream, foreign origin", listen(stream("Origin", "http://"+evil)), 403, "origin"},
		{"stream, no key", listen(stream("Authorization", "")), 401, "key"},
		{"stream, other version", listen(stream(uicontract.Header, "0")), 409, "version"},
		{"stream, post", request{method: "POST", path: uicontract.PathStream, header: stream("Origin", e.origin)}, 405, "method"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := e.backend.executed.Load()
			resp := e.do(t, tt.in)
			if resp.StatusCode != tt.status {
				t.Fatalf("status %d, want %d", resp.StatusCode, tt.status) // a stream that was let in has no end to read to
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]string{"Content-Security-Policy": contentPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store"} {
				if got := resp.Header.Get(name); got != want {
					t.Errorf("%s: %q", name, got)
				}
			}
			for _, name := range []string{"Set-Cookie", "Access-Control-Allow-Origin"} {
				if v := resp.Header.Values(name); v != nil {
					t.Errorf("%s: %q", name, v)
				}
			}
			var refusal uicontract.Refusal
			if tt.rule != "" {
				if err := json.Unmarshal(body, &refusal); err != nil || refusal.Problem.Variant != tt.rule || refusal.Problem.Text == "" {
					t.Errorf("refused with %q, want rule %s (%v)", body, tt.rule, err)
				}
				if got := e.backend.executed.Load(); got != before {
					t.Error("a refused request was executed")
				}
			}
		})
	}
	// proves R-LOG-01, R-PRI-07
	if strings.Contains(e.log.String(), session) {
		t.Error("the session key is in the log")
	}
}

// A request line with another host than the header's, and a request without any host.
//
// report 49
// proves R-UI-01
func TestRawHosts(t *testing.T) {
	e := start(t, Options{})
	for name, text := range map[string]string{
		"absolute form": "GET http://%[1]s/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
		"no host":       "GET / HTTP/1.0\r\n\r\n",
		"two hosts":     "GET / HTTP/1.1\r\nHost: %[1]s\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
		"two origins":   "GET / HTTP/1.1\r\nHost: %[1]s\r\nOrigin: http://%[1]s\r\nOrigin: http://evil\r\nConnection: close\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", e.hosts[0])
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if strings.Contains(text, "%[1]s") {
				text = fmt.Sprintf(text, e.hosts[0])
			}
			if _, err := io.WriteString(c, text); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != 403 && resp.StatusCode != 400 {
				t.Errorf("status %d", resp.StatusCode)
			}
		})
	}
}
