package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
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
	return startWith(t, o, func(o Options) (*Server, error) { return Listen(t.Context(), "127.0.0.1:0", o) })
}

func startWith(t *testing.T, o Options, listen func(Options) (*Server, error)) *endpoint {
	t.Helper()
	english, err := locale.Parse(shipped.English())
	if err != nil {
		t.Fatal(err)
	}
	e := &endpoint{backend: &backend{attached: make(chan string, 8), batches: make(chan string, 8)}, log: &lockedBuffer{}}
	o.Backend, o.Texts = e.backend, locale.New(locale.English, english, english)
	o.Log = slog.New(slog.NewTextHandler(e.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	e.Server, err = listen(o)
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
