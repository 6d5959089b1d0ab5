//go:build linux

package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"sekisho/internal/relay/transport"
)

// frame is one JSON-RPC message as it crossed the connection. Deltas are left out: there may be very many.
type frame struct {
	Sent   bool            `json:"sent"` // by the worker
	Method string          `json:"method,omitempty"`
	ID     json.RawMessage `json:"id,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// tape records every connection of one world.
type tape struct {
	mu     sync.Mutex
	frames []frame
}

func (p *tape) all() []frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.frames)
}

func (p *tape) record(sent bool, data []byte) {
	var f frame
	if json.Unmarshal(data, &f) != nil {
		f = frame{Method: "unreadable"}
	}
	if strings.Contains(strings.ToLower(f.Method), "delta") {
		return
	}
	if !sent && len(f.Result) > 1<<16 {
		f.Result = json.RawMessage(`"long"`)
	}
	f.Sent = sent
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
