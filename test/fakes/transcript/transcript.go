// Package transcript replays recorded sessions of the real app-server to a client: the recorded server half, word for word
// and in the recorded order, as far as the client sends what the recorded client sent.
package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"sekisho/internal/relay"
)

// Kind is what a recorded message is.
type Kind string

// The kinds. Nothing that is no message of the protocol was received; a recorded client sent some, as a probe.
const (
	Request      Kind = "request"
	Notification Kind = "notification"
	Response     Kind = "response"
	Probe        Kind = "probe"
)

// Entry is one recorded message.
type Entry struct {
	Sent   bool // by the client
	Kind   Kind
	Method string
	ID     relay.RequestID
	Params json.RawMessage
	Result json.RawMessage // of a Response that is none of Error
	Error  json.RawMessage
	Raw    json.RawMessage
}

// Dir is where the recorded sessions are.
func Dir() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..", "internal", "relay", "codex", "testdata", "transcripts")
}

// Names returns the names of the recorded sessions in order, without .jsonl.
func Names() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(Dir(), "*.jsonl"))
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".jsonl"))
	}
	slices.Sort(names)
	return names, nil
}

// Load reads one recorded session; what is no message, such as the end of the process, is left out.
func Load(name string) ([]Entry, error) {
	data, err := os.ReadFile(filepath.Join(Dir(), name+".jsonl"))
	if err != nil {
		return nil, err
	}
	var all []Entry
	n := 0
	for line := range bytes.Lines(data) {
		n++
		var l struct {
			Dir string          `json:"dir"`
			Msg json.RawMessage `json:"msg"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("%s line %d: %w", name, n, err)
		}
		if l.Dir != "send" && l.Dir != "recv" {
			continue
		}
		e := read(l.Msg)
		e.Sent = l.Dir == "send"
		if !e.Sent && e.Kind == Probe {
			return nil, fmt.Errorf("%s line %d: the server sent what is no message", name, n)
		}
		all = append(all, e)
	}
	return all, nil
}

// read sorts one message.
func read(msg json.RawMessage) Entry {
	e := Entry{Kind: Probe, Raw: msg}
	var m struct {
		Method *string         `json:"method"`
		ID     json.RawMessage `json:"id"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if json.Unmarshal(msg, &m) != nil {
		return e
	}
	if m.ID != nil && json.Unmarshal(m.ID, &e.ID) != nil {
		return e // null, or a fraction
	}
	e.Params, e.Result, e.Error = m.Params, m.Result, m.Error
	switch {
	case m.Method != nil && e.ID.Valid():
		e.Kind, e.Method = Request, *m.Method
	case m.Method != nil:
		e.Kind, e.Method = Notification, *m.Method
	case e.ID.Valid() && (m.Result != nil || m.Error != nil):
		e.Kind = Response
	}
	return e
}
