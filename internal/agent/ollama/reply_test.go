package ollama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
)

func chatOnce(t *testing.T, cfg Config, r Request, body string) (Response, error) {
	t.Helper()
	c, _, _ := stubbed(t, cfg, stubAnswer{status: 200, body: body})
	return c.Chat(t.Context(), r)
}

func replyWith(message, rest string) string {
	return `{"model":"m","message":` + message + `,"done":true` + rest + `}`
}

// proves A-OLL-07, A-OLL-08
func TestBrokenReplies(t *testing.T) {
	many := strings.Repeat(`{"function":{"name":"a"}},`, MaxCalls) + `{"function":{"name":"a"}}`
	for name, tc := range map[string]struct {
		body string
		want fault.Code
	}{
		"no JSON":           {`<html>`, fault.OllamaProtocol},
		"empty":             {``, fault.OllamaProtocol},
		"no message":        {`{"done":true}`, fault.OllamaProtocol},
		"null message":      {`{"message":null,"done":true}`, fault.OllamaProtocol},
		"not done":          {`{"message":{"content":"x"}}`, fault.OllamaProtocol},
		"stream":            {okReply + "\n" + okReply, fault.OllamaProtocol},
		"repeated member":   {`{"message":{"content":"a"},"message":{"content":"b"},"done":true}`, fault.OllamaProtocol},
		"case of a member":  {`{"Message":{"content":"a"},"done":true}`, fault.OllamaProtocol},
		"content is a list": {replyWith(`{"content":[]}`, ``), fault.OllamaProtocol},
		"negative count":    {replyWith(`{"content":"a"}`, `,"eval_count":-1`), fault.OllamaProtocol},
		"absurd count":      {replyWith(`{"content":"a"}`, `,"prompt_eval_count":9223372036854775807`), fault.OllamaProtocol},
		"invalid UTF-8":     {replyWith("{\"content\":\"\xff\"}", ``), fault.OllamaProtocol},
		"too deep":          {replyWith(`{"content":"a","x":`+strings.Repeat("[", 300)+strings.Repeat("]", 300)+`}`, ``), fault.OllamaProtocol},
		"error on 200":      {`{"error":"odd"}`, fault.OllamaProtocol},
		"error and message": {`{"error":"odd","message":{"content":"x"},"done":true}`, fault.OllamaProtocol},
		"too many calls":    {replyWith(`{"tool_calls":[`+many+`]}`, ``), fault.OllamaModelOutput},
	} {
		if _, err := chatOnce(t, testConfig(), ask("x"), tc.body); fault.CodeOf(err) != tc.want {
			t.Errorf("%s: got %v, want %s", name, err, tc.want)
		}
	}
}

// proves A-OLL-07
func TestArgumentForms(t *testing.T) {
	for raw, want := range map[string]string{
		``: `{}`, `,"arguments":null`: `{}`, `,"arguments":""`: `{}`, `,"arguments":" "`: `{}`, `,"arguments":{}`: `{}`,
		`,"arguments":{"path":"a"}`:             `{"path":"a"}`,
		`,"arguments":"{\"path\":\"a\"}"`:       `{"path":"a"}`,
		`,"arguments":"plain"`:                  `{"arguments_not_an_object":"plain"}`,
		`,"arguments":"{\"a\":1,\"a\":2}"`:      `{"arguments_not_an_object":"{\"a\":1,\"a\":2}"}`,
		`,"arguments":["path"]`:                 `{"arguments_not_an_object":["path"]}`,
		`,"arguments":7`:                        `{"arguments_not_an_object":7}`,
		`,"parameters":{"path":"not an alias"}`: `{}`,
	} {
		got, err := chatOnce(t, testConfig(), ask("x"), replyWith(`{"content":"","tool_calls":[{"id":"i","function":{"name":"file_read"`+raw+`}}]}`, ``))
		if err != nil || len(got.Message.ToolCalls) != 1 {
			t.Errorf("%s: %v, %+v", raw, err, got)
			continue
		}
		want := agent.ToolCall{ID: "i", Name: "file_read", Arguments: json.RawMessage(want), Source: agent.SourceNative}
		if d := cmp.Diff(want, got.Message.ToolCalls[0]); d != "" {
			t.Errorf("%s: %s", raw, d)
		}
	}
}

