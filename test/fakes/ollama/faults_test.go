package scriptmodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/fault"
	scriptmodel "sekisho/test/fakes/ollama"
	"sekisho/test/goroutines"
)

func TestMain(m *testing.M) { goroutines.Main(m) }

// client asks the model of url without waiting between attempts.
func client(t *testing.T, url, model string) *ollama.Client {
	t.Helper()
	c, err := ollama.New(ollama.Config{Endpoint: url, Model: model, Think: json.RawMessage("false"),
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func ask(text string) ollama.Request {
	return ollama.Request{Phase: agent.PhaseExecution, Messages: []agent.Message{{Role: "user", Content: text}}}
}

// Each fault reaches the product's own client as what it is.
//
// proves A-OLL-06, A-OLL-07
func TestFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		reply string
		want  fault.Code
		calls int
	}{
		"reset before headers":  {`"drop_connection":"before_headers"`, fault.OllamaUnavailable, 4},
		"reset after headers":   {`"content":"x","drop_connection":"after_headers"`, fault.OllamaUnavailable, 4},
		"half a body":           {`"content":"x","drop_connection":"half_body"`, fault.OllamaUnavailable, 4},
		"status and error":      {`"status":500,"error":"model runner has unexpectedly stopped"`, fault.OllamaUnavailable, 4},
		"quota":                 {`"status":429,"error":"usage limit reached"`, fault.OllamaQuotaExceeded, 1},
		"retry-after":           {`"status":429,"error":"slow","headers":{"Retry-After":"60"}`, fault.OllamaUnavailable, 1},
		"raw page":              {`"raw_status":502,"raw_body":"<html>"`, fault.OllamaUnavailable, 4},
		"error on 200":          {`"error":"odd"`, fault.OllamaProtocol, 1},
		"missing message":       {`"missing_message":true`, fault.OllamaProtocol, 1},
		"not done":              {`"content":"x","not_done":true`, fault.OllamaProtocol, 1},
		"exact body":            {`"body":{"error parsing tool call":"x"}`, fault.OllamaProtocol, 1},
		"over the limit":        {fmt.Sprintf(`"content":"x","pad_to":%d`, ollama.MaxReplyBytes+1), fault.OllamaProtocol, 1},
		"wrong type":            {`"content":"x","content_type":"text/plain"`, "", 1},
		"gzip":                  {`"content":"x","gzip":true`, "", 1},
		"model's own bad call":  {`"status":500,"error":"error parsing tool call: raw=x"`, fault.OllamaModelOutput, 4},
		"string as arguments":   {`"tool_calls":[{"name":"dir","arguments":"{}"}]`, "", 1},
		"arguments left out":    {`"tool_calls":[{"name":"dir"}]`, "", 1},
		"truncated by a script": {`"content":"x","done_reason":"length"`, "", 1},
	} {
		v := scriptmodel.Start(t, `{"model":"demo","rules":[{"reply":{`+tc.reply+`}}]}`)
		r, err := client(t, v.URL(), "demo").Chat(t.Context(), ask("x"))
		if fault.CodeOf(err) != tc.want || len(v.Received()) != tc.calls {
			t.Errorf("%s: %v after %d calls", name, err, len(v.Received()))
		}
		if strings.Contains(tc.reply, "tool_calls") && (len(r.Message.ToolCalls) != 1 || string(r.Message.ToolCalls[0].Arguments) != "{}") {
			t.Errorf("%s: %+v", name, r.Message)
		}
	}
}

// proves A-OLL-01
func TestDelayEndsWithTheCaller(t *testing.T) {
	v := scriptmodel.Start(t, `{"model":"demo","rules":[{"reply":{"content":"x","delay_ms":600000}}]}`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client(t, v.URL(), "demo").Chat(ctx, ask("x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestOtherEndpoints(t *testing.T) {
	v := scriptmodel.Start(t, `{"model":"demo","capabilities":["tools"],"context_length":2048,"num_ctx":512,"rules":[{"reply":{"content":"x"}}]}`)
	for _, tc := range []struct {
		method, path, body string
		status             int
		part               string
	}{
		{"GET", "/", "", 200, "Ollama is running"},
		{"GET", "/api/version", "", 200, `{"version":"0.24.0"}`},
		{"GET", "/api/tags", "", 200, `"name":"demo:latest"`},
		{"GET", "/api/ps", "", 200, `"context_length":512`},
		{"POST", "/api/show", `{"model":"demo:latest"}`, 200, `"capabilities":["tools"]`},
		{"POST", "/api/show", `{"model":"nope"}`, 404, `model 'nope' not found`},
		{"POST", "/api/show", `{}`, 400, `model is required`},
		{"GET", "/api/chat", "", 405, "405 method not allowed"},
		{"POST", "/api/generate", "{}", 404, ""},
		{"GET", "/v1/models", "", 404, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tc.method, v.URL()+tc.path, strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		status, body := do(t, req)
		if status != tc.status || !strings.Contains(body, tc.part) {
			t.Errorf("%s %s: %d %s", tc.method, tc.path, status, body)
		}
	}
	got, err := client(t, v.URL(), "demo").Capabilities(t.Context())
	if want := (ollama.Capabilities{Known: true, Tools: true, ContextLength: 2048}); err != nil || got != want {
		t.Errorf("capabilities %+v, %v", got, err)
	}
}

func do(t *testing.T, req *http.Request) (int, string) {
	t.Helper()
	status, _, body := doFull(t, req)
	return status, string(body)
}

func doFull(t *testing.T, req *http.Request) (status int, contentType string, body []byte) {
	t.Helper()
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), body
}

// serveOnce serves h for the rest of the test.
func serveOnce(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// A recording of a run replays: same order, same replies, prompts only as hashes.
func TestRecordAndReplay(t *testing.T) {
	real := scriptmodel.Start(t, `{"model":"demo","capabilities":["tools"],"context_length":4096,"rules":[
	  {"when":{"phase":"plan"},"reply":{"content":{"tasks":[]}}},
	  {"once":true,"reply":{"status":503,"error":"server busy"}},
	  {"reply":{"content":"answer to {{user.content}}"}}]}`)
	recorder := scriptmodel.NewRecorder(real.URL(), false)
	proxy := httptest.NewServer(recorder)
	defer proxy.Close()
	defer recorder.Close()
	run := func(url string) []string {
		c := client(t, url, "demo")
		if can, err := c.Capabilities(t.Context()); err != nil || !can.Tools || can.ContextLength != 4096 {
			t.Fatalf("%+v, %v", can, err)
		}
		plan := ask("private request")
		plan.Format = json.RawMessage(`{"type":"object"}`)
		var out []string
		for _, r := range []ollama.Request{plan, ask("private request"), plan} {
			got, err := c.Chat(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, got.Message.Content)
		}
		return out
	}
	first := run(proxy.URL)
	script, err := recorder.Script()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(script), `"request_sha256"`); n != 4 {
		t.Errorf("%d calls recorded: %s", n, script)
	}
	replay := scriptmodel.Start(t, string(script))
	if second := run(replay.URL()); strings.Join(first, "|") != strings.Join(second, "|") || first[1] != "answer to private request" {
		t.Errorf("recorded %q, replayed %q", first, second)
	}
	if strings.Contains(strings.ReplaceAll(string(script), "answer to private request", ""), "private") {
		t.Errorf("the prompt is in the recording: %s", script)
	}
}
