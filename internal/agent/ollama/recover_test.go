package ollama

import (
	"encoding/json"
	"strings"
	"testing"

	"sekisho/internal/agent"
)

func recoverable() Request {
	r := ask("x")
	r.Tools, r.Validate = []agent.ToolSpec{readTool}, needsPath
	return r
}

// proves A-OLL-07
func TestCallsInContent(t *testing.T) {
	for content, want := range map[string]bool{
		`{"name":"file_read","arguments":{"path":"a"}}`:                                    true,
		" \n{\"name\":\"file_read\",\"arguments\":{\"path\":\"a\"}}\n":                     true,
		`{"name":"file_read","parameters":{"path":"a"}}`:                                   true,
		`{"name":"file_read","arguments":"{\"path\":\"a\"}"}`:                              true,
		"<tool_call>\n{\"name\":\"file_read\",\"arguments\":{\"path\":\"a\"}}</tool_call>": true,
		`<think>so</think>{"name":"file_read","arguments":{"path":"a"}}`:                   true,
		"```json\n{\"name\":\"file_read\",\"arguments\":{\"path\":\"a\"}}\n```":            false,
		`I call {"name":"file_read","arguments":{"path":"a"}}`:                             false,
		`{"name":"file_read","arguments":{"path":"a"}} now`:                                false,
		`{"name":"file_read","arguments":{"path":"a"}}{"name":"file_read","arguments":{}}`: false,
		`[{"name":"file_read","arguments":{"path":"a"}}]`:                                  false,
		`{"name":"file_read","arguments":{"path":"a"},"parameters":{"path":"b"}}`:          false,
		`{"name":"file_read","arguments":{"path":"a"},"note":1}`:                           false,
		`{"name":"file_read","name":"file_read","arguments":{"path":"a"}}`:                 false,
		`{"Name":"file_read","arguments":{"path":"a"}}`:                                    false,
		`{"name":"file_read"}`:                                                    false,
		`{"name":"file_read","arguments":{"wrong":"a"}}`:                          false,
		`{"name":"file_read","arguments":["a"]}`:                                  false,
		`{"name":"file_edit","arguments":{"path":"a"}}`:                           false,
		`{"name":"functions.file_read","arguments":{"path":"a"}}`:                 false,
		`<tool_call>{"name":"file_read","arguments":{"path":"a"}}`:                false,
		`<tool_call>{"name":"file_read","arguments":{"path":"a"}}</tool_call> ok`: false,
	} {
		quoted, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		r, err := chatOnce(t, testConfig(), recoverable(), replyWith(`{"content":`+string(quoted)+`}`, `,"eval_count":9`))
		if err != nil {
			t.Fatal(err)
		}
		calls := r.Message.ToolCalls
		if got := len(calls) == 1; got != want {
			t.Errorf("%s: recovered %v", content, got)
			continue
		}
		if want && (calls[0].Source != agent.SourceContent || string(calls[0].Arguments) != `{"path":"a"}` || calls[0].ID == "" || r.Message.Content != "") {
			t.Errorf("%s: %+v, content %q", content, calls[0], r.Message.Content)
		}
		if !want && r.Message.Content != content {
			t.Errorf("%s: the text became %q", content, r.Message.Content)
		}
	}
}

// proves A-OLL-07, A-OLL-08
func TestRecoveryIsOff(t *testing.T) {
	const message = `{"content":"{\"name\":\"file_read\",\"arguments\":{\"path\":\"a\"}}"}`
	for name, tc := range map[string]struct {
		change func(*Request)
		body   string
	}{
		"no validator":      {func(r *Request) { r.Validate = nil }, replyWith(message, ``)},
		"no tools":          {func(r *Request) { r.Tools = nil }, replyWith(message, ``)},
		"structured output": {func(r *Request) { r.Tools, r.Format = nil, json.RawMessage(`"json"`) }, replyWith(message, ``)},
		"cut answer":        {func(*Request) {}, replyWith(message, `,"done_reason":"length"`)},
		"native call":       {func(*Request) {}, replyWith(strings.Replace(message, "{", `{"tool_calls":[{"function":{"name":"dir"}}],`, 1), ``)},
	} {
		r := recoverable()
		tc.change(&r)
		got, err := chatOnce(t, testConfig(), r, tc.body)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range got.Message.ToolCalls {
			if c.Source == agent.SourceContent {
				t.Errorf("%s: recovered %+v", name, c)
			}
		}
	}
}

// A recovered call always is a sent tool with arguments that the validator accepted, and the content is that call alone.
func FuzzRecoverCall(f *testing.F) {
	f.Add(`{"name":"file_read","arguments":{"path":"a"}}`)
	f.Add(`<tool_call>{"name":"file_read","parameters":"{\"path\":\"a\"}"}</tool_call>`)
	f.Add("```json\n{\"name\":\"file_read\",\"arguments\":{\"path\":\"a\"}}\n```")
	f.Fuzz(func(t *testing.T, content string) {
		call, ok := recoverCall(content, recoverable())
		if !ok {
			return
		}
		if call.Name != "file_read" || needsPath(call) != nil || call.Source != agent.SourceContent {
			t.Errorf("%q became %+v", content, call)
		}
		text := strings.TrimSpace(content)
		if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "<tool_call>") || !strings.HasSuffix(text, "}") && !strings.HasSuffix(text, "</tool_call>") {
			t.Errorf("%q is more than a call", content)
		}
	})
}
