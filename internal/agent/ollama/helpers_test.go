package ollama

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sekisho/internal/agent"
)

// exchange is one request that a stub server saw.
type exchange struct {
	path   string
	header http.Header
	body   string
}

// stub is a RoundTripper that plays answers in order, the last one again and again.
type stub struct {
	mu      sync.Mutex
	answers []stubAnswer
	seen    []exchange
}

type stubAnswer struct {
	status int
	header http.Header
	body   string
	err    error
}

func (s *stub) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.answers[min(len(s.seen), len(s.answers)-1)]
	s.seen = append(s.seen, exchange{r.URL.Path, r.Header.Clone(), string(body)})
	if a.err != nil {
		return nil, a.err
	}
	h := a.header
	if h == nil {
		h = http.Header{}
	}
	return &http.Response{StatusCode: a.status, Header: h, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

const okReply = `{"model":"m","message":{"role":"assistant","content":"done"},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":3}`

func ptr[T any](v T) *T { return &v }

func testConfig() Config {
	return Config{Endpoint: "http://127.0.0.1:11434", Model: "m", Think: json.RawMessage("true")}
}

// stubbed returns a client that talks to a stub and records its waits instead of sleeping.
func stubbed(t *testing.T, cfg Config, answers ...stubAnswer) (*Client, *stub, *[]time.Duration) {
	t.Helper()
	waits := &[]time.Duration{}
	cfg.Wait = func(ctx context.Context, d time.Duration) error {
		*waits = append(*waits, d)
		return ctx.Err()
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &stub{answers: answers}
	c.http.Transport = s
	return c, s, waits
}

func ask(text string) Request {
	return Request{Phase: agent.PhaseExecution, Messages: []agent.Message{{Role: "user", Content: text}}}
}

var readTool = agent.ToolSpec{Name: "file_read", Description: "Reads.", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}

// needsPath is a validator that wants exactly a string path.
func needsPath(c agent.ToolCall) error {
	var args map[string]string
	if err := json.Unmarshal(c.Arguments, &args); err != nil {
		return err
	}
	if len(args) != 1 || args["path"] == "" {
		return io.ErrUnexpectedEOF
	}
	return nil
}
