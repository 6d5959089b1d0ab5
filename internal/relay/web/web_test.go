package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sekisho/config"
	"sekisho/internal/fault"
	"sekisho/internal/locale"
	"sekisho/internal/relay/uicontract"
)

// backend answers every command, and streams what the test puts in.
type backend struct {
	executed atomic.Int32
	attached chan string
	batches  chan string
}

func (b *backend) Execute(_ context.Context, c uicontract.Command, _ any) uicontract.Result {
	b.executed.Add(1)
	if c.Operation == "panic" {
		panic("canary-panic")
	}
	if c.Kind == uicontract.CmdSnapshot {
		return uicontract.Result{Version: uicontract.Version, Operation: c.Operation, Status: uicontract.Done, Value: []byte(`{"id":"e-1"}`)}
	}
	return uicontract.Result{Version: uicontract.Version, Operation: c.Operation, Status: uicontract.Done}
}

func (b *backend) Attach(last string) Stream {
	b.attached <- last
	return b
}

func (b *backend) Next(ctx context.Context) (string, []byte, error) {
	select {
	case data := <-b.batches:
		return "e-1", []byte(data), nil
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
}

// lockedBuffer is a log that the test reads while the server writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

type endpoint struct {
	*Server
	backend *backend
	log     *lockedBuffer
}

func start(t *testing.T, o Options) *endpoint {
	t.Helper()
	english, err := locale.Parse(shipped.English())
	if err != nil {
		t.Fatal(err)
	}
	e := &endpoint{backend: &backend{attached: make(chan string, 8), batches: make(chan string, 8)}, log: &lockedBuffer{}}
	o.Backend, o.Texts = e.backend, locale.New(locale.English, english, english)
	o.Log = slog.New(slog.NewTextHandler(e.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	e.Server, err = Listen(t.Context(), "127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return e
}

// request is one HTTP request as a browser would make it, or not.
type request struct {
	method, path, host, body string
	header                   map[string]string // "" removes
}

func (e *endpoint) do(t *testing.T, r request) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.method, e.origin+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	if r.host != "" {
		req.Host = r.host
	}
	for k, v := range r.header {
		if v != "" {
			req.Header.Set(k, v)
		}
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (e *endpoint) oneTimeKey(t *testing.T) string {
	t.Helper()
	_, key, ok := strings.Cut(e.Address(), "/#")
	if !ok || len(key) != 43 {
		t.Fatalf("a key of %d characters", len(key))
	}
	return key
}

func (e *endpoint) exchangeRequest(key string) request {
	return request{method: "POST", path: uicontract.PathSession, body: fmt.Sprintf(`{"version":1,"key":%q}`, key), header: e.postHeader("")}
}

func (e *endpoint) postHeader(session string) map[string]string {
	h := map[string]string{"Origin": e.origin, "Content-Type": "application/json", uicontract.Header: "1"}
	if session != "" {
		h["Authorization"] = "Relay " + session
	}
	return h
}

func (e *endpoint) session(t *testing.T) string {
	t.Helper()
	resp := e.do(t, e.exchangeRequest(e.oneTimeKey(t)))
	var granted uicontract.SessionGranted
	if err := json.NewDecoder(resp.Body).Decode(&granted); err != nil || resp.StatusCode != 200 || len(granted.Session) != 43 {
		t.Fatalf("exchange: %d, %v", resp.StatusCode, err)
	}
	return granted.Session
}

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

// proves R-UI-01
func TestKeyIsExchangedOnce(t *testing.T) {
	e := start(t, Options{})
	key := e.oneTimeKey(t)
	var granted atomic.Int32
	var race sync.WaitGroup
	for range 16 {
		race.Go(func() {
			if e.do(t, e.exchangeRequest(key)).StatusCode == 200 {
				granted.Add(1)
			}
		})
	}
	race.Wait()
	if granted.Load() != 1 {
		t.Errorf("granted %d times", granted.Load())
	}
	if strings.Contains(e.log.String(), key) {
		t.Error("the one-time key is in the log")
	}
}

// proves R-UI-01
func TestKeyExpires(t *testing.T) {
	now := time.Unix(1000, 0)
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	k := newKeys(10*time.Minute, clock)
	for _, tt := range []struct {
		after time.Duration
		ok    bool
	}{{10*time.Minute - 1, true}, {10 * time.Minute, false}} {
		key := k.issue()
		now = now.Add(tt.after)
		if _, ok := k.exchange(key); ok != tt.ok {
			t.Errorf("after %v: %v", tt.after, ok)
		}
	}
	key := k.issue()
	session, ok := k.exchange(k.issue())
	if !ok || !k.valid(session) {
		t.Fatal("a fresh key was refused")
	}
	k.revoke()
	if _, ok := k.exchange(key); ok || k.valid(session) {
		t.Error("a key outlived its endpoint")
	}
	bounded := newKeys(time.Minute, clock)
	for range 3 * maxOnce {
		bounded.issue()
	}
	if len(bounded.once) > maxOnce {
		t.Errorf("%d keys outstanding", len(bounded.once))
	}
}

// proves R-UI-01
func TestTwoInstancesAreApart(t *testing.T) {
	a, b := start(t, Options{}), start(t, Options{})
	session, key := a.session(t), a.oneTimeKey(t)
	h := b.postHeader(session)
	if got := b.do(t, request{method: "POST", path: uicontract.PathCommand, body: reconnect, header: h}).StatusCode; got != 401 {
		t.Errorf("another instance's session key: %d", got)
	}
	if got := b.do(t, b.exchangeRequest(key)).StatusCode; got != 401 {
		t.Errorf("another instance's one-time key: %d", got)
	}
	h["Origin"] = a.origin
	if got := b.do(t, request{method: "POST", path: uicontract.PathCommand, body: reconnect, header: h}).StatusCode; got != 403 {
		t.Errorf("another instance's page: %d", got)
	}
}

// proves R-UI-01
func TestStream(t *testing.T) {
	e := start(t, Options{Heartbeat: 20 * time.Millisecond})
	h := map[string]string{"Authorization": "Relay " + e.session(t), "Sec-Fetch-Site": "same-origin", uicontract.Header: "1", "Last-Event-ID": "e-7"}
	resp := e.do(t, request{method: "GET", path: uicontract.PathStream, header: h})
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d, %v", resp.StatusCode, resp.Header)
	}
	if got := <-e.backend.attached; got != "e-7" {
		t.Errorf("resumed after %q", got)
	}
	lines := bufio.NewReader(resp.Body)
	want := []string{": open\n", "\n", ": still here\n", "\n"}
	for _, w := range want {
		if got, err := lines.ReadString('\n'); got != w {
			t.Fatalf("got %q, %v, want %q", got, err, w)
		}
	}
	e.backend.batches <- `{"a":1}`
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "id: e-1\n" {
			break
		}
	}
	if got, _ := lines.ReadString('\n'); got != "data: {\"a\":1}\n" {
		t.Errorf("got %q", got)
	}
}

// A failure in one request is logged by its place only, and the endpoint lives.
//
// proves R-LOG-01
func TestPanicIsNotQuoted(t *testing.T) {
	e := start(t, Options{})
	h := e.postHeader(e.session(t))
	req, err := http.NewRequestWithContext(t.Context(), "POST", e.origin+uicontract.PathCommand, strings.NewReader(`{"version":1,"operation":"panic","kind":"reconnect"}`))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range h {
		req.Header.Set(k, v)
	}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
		t.Errorf("answered %d", resp.StatusCode)
	}
	if got := e.do(t, request{method: "POST", path: uicontract.PathCommand, body: reconnect, header: h}).StatusCode; got != 200 {
		t.Errorf("afterwards: %d", got)
	}
	if log := e.log.String(); !strings.Contains(log, "Execute") || strings.Contains(log, "canary-panic") {
		t.Errorf("the log: %s", log)
	}
}

// proves R-UI-01
func TestListensOnLoopbackOnly(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "localhost:0", "127.0.0.1", "[::ffff:127.0.0.1]:0"} {
		s, err := Listen(t.Context(), address, Options{})
		if fault.CodeOf(err) != fault.RelayListenAddress {
			t.Errorf("%s: %v", address, err)
		}
		if s != nil {
			t.Errorf("%s is listened on", address)
		}
	}
}

// The exchange of a key can bring the first snapshot along; a front end that asks for none gets none, and no key no snapshot.
//
// proves R-UI-01
func TestTheExchangeBringsTheStart(t *testing.T) {
	e := start(t, Options{})
	ask := func(key, start string) (uicontract.SessionGranted, int) {
		r := e.exchangeRequest(key)
		r.body = fmt.Sprintf(`{"version":1,"key":%q%s}`, key, start)
		resp := e.do(t, r)
		var granted uicontract.SessionGranted
		if err := json.NewDecoder(resp.Body).Decode(&granted); err != nil {
			t.Fatal(err)
		}
		return granted, resp.StatusCode
	}
	if g, _ := ask(e.oneTimeKey(t), ""); g.Start != nil || len(g.Session) != 43 || e.backend.executed.Load() != 0 {
		t.Errorf("without asking: %+v", g)
	}
	if g, status := ask(strings.Repeat("A", 43), `,"start":{"thread":"t"}`); status != 401 || g.Start != nil || e.backend.executed.Load() != 0 {
		t.Errorf("without a key: %d, %+v", status, g)
	}
	if g, _ := ask(e.oneTimeKey(t), `,"start":{"thread":"t"}`); string(g.Start) != `{"id":"e-1"}` || len(g.Session) != 43 || e.backend.executed.Load() != 1 {
		t.Errorf("asked for: %s", g.Start)
	}
	if g, status := ask(e.oneTimeKey(t), `,"start":{"thread":1}`); status != 400 || g.Session != "" {
		t.Errorf("a start that is none: %d, %+v", status, g)
	}
}
