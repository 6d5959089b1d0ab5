package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/planner"
	"sekisho/internal/fault"
	"sekisho/test/fakes/ollama/replies"
)

// outcomes says how an agent task ends whose model answers as the case does, over and over, and how many chat requests are
// made at most until then (planning included); 0 leaves the number open.
var outcomes = map[string]struct {
	code     fault.Code
	result   string
	requests int
}{
	"F01": {code: fault.AgentSameFailureLimit}, // recovered and executed once; the repetition is no progress
	"F02": {code: fault.AgentSameFailureLimit},
	"F03": {code: fault.AgentSameFailureLimit},
	"F05": {result: "A tool call looks like this:"},
	"F06": {code: fault.AgentSameFailureLimit, requests: 6},
	"F07": {code: fault.AgentSameFailureLimit, requests: 6},
	"F08": {code: fault.AgentSameFailureLimit, requests: 6},
	"F09": {code: fault.AgentSameFailureLimit, requests: 6},
	"F11": {code: fault.AgentSameFailureLimit, requests: 6},
	"F12": {code: fault.AgentSameFailureLimit, requests: 6}, // no sixth call of the run
	"F13": {code: fault.AgentSameFailureLimit, requests: 6},
	"F14": {code: fault.AgentSameFailureLimit, requests: 6},
	"F16": {code: fault.OllamaContextOverflow, requests: 2}, // nothing to shorten, so never the same payload again
	"F17": {code: fault.AgentSameFailureLimit, requests: 6},
	"F18": {code: fault.OllamaOutputTruncated, requests: 2},
	"F20": {code: fault.PlannerFailed, requests: 2},
	"F21": {code: fault.AgentSameFailureLimit},
	"F22": {code: fault.OllamaModelOutput, requests: 5},
	"F23": {code: fault.OllamaProtocol, requests: 2},
	"F25": {code: fault.OllamaContextTruncated, requests: 2},
	"F26": {code: fault.OllamaOutputTruncated, requests: 2},
	"F28": {code: fault.OllamaQuotaExceeded, requests: 2},
	"F29": {code: fault.AgentSameFailureLimit}, // retried; "done" alone proves nothing
	"F30": {code: fault.OllamaUnavailable, requests: 5},
	"F31": {code: fault.AgentSameFailureLimit},
	"F32": {code: fault.OllamaToolsUnsupported, requests: 2},
	"F34": {result: "The title is Demo."},
	"F35": {code: fault.AgentSameFailureLimit, requests: 6},
	"F37": {code: fault.AgentSameFailureLimit, requests: 7}, // once executed, five times repeated
	"F38": {code: fault.OllamaRequestRejected, requests: 2},
	"F39": {code: fault.AgentSameFailureLimit},
	"F40": {code: fault.AgentSameFailureLimit, requests: 6},
}

// planFor is the plan under which the case's replies come.
func planFor(c replies.Case) replies.Response {
	effect := false
	for _, name := range c.Task.RequiredTools { // the cases mark reading tasks as effects, which no plan may
		effect = effect || planner.SideEffect(name, "mkdir")
	}
	content, _ := json.Marshal(`{"tasks":[` + planned("t1", effect, strings.Join(c.Task.RequiredTools, " ")) + `]}`)
	return replies.Response{Status: 200, Body: fmt.Appendf(nil, `{"message":{"role":"assistant","content":%s},"done":true,"done_reason":"stop","prompt_eval_count":500,"eval_count":50}`, content)}
}

// proves A-OLL-07, A-OLL-08, A-TOOL-08, A-SES-07, A-PLAN-04, A-MCP-03
func TestReportedModelFailures(t *testing.T) {
	cases, err := replies.Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != len(outcomes) {
		t.Errorf("%d cases, %d outcomes", len(cases), len(outcomes))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			want, known := outcomes[c.ID]
			if !known {
				t.Fatal("no outcome is stated")
			}
			scripted := c
			if c.Phase == "run" {
				scripted.Responses = append([]replies.Response{planFor(c)}, c.Responses...)
			}
			server := replies.Serve(scripted)
			defer server.Close()
			cfg := config()
			cfg.NumCtx = 0
			options := agent.OllamaOptions{}
			if c.ID == "F26" {
				cfg.NumCtx, options.NumCtx = 4096, new(int)
				*options.NumCtx = 4096
			}
			client, err := ollama.New(ollama.Config{
				Endpoint: server.URL, Model: "scripted:latest", Think: json.RawMessage("true"), Options: options,
				Wait: func(context.Context, time.Duration) error { return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			w := newWorldWith(t, cfg, client)
			request := "THE REQUEST"
			for n := c.Task.EstimatedPromptTokens; len(request) < 4*n; {
				request += fmt.Sprintf(" line %d of the text", len(request))
			}
			a := w.enqueue(Request{Text: request})
			<-w.Done(a.TaskID)
			s := w.status(a.TaskID)

			state := agent.Failed
			if want.code == "" {
				state = agent.Completed
			}
			if s.Status != state || s.LastErrorCode != want.code {
				t.Errorf("ended %s %q (%s), want %s %q", s.Status, s.LastErrorCode, s.LastError, state, want.code)
			}
			if !strings.HasPrefix(s.Result, want.result) || strings.Contains(s.Result, "<think>") {
				t.Errorf("result %q", s.Result)
			}
			var dispatch []string
			for _, d := range c.Expect.Dispatch {
				dispatch = append(dispatch, d.Tool+" "+canonical(agent.ToolCall{Arguments: d.Arguments}))
			}
			if d := cmp.Diff(dispatch, w.tools.dispatched()); d != "" {
				t.Error("dispatched:", d)
			}
			sent := server.Requests()
			if want.requests > 0 && len(sent) != want.requests {
				t.Errorf("%d requests, want %d", len(sent), want.requests)
			}
			if c.Expect.Class == "context_overflow" {
				seen := map[string]bool{}
				for _, body := range sent {
					if seen[string(body)] {
						t.Error("an identical payload was sent again")
					}
					seen[string(body)] = true
				}
			}
		})
	}
}
