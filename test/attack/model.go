//go:build linux

package main

import (
	"context"
	"encoding/json"
	"strconv"

	scriptmodel "sekisho/test/fakes/ollama"
)

// model is a scripted model that asks the running case what to say.
type model struct {
	*scriptmodel.Server
	asks chan *ask
}

// ask is one request that waits for its reply.
type ask struct {
	phase string
	q     *scriptmodel.ChatRequest
	reply chan scriptmodel.Reply
}

func newModel() (*model, error) {
	// The rule is never used: Live answers everything.
	script, err := scriptmodel.Parse([]byte(`{"model":"scripted:latest","capabilities":["completion","tools"],"context_length":1048576,"rules":[{"reply":{"content":"Done."}}]}`))
	if err != nil {
		return nil, err
	}
	m := &model{asks: make(chan *ask)}
	if m.Server, err = scriptmodel.Listen(script); err != nil {
		return nil, err
	}
	m.Live(func(ctx context.Context, phase string, q *scriptmodel.ChatRequest) (scriptmodel.Reply, error) {
		a := &ask{phase, q, make(chan scriptmodel.Reply, 1)}
		select {
		case m.asks <- a:
		case <-ctx.Done():
			return scriptmodel.Reply{}, ctx.Err()
		}
		select {
		case r := <-a.reply:
			return r, nil
		case <-ctx.Done():
			return scriptmodel.Reply{}, ctx.Err()
		}
	})
	return m, nil
}

func text(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of constants and strings
	}
	return b
}

// say ends a turn with words.
func say(v any) scriptmodel.Reply { return scriptmodel.Reply{Content: text(v)} }

// plan is one planner task that may use every tool; version makes two plans differ.
func plan(version int) scriptmodel.Reply {
	return say(map[string]any{"tasks": []any{map[string]any{"id": "t", "description": "Do it, " + strconv.Itoa(version), "depends_on": []string{}, "budget_class": "8K",
		"optimistic_tokens": 500, "most_likely_tokens": 2000, "pessimistic_tokens": 6000, "requires_external_effect": true,
		"required_tools": []string{"file_search", "file_read", "file_edit", "process_run", "dir"}}}})
}
