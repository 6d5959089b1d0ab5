package ollama

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
)

func sent(t *testing.T, cfg Config, r Request) map[string]any {
	t.Helper()
	c, s, _ := stubbed(t, cfg, stubAnswer{status: 200, body: okReply})
	if _, err := c.Chat(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(s.seen[0].body), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// proves A-OLL-01, A-OLL-08
func TestMinimalRequest(t *testing.T) {
	got := sent(t, testConfig(), ask("hi"))
	want := map[string]any{
		"model": "m", "messages": []any{map[string]any{"role": "user", "content": "hi"}},
		"stream": false, "think": true, "truncate": false, "shift": false,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// proves A-OLL-02, A-OLL-03
func TestOptionsSent(t *testing.T) {
	cfg := testConfig()
	cfg.Think, cfg.KeepAlive = json.RawMessage(`"low"`), json.RawMessage(`300`)
	cfg.Options = agent.OllamaOptions{NumCtx: ptr(8192), Temperature: ptr(0.4), Seed: ptr(0), UseMmap: ptr(false), Stop: []string{"x"}}
	cfg.Extra = map[string]json.RawMessage{"draft_num_predict": json.RawMessage("4"), "top_k": json.RawMessage("7"), "num_ctx": json.RawMessage("1")}
	cfg.Logprobs, cfg.TopLogprobs = true, ptr(0)
	r := ask("hi")
	r.Format = json.RawMessage(`{}`)
	got := sent(t, cfg, r)
	want := map[string]any{"num_ctx": 8192., "temperature": 0.4, "seed": 0., "use_mmap": false, "stop": []any{"x"}, "draft_num_predict": 4.}
	if d := cmp.Diff(want, got["options"]); d != "" {
		t.Error(d)
	}
	for name, want := range map[string]any{"think": "low", "keep_alive": 300., "format": map[string]any{}, "logprobs": true, "top_logprobs": 0.} {
		if d := cmp.Diff(want, got[name]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	r.Temperature, r.NumPredict = ptr(0.0), ptr(99)
	options := sent(t, cfg, r)["options"].(map[string]any)
	if options["temperature"] != 0. || options["num_predict"] != 99. || options["num_ctx"] != 8192. {
		t.Errorf("per-call values: %v", options)
	}
	if again := sent(t, cfg, ask("hi"))["options"].(map[string]any); again["temperature"] != 0.4 || again["num_predict"] != nil {
		t.Errorf("a per-call value outlived its call: %v", again)
	}
}

// proves A-OLL-04, A-OLL-08
func TestEchoedConversation(t *testing.T) {
	call := agent.ToolCall{ID: "c1", Name: "dir", Arguments: json.RawMessage(`{}`)}
	exchange := []agent.Message{
		{Role: "assistant", Thinking: "old thought", ToolCalls: []agent.ToolCall{call}},
		{Role: "tool", Content: "\xff", ToolName: "dir", ToolCallID: "c1"},
	}
	r := Request{Messages: append([]agent.Message{{Role: "user", Content: "go"}}, exchange...), Tools: []agent.ToolSpec{{Name: "dir"}, readTool}}
	r.Messages = append(r.Messages, agent.Message{Role: "user", Content: "observation"}, agent.Message{Role: "assistant", Content: "text", Thinking: "stray"},
		agent.Message{Role: "user", Content: "again"})
	r.Messages = append(r.Messages, exchange...)
	r.Messages = append(r.Messages, agent.Message{Role: "user", Content: "reminder"})
	got := sent(t, testConfig(), r)
	messages := got["messages"].([]any)
	first, last := messages[1].(map[string]any), messages[6].(map[string]any)
	wantCalls := []any{map[string]any{"id": "c1", "function": map[string]any{"index": 0., "name": "dir", "arguments": map[string]any{}}}}
	if d := cmp.Diff(wantCalls, first["tool_calls"]); d != "" {
		t.Error(d)
	}
	if first["thinking"] != nil || messages[4].(map[string]any)["thinking"] != nil || last["thinking"] != "old thought" {
		t.Errorf("reasoning: finished exchange %v, text %v, continued exchange %v", first["thinking"], messages[4], last["thinking"])
	}
	wantResult := map[string]any{"role": "tool", "content": "\uFFFD", "tool_name": "dir", "tool_call_id": "c1"}
	if d := cmp.Diff(wantResult, messages[2]); d != "" {
		t.Error(d)
	}
	params := got["tools"].([]any)[0].(map[string]any)["function"].(map[string]any)["parameters"]
	if d := cmp.Diff(map[string]any{"type": "object", "properties": map[string]any{}}, params); d != "" {
		t.Error(d)
	}
}

// proves A-OLL-08
func TestUnsendableRequests(t *testing.T) {
	call := agent.ToolCall{ID: "c1", Name: "dir", Arguments: json.RawMessage(`{}`)}
	for name, r := range map[string]Request{
		"no messages":       {},
		"format with tools": {Messages: ask("x").Messages, Format: json.RawMessage(`"json"`), Tools: []agent.ToolSpec{readTool}},
		"open call":         {Messages: []agent.Message{{Role: "assistant", ToolCalls: []agent.ToolCall{call}}}},
		"schema of a list":  {Messages: ask("x").Messages, Tools: []agent.ToolSpec{{Name: "a", Parameters: json.RawMessage(`{"type":"array"}`)}}},
		"broken schema":     {Messages: ask("x").Messages, Tools: []agent.ToolSpec{{Name: "a", Parameters: json.RawMessage(`{`)}}},
		"null schema":       {Messages: ask("x").Messages, Tools: []agent.ToolSpec{{Name: "a", Parameters: json.RawMessage(`null`)}}},
	} {
		c, s, _ := stubbed(t, testConfig(), stubAnswer{status: 200, body: okReply})
		if _, err := c.Chat(t.Context(), r); fault.CodeOf(err) != fault.AgentInternal || len(s.seen) != 0 {
			t.Errorf("%s: %v, %d requests", name, err, len(s.seen))
		}
	}
}

// proves A-OLL-08
func TestValidateConversation(t *testing.T) {
	call := func(id, name, args string) agent.ToolCall {
		return agent.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(args)}
	}
	says := func(calls ...agent.ToolCall) agent.Message { return agent.Message{Role: "assistant", ToolCalls: calls} }
	result := func(id, name string) agent.Message {
		return agent.Message{Role: "tool", ToolCallID: id, ToolName: name}
	}
	user := agent.Message{Role: "user", Content: "x"}
	a, b := call("1", "dir", `{}`), call("2", "file_read", `{"path":"a"}`)
	for name, tc := range map[string]struct {
		messages []agent.Message
		want     string // part of the error, "" = valid
	}{
		"pairs in order":        {[]agent.Message{user, says(a, b), result("1", "dir"), result("2", "file_read"), user}, ""},
		"same id twice":         {[]agent.Message{says(a, a), result("1", "dir"), result("1", "dir")}, ""},
		"unknown empty name":    {[]agent.Message{says(call("1", "", `{}`)), result("1", "")}, ""},
		"wrong order":           {[]agent.Message{says(a, b), result("2", "file_read"), result("1", "dir")}, "is due"},
		"missing result":        {[]agent.Message{says(a, b), result("1", "dir"), user}, "no result"},
		"missing at the end":    {[]agent.Message{says(a)}, "no result"},
		"surplus result":        {[]agent.Message{says(a), result("1", "dir"), result("1", "dir")}, "without a call"},
		"orphan":                {[]agent.Message{user, result("1", "dir")}, "without a call"},
		"string arguments":      {[]agent.Message{says(call("1", "dir", `"{}"`)), result("1", "dir")}, "no JSON object"},
		"absent arguments":      {[]agent.Message{says(call("1", "dir", ``)), result("1", "dir")}, "no JSON object"},
		"repeated member":       {[]agent.Message{says(call("1", "dir", `{"a":1,"a":2}`)), result("1", "dir")}, "arguments"},
		"no id":                 {[]agent.Message{says(call("", "dir", `{}`)), result("", "dir")}, "no id"},
		"role":                  {[]agent.Message{{Role: "wizard"}}, "unknown role"},
		"user with reasoning":   {[]agent.Message{{Role: "user", Thinking: "x"}}, "reasoning"},
		"system with image":     {[]agent.Message{{Role: "system", Images: []agent.Image{{}}}}, "images"},
		"user with tool's name": {[]agent.Message{{Role: "user", ToolName: "dir"}}, "names a tool call"},
	} {
		err := ValidateConversation(tc.messages)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}
