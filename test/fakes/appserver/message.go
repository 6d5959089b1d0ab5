package appserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Kind is what a message is.
type Kind string

// The kinds of messages. Result and Failure are responses.
const (
	Call         Kind = "request"
	Notification Kind = "notification"
	Result       Kind = "result"
	Failure      Kind = "error"
	Unreadable   Kind = "unreadable"
)

// Message is one message of a client.
type Message struct {
	Connection int // from 0
	Kind       Kind
	Method     string
	ID         json.RawMessage
	Params     json.RawMessage // also the result of a Result
	Error      *Error
	Raw        []byte
}

// String is for failures.
func (m Message) String() string {
	text := string(m.Raw)
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	return string(m.Kind) + " " + text
}

func parse(connection int, frame []byte) Message {
	m := Message{Connection: connection, Raw: bytes.Clone(frame), Kind: Unreadable}
	var e struct {
		Method *string         `json:"method"`
		ID     json.RawMessage `json:"id"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  *Error          `json:"error"`
	}
	if json.Unmarshal(frame, &e) != nil {
		return m
	}
	m.ID, m.Params, m.Error = e.ID, e.Params, e.Error
	switch {
	case e.Method != nil && e.ID != nil:
		m.Kind, m.Method = Call, *e.Method
	case e.Method != nil:
		m.Kind, m.Method = Notification, *e.Method
	case e.ID != nil && e.Error != nil:
		m.Kind = Failure
	case e.ID != nil && e.Result != nil:
		m.Kind, m.Params = Result, e.Result
	}
	return m
}

// contains reports whether got has everything that want has: objects may have more members, everything else is equal.
func contains(got, want json.RawMessage) bool {
	if len(want) == 0 {
		return true
	}
	var g, w any
	if json.Unmarshal(want, &w) != nil || len(got) == 0 || json.Unmarshal(got, &g) != nil {
		return false
	}
	return within(w, g)
}

func within(want, got any) bool {
	w, ok := want.(map[string]any)
	if !ok {
		return reflect.DeepEqual(want, got)
	}
	g, ok := got.(map[string]any)
	if !ok {
		return false
	}
	for name, value := range w {
		if inner, ok := g[name]; !ok || !within(value, inner) {
			return false
		}
	}
	return true
}

// fill replaces the references of a payload.
func fill(payload json.RawMessage, taken map[string]Message, n int) (json.RawMessage, error) {
	if !bytes.Contains(payload, []byte("${")) {
		return payload, nil
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	v, err := filled(v, taken, n)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func filled(v any, taken map[string]Message, n int) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			got, err := filled(inner, taken, n)
			if err != nil {
				return nil, err
			}
			v[name] = got
		}
	case []any:
		for i, inner := range v {
			got, err := filled(inner, taken, n)
			if err != nil {
				return nil, err
			}
			v[i] = got
		}
	case string:
		text := strings.ReplaceAll(v, "${n}", strconv.Itoa(n))
		if ref, ok := strings.CutPrefix(text, "${"); ok && strings.HasSuffix(ref, "}") {
			return lookup(strings.TrimSuffix(ref, "}"), taken)
		}
		return text, nil
	}
	return v, nil
}

// lookup finds LABEL.path.to.member; a label may hold slashes but no dot.
func lookup(ref string, taken map[string]Message) (any, error) {
	label, path, _ := strings.Cut(ref, ".")
	m, ok := taken[label]
	if !ok {
		return nil, fmt.Errorf("${%s}: nothing was taken as %q", ref, label)
	}
	var v any
	if err := json.Unmarshal(m.Params, &v); err != nil {
		return nil, fmt.Errorf("${%s}: %w", ref, err)
	}
	for name := range strings.SplitSeq(path, ".") {
		switch inner := v.(type) {
		case map[string]any:
			v = inner[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(inner) {
				return nil, fmt.Errorf("${%s}: no element %s", ref, name)
			}
			v = inner[i]
		default:
			return nil, fmt.Errorf("${%s}: no member %s", ref, name)
		}
	}
	return v, nil
}
