package relayworld

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/worker"
)

// Frame is one JSON-RPC message as it crossed a connection.
type Frame struct {
	Sent   bool            `json:"sent"` // by the worker
	Method string          `json:"method,omitempty"`
	ID     json.RawMessage `json:"id,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// longResult is the size from which a result of the server is kept as the word "long" only.
const longResult = 1 << 16

// Tape records the frames of every connection of one worker but the server's deltas, of which there may be very many. The zero
// value is ready.
type Tape struct {
	mu     sync.Mutex
	frames []written
}

// written is a frame, or what is read into one when it is asked for.
type written struct {
	sent  bool
	frame Frame
	raw   []byte
}

// Connect makes the connection of a profile, as worker.Options.Connector does.
type Connect func(context.Context, profile.Profile, *slog.Logger) (worker.Link, error)

// Tap records the connections that connect makes.
func (p *Tape) Tap(connect Connect) Connect {
	return func(ctx context.Context, profile profile.Profile, log *slog.Logger) (worker.Link, error) {
		link, err := connect(ctx, profile, log)
		if err == nil {
			link.Conn = taped{link.Conn, p}
		}
		return link, err
	}
}

type taped struct {
	transport.Conn
	tape *Tape
}

func (c taped) Read(ctx context.Context) ([]byte, error) {
	data, err := c.Conn.Read(ctx)
	if err == nil {
		c.tape.record(false, data)
	}
	return data, err
}

func (c taped) Write(ctx context.Context, data []byte) (bool, error) {
	c.tape.record(true, data)
	return c.Conn.Write(ctx, data)
}

func (p *Tape) record(sent bool, data []byte) {
	w := written{sent: sent}
	if len(data) > longResult && len(data) < 1<<20 {
		w.raw = slices.Clone(data) // read when somebody looks: the worker waits for this call
	} else if w.frame = frame(sent, data); w.frame.delta() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frames = append(p.frames, w)
}

func frame(sent bool, data []byte) Frame {
	var f Frame
	if json.Unmarshal(data, &f) != nil {
		f = Frame{Method: "unreadable: " + string(data[:min(len(data), 100)])}
	}
	if !sent && len(f.Result) > longResult {
		f.Result = json.RawMessage(`"long"`)
	}
	f.Sent = sent
	return f
}

func (f Frame) delta() bool { return !f.Sent && strings.Contains(strings.ToLower(f.Method), "delta") }

// All are the frames so far.
func (p *Tape) All() []Frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Frame, 0, len(p.frames))
	for i := range p.frames {
		w := &p.frames[i]
		if w.raw != nil {
			w.frame, w.raw = frame(w.sent, w.raw), nil
		}
		if !w.frame.delta() {
			all = append(all, w.frame)
		}
	}
	return all
}

// Asked are the ids of every server request of a method, in order.
func (p *Tape) Asked(method string) []string {
	var ids []string
	for _, f := range p.All() {
		if !f.Sent && f.Method == method && f.ID != nil {
			ids = append(ids, string(f.ID))
		}
	}
	return ids
}

// Replies are the answers that the worker sent to the request of an id.
func (p *Tape) Replies(id string) []string {
	var list []string
	for _, f := range p.All() {
		if f.Sent && f.Method == "" && string(f.ID) == id {
			list = append(list, string(f.Result)+string(f.Error))
		}
	}
	return list
}

// Once requires that exactly one call of a method was sent, with parameters that contain each of parts.
func (p *Tape) Once(t testing.TB, method string, parts ...string) {
	t.Helper()
	p.Times(t, method, 1, parts...)
}

// Times requires that n calls of a method were sent, the last with parameters that contain each of parts.
func (p *Tape) Times(t testing.TB, method string, n int, parts ...string) {
	t.Helper()
	var sent []json.RawMessage
	for _, f := range p.All() {
		if f.Sent && f.Method == method {
			sent = append(sent, f.Params)
		}
	}
	if len(sent) != n {
		t.Errorf("%s was sent %d times, want %d", method, len(sent), n)
	}
	for _, part := range parts {
		if len(sent) == 0 || !strings.Contains(string(sent[len(sent)-1]), part) {
			t.Errorf("%s was sent with %s, want %s in it", method, sent, part)
		}
	}
}

// Answered requires that the last request of a method got exactly one answer, want.
func (p *Tape) Answered(t testing.TB, method, want string) {
	t.Helper()
	ids := p.Asked(method)
	if len(ids) == 0 {
		t.Fatalf("the server never sent %s", method)
	}
	got := p.Replies(ids[len(ids)-1])
	if len(got) != 1 || got[0] != want {
		t.Errorf("%s was answered with %q, want exactly %q", method, got, want)
	}
}

// String lists the frames by id and method, for failures.
func (p *Tape) String() string {
	var b strings.Builder
	for _, f := range p.All() {
		arrow := "<"
		if f.Sent {
			arrow = ">"
		}
		fmt.Fprintf(&b, "%s %s %s", arrow, f.ID, f.Method)
		if f.Error != nil {
			fmt.Fprintf(&b, " error %s", f.Error[:min(len(f.Error), 300)])
		}
		b.WriteByte('\n')
	}
	return b.String()
}
