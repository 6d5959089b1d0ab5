package scriptmodel

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
)

// obj is a JSON object under construction.
type obj map[string]any

func user(text string) obj   { return obj{"role": "user", "content": text} }
func system(text string) obj { return obj{"role": "system", "content": text} }

func calls(names ...string) obj {
	var list []any
	for _, n := range names {
		list = append(list, obj{"id": "id-" + n, "function": obj{"index": 0, "name": n, "arguments": obj{}}})
	}
	return obj{"role": "assistant", "content": "", "tool_calls": list}
}

func result(name, content string) obj {
	return obj{"role": "tool", "content": content, "tool_name": name, "tool_call_id": "id-" + name}
}

func tool(name string) obj {
	return obj{"type": "function", "function": obj{"name": name, "parameters": obj{"type": "object", "properties": obj{}}}}
}

// request is a body that keeps every rule of the client.
func request(messages ...any) obj {
	return obj{"model": "demo", "messages": messages, "stream": false, "truncate": false, "shift": false, "think": false, "options": obj{"num_ctx": 8192}}
}

// with returns a copy of o in which k is v; a nil v removes k.
func (o obj) with(k string, v any) obj {
	c := maps.Clone(o)
	if c[k] = v; v == nil {
		delete(c, k)
	}
	return c
}

// parse builds a server without a listener.
func parse(t *testing.T, script string) *Server {
	t.Helper()
	s, err := Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return New(s)
}

// post sends body to /api/chat and returns status and decoded JSON (or nil).
func post(t *testing.T, h http.Handler, body any) (int, obj) {
	t.Helper()
	data, ok := body.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/api/chat", bytes.NewReader(data)))
	reply, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out obj
	json.Unmarshal(reply, &out)
	return w.Code, out
}

func content(reply obj) any {
	m, _ := reply["message"].(map[string]any)
	return m["content"]
}
