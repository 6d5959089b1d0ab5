package replies_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/fault"
	"sekisho/internal/strictjson"
	"sekisho/test/fakes/ollama/replies"
	"sekisho/test/goroutines"
)

func TestMain(m *testing.M) { goroutines.Main(m) }

// outcome is what the client makes of the first logical call of a case.
type outcome struct {
	code  fault.Code
	http  int // HTTP exchanges
	calls []call
	text  string
	// Marks of the response.
	truncated, window, empty, dropped bool
	warning                           fault.Code
}

type call struct{ name, arguments, source string }

func native(name, args string) call    { return call{name, args, agent.SourceNative} }
func recovered(name, args string) call { return call{name, args, agent.SourceContent} }

const readme = `{"mode":"whole","path":"README.md"}`

// want is the client's part of every case; the runtime's part is tested there with the same files.
var want = map[string]outcome{
	"F01": {http: 1, calls: []call{recovered("file_read", readme)}},
	"F02": {http: 1, calls: []call{recovered("file_read", readme)}},
	"F03": {http: 1, calls: []call{recovered("dir", `{"operation":"list","path":"."}`)}},
	"F05": {http: 1, text: "A tool call looks like this:"},
	"F06": {http: 1, calls: []call{native("assistant<|channel|>analysis", `{"command":"./test"}`)}},
	"F07": {http: 1, calls: []call{native("TodoWrite", `{"todos":[{"content":"a"}]}`)}},
	"F08": {http: 1, calls: []call{native("", `{"path":"README.md"}`)}},
	"F09": {http: 1, calls: []call{native("functions.file_read", readme)}},
	"F11": {http: 1, calls: []call{native("file_search", `{"mode":"text","root":"."}`)}},
	"F12": {http: 1, calls: []call{native("file_read", `{"mode":"whole"}`)}},
	"F13": {http: 1, calls: []call{native("dir", `{}`)}},
	"F14": {http: 1, calls: []call{native("file_edit", `{}`)}},
	"F16": {http: 1, code: fault.OllamaContextOverflow},
	"F17": {http: 1, empty: true, dropped: true},
	"F18": {http: 1, truncated: true, empty: true},
	"F20": {http: 1, text: "Here is the plan:"},
	"F21": {http: 2, calls: []call{native("file_read", readme)}},
	"F22": {http: 4, code: fault.OllamaModelOutput},
	"F23": {http: 1, code: fault.OllamaProtocol},
	"F25": {http: 1, text: "I have no tools available.", warning: fault.OllamaContextTruncated},
	"F26": {http: 1, text: "The answer is that the", truncated: true, window: true},
	"F28": {http: 1, code: fault.OllamaQuotaExceeded},
	"F29": {http: 2, text: "done"},
	"F30": {http: 4, code: fault.OllamaUnavailable},
	"F31": {http: 2, calls: []call{native("file_read", readme)}},
	"F32": {http: 1, code: fault.OllamaToolsUnsupported},
	"F34": {http: 1, text: "The title is Demo."},
	"F35": {http: 1, empty: true, dropped: true},
	"F37": {http: 1, calls: []call{native("dir", `{"operation":"list","path":"."}`)}},
	"F38": {http: 1, code: fault.OllamaRequestRejected},
	"F39": {http: 1, calls: []call{native("file_read", `{"mode":"whole","path":"a.txt"}`), native("file_read", `{"mode":"whole","path":"b.txt"}`)}},
	"F40": {http: 1, text: "I'll read the TASKS.md file"},
}

// request is a call of c's phase with c's tools.
func request(c replies.Case) ollama.Request {
	r := ollama.Request{Phase: agent.PhaseExecution, Messages: []agent.Message{{Role: "user", Content: "Do the task. "}}}
	if n := c.Task.EstimatedPromptTokens; n > 0 {
		r.Messages[0].Content += strings.Repeat("word ", n*4/5) // four bytes a token
	}
	if c.Phase == "plan" {
		r.Phase, r.Format = agent.PhasePlanning, json.RawMessage(`{"type":"object"}`)
		return r
	}
	for _, name := range c.Task.Tools {
		r.Tools = append(r.Tools, agent.ToolSpec{Name: name, Description: "A tool."})
	}
	r.Validate = func(call agent.ToolCall) error {
		if !bytes.Contains(call.Arguments, []byte(`"path"`)) {
			return errors.New("path is missing")
		}
		return nil
	}
	return r
}

func play(t *testing.T, c replies.Case) (outcome, ollama.Response) {
	t.Helper()
	s := replies.Serve(c)
	defer s.Close()
	m, err := ollama.New(ollama.Config{Endpoint: s.URL, Model: "scripted", Think: json.RawMessage("true"), Options: agent.OllamaOptions{NumCtx: window(c)},
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := m.Chat(t.Context(), request(c))
	o := outcome{code: fault.CodeOf(err), http: len(s.Requests()), text: r.Message.Content, truncated: r.Truncated, window: r.WindowExhausted, empty: r.Empty, dropped: r.Dropped}
	if err != nil && o.code == "" {
		t.Errorf("%s: an error without a code: %v", c.ID, err)
	}
	for _, w := range r.Warnings {
		o.warning = w.Code
	}
	for _, k := range r.Message.ToolCalls {
		args, err := strictjson.Canonical(k.Arguments)
		if err != nil {
			t.Errorf("%s: arguments of %s: %v", c.ID, k.Name, err)
		}
		o.calls = append(o.calls, call{k.Name, string(args), k.Source})
	}
	return o, r
}

func window(c replies.Case) *int {
	n := 4096
	if c.ID != "F26" {
		n = 131072
	}
	return &n
}

// proves A-OLL-04, A-OLL-06, A-OLL-07, A-OLL-08
func TestCases(t *testing.T) {
	cases, err := replies.Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != len(want) {
		t.Errorf("%d cases, %d expectations", len(cases), len(want))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			got, r := play(t, c)
			w, ok := want[c.ID]
			if !ok {
				t.Fatal("no expectation")
			}
			if w.text != "" && strings.HasPrefix(got.text, w.text) {
				got.text = w.text
			}
			if d := cmp.Diff(w, got, cmp.AllowUnexported(outcome{}, call{})); d != "" {
				t.Errorf("%s (%s): %s", c.Title, c.Expect.Class, d)
			}
			checkEcho(t, r)
		})
	}
}

// checkEcho proves that the message can be sent back with one result per call, in position, also when ids repeat.
func checkEcho(t *testing.T, r ollama.Response) {
	t.Helper()
	messages := []agent.Message{r.Message}
	if r.Message.Role == "" {
		return // the call failed
	}
	ids := map[string]bool{}
	for _, c := range r.Message.ToolCalls {
		if ids[c.ID] {
			t.Errorf("id %s is there twice", c.ID)
		}
		ids[c.ID] = true
		messages = append(messages, agent.Message{Role: "tool", ToolName: c.Name, ToolCallID: c.ID})
	}
	if err := ollama.ValidateConversation(messages); err != nil {
		t.Errorf("echo: %v", err)
	}
}

// What a case lets through to the policy engine is among the calls that the client returned for some reply.
//
// proves A-OLL-07
func TestDispatchableCallsArrive(t *testing.T) {
	cases, err := replies.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		got, _ := play(t, c)
		for _, d := range c.Expect.Dispatch {
			args, err := strictjson.Canonical(d.Arguments)
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, k := range got.calls {
				found = found || k.name == d.Tool && k.arguments == string(args)
			}
			if !found {
				t.Errorf("%s: %s %s did not arrive: %+v", c.ID, d.Tool, args, got.calls)
			}
		}
	}
}
