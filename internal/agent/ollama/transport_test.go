package ollama

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sekisho/internal/fault"
	"sekisho/test/goroutines"
)

func TestMain(m *testing.M) { goroutines.Main(m) }

// live returns a client of a real server on loopback that does not wait between attempts.
func live(t *testing.T, h http.HandlerFunc, change func(*Config)) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	cfg := testConfig()
	cfg.Endpoint = s.URL
	cfg.Wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); s.Close() })
	return c
}

func secretFile(t *testing.T, value string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(value), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// proves A-OLL-09
func TestRedirectGetsNothing(t *testing.T) {
	var reached atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 307, 308} {
		c := live(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+r.URL.Path, status) },
			func(cfg *Config) { cfg.HeaderValueFile = secretFile(t, "s3cret") })
		_, err := c.Chat(t.Context(), ask("private prompt"))
		if e := fault.As(err); e == nil || e.Code != fault.OllamaRequestRejected || e.Variant != "redirect" {
			t.Errorf("%d: got %v", status, err)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("the other server got %d requests", n)
	}
}

// proves A-OLL-09
func TestCredentialIsReadAtEachCall(t *testing.T) {
	var got []string
	path := secretFile(t, "Bearer one\n")
	c := live(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("X-Key"))
		fmt.Fprint(w, okReply)
	}, func(cfg *Config) { cfg.HeaderName, cfg.HeaderValueFile = "x-key", path })
	for _, value := range []string{"", "Bearer two"} {
		if value != "" {
			if err := os.WriteFile(path, []byte(value), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Chat(t.Context(), ask("x")); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 2 || got[0] != "Bearer one" || got[1] != "Bearer two" {
		t.Errorf("got %q", got)
	}
}

// proves A-OLL-09
func TestUnusableCredentialSendsNothing(t *testing.T) {
	dir := t.TempDir()
	write := func(name, value string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, path := range map[string]string{
		"missing": filepath.Join(dir, "none"), "directory": dir, "empty": write("e", "\n", 0o600), "group-readable": write("g", "s3cret", 0o640),
		"world-readable": write("w", "s3cret", 0o604), "two lines": write("t", "s3cret\nX-Other: 1", 0o600), "long": write("l", strings.Repeat("s3cret", 9000), 0o600),
	} {
		requests := 0
		c := live(t, func(w http.ResponseWriter, _ *http.Request) { requests++; fmt.Fprint(w, okReply) }, func(cfg *Config) { cfg.HeaderValueFile = path })
		_, err := c.Chat(t.Context(), ask("x"))
		if e := fault.As(err); e == nil || e.Code != fault.OllamaCredentialRejected || e.Variant != "header_file" || requests != 0 {
			t.Errorf("%s: %v, %d requests", name, err, requests)
		} else if strings.Contains(fmt.Sprint(e, e.Args), "s3cret") {
			t.Errorf("%s: the error repeats the value", name)
		}
	}
}

// proves A-OLL-09
func TestCertificateIsChecked(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, okReply) }))
	s.Config.ErrorLog = nil
	s.StartTLS()
	defer s.Close()
	cfg := testConfig()
	cfg.Endpoint = s.URL
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Chat(t.Context(), ask("x"))
	if e := fault.As(err); e == nil || e.Code != fault.OllamaUnavailable || e.Variant != "certificate" {
		t.Errorf("got %v", err)
	}
}

// A proxy from the environment must not see what goes to this machine.
func TestNoProxyForLoopback(t *testing.T) {
	for _, e := range []string{"http://localhost:1", "http://127.0.0.9:1", "http://[::1]:1"} {
		cfg := testConfig()
		cfg.Endpoint = e
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(e)
		if err != nil {
			t.Fatal(err)
		}
		proxy, err := c.http.Transport.(*http.Transport).Proxy(&http.Request{URL: u})
		if proxy != nil || err != nil || !c.set.loopback {
			t.Errorf("%s: proxy %v, %v", e, proxy, err)
		}
	}
}

func gzipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.Bytes()
}

// proves A-OLL-06, A-OLL-07
func TestBodies(t *testing.T) {
	const limit = 64 << 10
	blanks := strings.Repeat(" ", limit)
	zipped := gzipped(okReply)
	bomb := gzipped(okReply + blanks)
	for name, tc := range map[string]struct {
		write    func(http.ResponseWriter)
		want     fault.Code
		attempts int32
	}{
		"plain":      {func(w http.ResponseWriter) { fmt.Fprint(w, okReply) }, "", 1},
		"other type": {func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html"); fmt.Fprint(w, okReply) }, "", 1},
		"gzip":       {func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", "gzip"); w.Write(zipped) }, "", 1},
		"gzip bomb":  {func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", "gzip"); w.Write(bomb) }, fault.OllamaProtocol, 1},
		"broken gzip": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, "0123456789abcdef")
		}, fault.OllamaProtocol, 1},
		"unknown encoding": {func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", "br"); fmt.Fprint(w, okReply) }, fault.OllamaProtocol, 1},
		"at the limit":     {func(w http.ResponseWriter) { fmt.Fprint(w, okReply, blanks[len(okReply):]) }, "", 1},
		"over the limit":   {func(w http.ResponseWriter) { fmt.Fprint(w, okReply, blanks) }, fault.OllamaProtocol, 1},
		"half a body": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, okReply[:50])
		}, fault.OllamaUnavailable, 4},
	} {
		var n atomic.Int32
		c := live(t, func(w http.ResponseWriter, _ *http.Request) { n.Add(1); tc.write(w) }, nil)
		if c.limit != MaxReplyBytes {
			t.Fatalf("limit %d", c.limit)
		}
		c.limit = limit
		_, err := c.Chat(t.Context(), ask("x"))
		if fault.CodeOf(err) != tc.want || n.Load() != tc.attempts {
			t.Errorf("%s: %v after %d attempts", name, err, n.Load())
		}
	}
}

// proves A-OLL-06
func TestConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	cfg := testConfig()
	cfg.Endpoint = "http://" + address
	waits := 0
	cfg.Wait = func(context.Context, time.Duration) error { waits++; return nil }
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Chat(t.Context(), ask("x"))
	e := fault.As(err)
	if e == nil || e.Code != fault.OllamaUnavailable || waits != 3 || !strings.Contains(e.Args["detail"], "refused") || strings.Contains(e.Args["detail"], "/api/chat") {
		t.Errorf("%d waits: %v", waits, err)
	}
}

// proves A-OLL-01
func TestCancellationEndsTheExchange(t *testing.T) {
	arrived := make(chan struct{})
	gone := make(chan struct{})
	c := live(t, func(_ http.ResponseWriter, r *http.Request) {
		r.Body.Read(make([]byte, 1<<20))
		close(arrived)
		<-r.Context().Done()
		close(gone)
	}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := c.Chat(ctx, ask("x"))
	if !errors.Is(err, context.Canceled) || fault.As(err) != nil {
		t.Errorf("got %v", err)
	}
	<-gone // the server saw the end: the model stops working
}