// proves A-OLL-07, A-OLL-08
func TestCallIDsAreUsable(t *testing.T) {
	body := replyWith(`{"tool_calls":[{"id":"a","function":{"name":"x"}},{"id":"a","function":{"name":"y"}},{"function":{"name":"z"}},{"id":"b\u0000","function":{"name":"w"}}]}`, ``)
	got, err := chatOnce(t, testConfig(), ask("x"), body)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	echo := []agent.Message{got.Message}
	for _, c := range got.Message.ToolCalls {
		if seen[c.ID] || c.ID == "" {
			t.Errorf("id %q of %s is not its own", c.ID, c.Name)
		}
		seen[c.ID] = true
		echo = append(echo, agent.Message{Role: "tool", ToolName: c.Name, ToolCallID: c.ID})
	}
	if err := ValidateConversation(echo); err != nil || got.Message.ToolCalls[0].ID != "a" {
		t.Errorf("echo: %v, first id %q", err, got.Message.ToolCalls[0].ID)
	}
}

// proves A-OLL-01, A-OLL-04, A-OLL-08
func TestInterpretation(t *testing.T) {
	cfg := testConfig()
	cfg.Options.NumCtx = ptr(4096)
	call := `"tool_calls":[{"id":"i","function":{"name":"file_read","arguments":{"path":"a"}}}]`
	type view struct {
		Content, Thinking                 string
		Calls, CutCalls                   int
		Truncated, Window, Empty, Dropped bool
	}
	for name, tc := range map[string]struct {
		body string
		want view
	}{
		"text":               {okReply, view{Content: "done"}},
		"thinking apart":     {replyWith(`{"content":"a","thinking":"b"}`, ``), view{Content: "a", Thinking: "b"}},
		"leaked thinking":    {replyWith(`{"content":"<think>b</think>a"}`, ``), view{Content: "a", Thinking: "b"}},
		"text before a call": {replyWith(`{"content":"first",`+call+`}`, ``), view{Content: "first", Calls: 1}},
		"dropped call":       {replyWith(`{"content":""}`, `,"done_reason":"stop","eval_count":14`), view{Empty: true, Dropped: true}},
		"blank":              {replyWith(`{"content":" \n"}`, `,"done_reason":"stop","eval_count":2`), view{Content: " \n", Empty: true, Dropped: true}},
		"nothing said":       {replyWith(`{"content":""}`, `,"done_reason":"stop","eval_count":1`), view{Empty: true}},
		"only thinking":      {replyWith(`{"content":"","thinking":"t"}`, `,"eval_count":9`), view{Thinking: "t", Empty: true, Dropped: true}},
		"cut with a call":    {replyWith(`{"content":"x",`+call+`}`, `,"done_reason":"length","eval_count":9`), view{Content: "x", CutCalls: 1, Truncated: true}},
		"cut in thinking":    {replyWith(`{"content":"","thinking":"t"}`, `,"done_reason":"length","eval_count":80`), view{Thinking: "t", Truncated: true, Empty: true}},
		"window full":        {replyWith(`{"content":"x"}`, `,"done_reason":"length","prompt_eval_count":193,"eval_count":3903`), view{Content: "x", Truncated: true, Window: true}},
		"finished just so":   {replyWith(`{"content":"x"}`, `,"done_reason":"stop","prompt_eval_count":193,"eval_count":3903`), view{Content: "x"}},
	} {
		r, err := chatOnce(t, cfg, ask("x"), tc.body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := view{r.Message.Content, r.Message.Thinking, len(r.Message.ToolCalls), r.CutCalls, r.Truncated, r.WindowExhausted, r.Empty, r.Dropped}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	r, err := chatOnce(t, cfg, ask("x"), okReply)
	if want := (agent.Usage{Input: 5, Output: 3}); err != nil || r.Usage != want {
		t.Errorf("usage %+v, %v", r.Usage, err)
	}
}

// proves A-OLL-08
func TestSilentTruncationIsNoticed(t *testing.T) {
	long := strings.Repeat("All work and no play. ", 3000) // about 66,000 bytes
	for name, tc := range map[string]struct {
		text, counts string
		want         bool
	}{
		"cut":            {long, `,"prompt_eval_count":2051`, true},
		"whole":          {long, `,"prompt_eval_count":15000`, false},
		"no count":       {long, ``, false},
		"cache noted":    {long, `,"prompt_eval_count":20,"cache_n":15000`, false},
		"blanks are few": {strings.Repeat(" ", 100000), `,"prompt_eval_count":40`, false},
		"short":          {"hi", `,"prompt_eval_count":3`, false},
	} {
		r, err := chatOnce(t, testConfig(), ask(tc.text), replyWith(`{"content":"x"}`, tc.counts))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(r.Warnings) == 1 && r.Warnings[0].Code == fault.OllamaContextTruncated; got != tc.want {
			t.Errorf("%s: warnings %v", name, r.Warnings)
		}
	}
}

// proves A-OLL-04
func TestSplitThinking(t *testing.T) {
	for in, want := range map[string][2]string{
		"plain < text":                             {"plain < text", ""},
		"<think>\na\n</think>\n\nb":                {"b", "a"},
		"<THINK>a</THINK>b":                        {"b", "a"},
		"<thinking>a</thinking>b":                  {"b", "a"},
		"a</think>\n\nb":                           {"b", "a"},
		"<think>never ends":                        {"", "never ends"},
		" \n<think>never ends":                     {"", "never ends"},
		"x<think>a</think>y<think>b</think>z":      {"xyz", "ab"},
		"<think>a<think>b</think>c</think>d":       {"d", "abc"},
		"<think></think>b":                         {"b", ""},
		"The tag is `<think>` and it stays quoted": {"The tag is `<think>` and it stays quoted", ""},
		"<think>a</think>Use <think> here":         {"Use <think> here", "a"},
	} {
		answer, thinking := splitThinking(in, false)
		if answer != want[0] || thinking != want[1] {
			t.Errorf("%q: got %q, %q; want %q, %q", in, answer, thinking, want[0], want[1])
		}
	}
	if answer, thinking := splitThinking("text <think> cut", true); answer != "text" || thinking != "cut" {
		t.Errorf("cut answer: %q, %q", answer, thinking)
	}
}

func FuzzSplitThinking(f *testing.F) {
	f.Add("<think>a</think>b", false)
	f.Add("x</think>y<think>z", true)
	f.Fuzz(func(t *testing.T, s string, cut bool) {
		answer, thinking := splitThinking(s, cut)
		if len(answer)+len(thinking) > len(s) {
			t.Errorf("%q grew: %q, %q", s, answer, thinking)
		}
		if strings.Contains(strings.ToLower(answer), "</think>") {
			t.Errorf("%q: a closing tag is left in %q", s, answer)
		}
	})
}

// What the decoder accepts can be echoed, logged and sent back without an error, whatever the server wrote.
func FuzzReply(f *testing.F) {
	f.Add([]byte(okReply))
	f.Add([]byte(replyWith(`{"content":"{\"name\":\"file_read\",\"arguments\":{\"path\":\"a\"}}"}`, ``)))
	f.Add([]byte(replyWith(`{"tool_calls":[{"function":{"name":"a","arguments":"{}"}},{"id":"x","function":{"name":"b","arguments":[1]}}]}`, `,"done_reason":"length"`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeReply(data)
		if err != nil {
			return
		}
		out := interpret(r, Request{Tools: []agent.ToolSpec{readTool}, Validate: needsPath}, ptr(4096))
		if out.Truncated && len(out.Message.ToolCalls) > 0 {
			t.Error("a cut answer has calls")
		}
		if out.Empty && len(out.Message.ToolCalls) > 0 {
			t.Error("empty with calls")
		}
		echo := []agent.Message{out.Message}
		for _, c := range out.Message.ToolCalls {
			if !bytes.HasPrefix(c.Arguments, []byte("{")) {
				t.Errorf("arguments %s", c.Arguments)
			}
			echo = append(echo, agent.Message{Role: "tool", ToolName: c.Name, ToolCallID: c.ID})
		}
		c, err := New(testConfig())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.encode(Request{Messages: echo}); err != nil {
			t.Errorf("%s cannot be echoed: %v", data, err)
		}
		var rec CallRecord
		c.complete(&rec, Request{Messages: echo}, out, nil)
		if line, err := json.Marshal(rec); err != nil {
			t.Errorf("%s cannot be logged: %v", fmt.Sprintf("%.200s", line), err)
		}
	})
}
