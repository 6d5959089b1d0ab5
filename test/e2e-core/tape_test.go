//go:build realcodex

package e2ecore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"sekisho/internal/relay/transport"
)

// frame is one JSON-RPC message as it crossed the connection.
type frame struct {
	sent   bool            // by the worker
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// tape records every frame of every connection of one worker.
type tape struct {
	mu     sync.Mutex
	frames []frame
}

func (p *tape) record(sent bool, data []byte) {
	var f frame
	if err := json.Unmarshal(data, &f); err != nil {
		f.Method = "unreadable: " + string(data[:min(len(data), 100)])
	}
	f.sent = sent
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frames = append(p.frames, f)
}

// taped is a connection whose frames are recorded.
type taped struct {
	transport.Conn
	tape *tape
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

// sentParams are the parameters of every call of a method that the worker sent.
func (p *tape) sentParams(method string) []json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []json.RawMessage
	for _, f := range p.frames {
		if f.sent && f.Method == method {
			list = append(list, f.Params)
		}
	}
	return list
}

// asked are the ids of every server request of a method, in order.
func (p *tape) asked(method string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ids []string
	for _, f := range p.frames {
		if !f.sent && f.Method == method && f.ID != nil {
			ids = append(ids, string(f.ID))
		}
	}
	return ids
}

// replies are the answers that the worker sent, by the id of the request.
func (p *tape) replies(id string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for _, f := range p.frames {
		if f.sent && f.Method == "" && string(f.ID) == id {
			list = append(list, string(f.Result)+string(f.Error))
		}
	}
	return list
}

// once requires that exactly one call of a method was sent, with parameters that contain each of parts.
func (p *tape) once(t *testing.T, method string, parts ...string) {
	t.Helper()
	p.times(t, method, 1, parts...)
}

func (p *tape) times(t *testing.T, method string, n int, parts ...string) {
	t.Helper()
	sent := p.sentParams(method)
	if len(sent) != n {
		t.Errorf("%s was sent %d times, want %d", method, len(sent), n)
	}
	for _, part := range parts {
		if len(sent) == 0 || !strings.Contains(string(sent[len(sent)-1]), part) {
			t.Errorf("%s was sent with %s, want %s in it", method, sent, part)
		}
	}
}

// answered requires that each request of a method got exactly one answer, the last of them want.
func (p *tape) answered(t *testing.T, method, want string) {
	t.Helper()
	ids := p.asked(method)
	if len(ids) == 0 {
		t.Fatalf("the server never sent %s", method)
	}
	got := p.replies(ids[len(ids)-1])
	if len(got) != 1 || got[0] != want {
		t.Errorf("%s was answered with %q, want exactly %q", method, got, want)
	}
}

// methods lists what was sent, for failures.
func (p *tape) methods() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	for _, f := range p.frames {
		arrow := "<"
		if f.sent {
			arrow = ">"
		}
		if strings.Contains(f.Method, "elta") {
			continue
		}
		fmt.Fprintf(&b, "%s %s %s", arrow, f.ID, f.Method)
		if f.Error != nil {
			fmt.Fprintf(&b, " error %s", f.Error[:min(len(f.Error), 300)])
		}
		b.WriteByte('\n')
	}
	return b.String()
}
