package ollama

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
)

type memoryLog struct {
	records []CallRecord
	err     error
}

func (m *memoryLog) LogCall(r CallRecord) error {
	m.records = append(m.records, r)
	return m.err
}

// proves A-LOG-02, A-OLL-04, A-OLL-09
func TestLogRecord(t *testing.T) {
	log := &memoryLog{}
	n := 0
	c := live(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/show" {
			fmt.Fprint(w, `{"capabilities":["vision"]}`)
			return
		}
		switch n++; n {
		case 1:
			w.WriteHeader(500)
			fmt.Fprint(w, `{"error":"error parsing tool call: x"}`)
		case 2:
			w.WriteHeader(503)
		default:
			fmt.Fprint(w, replyWith(`{"content":"<think>SECRET-THOUGHT</think>","thinking":"SECRET-THOUGHT","tool_calls":[{"id":"i","function":{"name":"file_read","arguments":{"path":"a"}}}]}`,
				`,"done_reason":"stop","prompt_eval_count":7,"eval_count":2`))
		}
	}, func(cfg *Config) {
		cfg.Log, cfg.HeaderValueFile = log, secretFile(t, "SECRET-KEY")
		cfg.Options.NumCtx = ptr(8192)
	})
	call := agent.ToolCall{ID: "p", Name: "dir", Arguments: json.RawMessage(`{}`), Source: agent.SourceContent}
	out, err := c.Chat(t.Context(), Request{
		Phase: agent.PhaseExecution,
		Messages: []agent.Message{
			{Role: "user", Content: "go", Images: []agent.Image{{MIMEType: "image/png", Data: "U0VDUkVU"}}},
			{Role: "assistant", Thinking: "SECRET-THOUGHT", ToolCalls: []agent.ToolCall{call}},
			{Role: "tool", Content: "listing", ToolName: "dir", ToolCallID: "p"},
		},
		Tools: []agent.ToolSpec{readTool},
		Meta:  Meta{Session: "s", Task: "t", PlannerTask: "t1", Iteration: 3, Replan: 1},
	})
	if err != nil || len(log.records) != 1 {
		t.Fatalf("%v, %d records", err, len(log.records))
	}
	got := log.records[0]
	line, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"SECRET-THOUGHT", "SECRET-KEY", "U0VDUkVU", "think>"} {
		if strings.Contains(string(line), secret) {
			t.Errorf("the record holds %s: %s", secret, line)
		}
	}
	if got.CallID == "" || got.CallID != out.CallID || got.Time.IsZero() {
		t.Errorf("call id %q, %q", got.CallID, out.CallID)
	}
	got.CallID, got.Time, got.DurationMS, got.Attempts[0].Cause, got.Attempts[1].Cause, got.Request.Endpoint = "", got.Time.AddDate(-5000, 0, 0), 0, "", "", ""
	want := CallRecord{
		Time: got.Time, Session: "s", Task: "t", PlannerTask: "t1", Phase: agent.PhaseExecution, Iteration: 3, Replan: 1, Model: "m",
		Request: RequestRecord{Think: json.RawMessage("true"), Options: json.RawMessage(`{"num_ctx":8192}`), Tools: []string{"file_read"}},
		Prompt: []MessageRecord{
			{Role: "user", Content: "go", Images: []string{"image/png, 8 bytes of Base64"}},
			{Role: "assistant", ToolCalls: []CallEntry{{ID: "p", Name: "dir", Arguments: json.RawMessage(`{}`), Source: agent.SourceContent}}},
			{Role: "tool", Content: "listing", ToolName: "dir", ToolCallID: "p"},
		},
		Attempts: []AttemptRecord{{Status: 500, Code: fault.OllamaModelOutput, WaitMS: 250}, {Status: 503, Code: fault.OllamaUnavailable, WaitMS: 500}, {Status: 200}},
		Response: &ResponseRecord{ToolCalls: []CallEntry{{ID: "i", Name: "file_read", Arguments: json.RawMessage(`{"path":"a"}`), Source: agent.SourceNative}},
			DoneReason: "stop", Usage: agent.Usage{Input: 7, Output: 2}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// proves A-LOG-02
func TestFailedCallsAreLogged(t *testing.T) {
	log := &memoryLog{err: errors.New("disk full")}
	cfg := testConfig()
	cfg.Log = log
	c, _, _ := stubbed(t, cfg, stubAnswer{status: 404, body: `{"error":"model 'm' not found"}`})
	out, err := c.Chat(t.Context(), ask("x"))
	if fault.CodeOf(err) != fault.OllamaModelNotFound || out.LogError == nil || len(log.records) != 1 {
		t.Fatalf("%v, log error %v", err, out.LogError)
	}
	r := log.records[0]
	if r.ErrorCode != fault.OllamaModelNotFound || r.Response != nil || len(r.Attempts) != 1 || r.Attempts[0].Status != 404 {
		t.Errorf("record %+v", r)
	}
}
