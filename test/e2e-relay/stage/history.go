//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/worker"
	"sekisho/test/relayworld"
)

// lastWord is a word of the answer to the last message of a made thread, and nowhere else in it.
const lastWord = "unknown"

// makeThread has turns real turns made by the remote server, two items of about 1 KiB each, and returns the thread's id. The
// last answer is "unknown scenario last".
func (w *world) makeThread(ctx context.Context, turns int) (string, error) {
	link, err := worker.Connector{Env: relayworld.Env(w.home())}.Connect(ctx, w.profile, slog.New(slog.DiscardHandler))
	if err != nil {
		return "", err
	}
	defer link.Conn.Close(transport.ByUser)
	send := func(v any) error {
		data, err := json.Marshal(v)
		if err == nil {
			_, err = link.Conn.Write(ctx, data)
		}
		return err
	}
	id := 0
	ask := func(method string, params, result any) error {
		id++
		if err := send(map[string]any{"id": id, "method": method, "params": params}); err != nil {
			return err
		}
		for {
			data, err := link.Conn.Read(ctx)
			if err != nil {
				return err
			}
			var m struct {
				ID     *int
				Method string
				Result json.RawMessage
				Error  json.RawMessage
			}
			if json.Unmarshal(data, &m) != nil || m.Method != "" || m.ID == nil || *m.ID != id {
				continue
			}
			if m.Error != nil {
				return fmt.Errorf("%s: %s", method, m.Error)
			}
			if result == nil {
				return nil
			}
			return json.Unmarshal(m.Result, result)
		}
	}
	end := func() error {
		for {
			data, err := link.Conn.Read(ctx)
			if err != nil {
				return err
			}
			var m struct{ Method string }
			if json.Unmarshal(data, &m) == nil && m.Method == "turn/completed" {
				return nil
			}
		}
	}
	if err := ask("initialize", map[string]any{"clientInfo": map[string]any{"name": "bench", "version": "1"}}, nil); err != nil {
		return "", err
	}
	if err := send(map[string]any{"method": "initialized"}); err != nil {
		return "", err
	}
	var started struct{ Thread struct{ ID string } }
	if err := ask("thread/start", map[string]any{"cwd": w.work}, &started); err != nil {
		return "", err
	}
	words := strings.Repeat("some words of an answer ", 40)
	for n := range turns {
		text := fmt.Sprintf("SCN text Question %d: %s", n, words)
		if n == turns-1 {
			text = "SCN last"
		}
		if err := ask("turn/start", map[string]any{"threadId": started.Thread.ID, "input": []any{map[string]any{"type": "text", "text": text}}}, nil); err != nil {
			return "", err
		}
		if err := end(); err != nil {
			return "", err
		}
	}
	return started.Thread.ID, nil
}
