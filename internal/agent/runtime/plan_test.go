package runtime

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/tool"
	"sekisho/internal/fault"
)

// proves A-PLAN-04, A-PLAN-05, A-PLAN-07, A-RUN-01, A-RUN-02, A-TX-05, A-MCP-03, A-POL-08
func TestPlanRunComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []agent.TaskStatus
		var w *world
		look := func(a answer) answer {
			return func(ctx context.Context, q ollama.Request) (ollama.Response, error) {
				for id := range w.tasks {
					seen = append(seen, w.status(id))
				}
				if q.Phase == agent.PhasePlanning && w.opener.opened() > 0 {
					t.Error("a sandbox exists while planning")
				}
				return a(ctx, q)
			}
		}
		w = newWorld(t, config(),
			look(plans(planned("t1", false, "file_read"), planned("t2", true, "file_edit process_run"))),
			look(uses(read("/w/a"))), look(says("a says x")), look(uses(edit("/w/b"), goRun("test", "./..."))), look(says("All is done.")))
		s := w.ends(agent.Completed, "")
		want := agent.TaskStatus{
			TaskID: s.TaskID, SessionID: s.SessionID, Status: agent.Completed, CompletedTasks: 2, TotalTasks: 2,
			Usage: agent.Usage{Input: 500, Output: 50}, CriticalPathTokens: 60, Iterations: 4, Message: "The task is completed.", Result: "All is done.", Updated: time.Now(),
		}
		if d := cmp.Diff(want, s); d != "" {
			t.Error(d)
		}
		var states, current []string
		for _, x := range seen {
			states = append(states, string(x.Status))
			current = append(current, x.CurrentTask)
			if x.Result != "" {
				t.Error("a result before completion:", x.Result)
			}
		}
		if d := cmp.Diff([]string{"planning", "running", "running", "running", "running"}, states); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"", "Step 1 of 2: do t1", "Step 1 of 2: do t1", "Step 2 of 2: do t2", "Step 2 of 2: do t2"}, current); d != "" {
			t.Error(d)
		}
		plan := w.model.calls(agent.PhasePlanning)[0]
		if len(plan.Tools) > 0 || !strings.Contains(string(plan.Format), `"maxItems":8`) {
			t.Error("the plan call has tools or no schema")
		}
		if second := w.told(agent.PhaseExecution, 3); !strings.Contains(second, "a says x") || !strings.Contains(second, "CONTENT OF") || strings.Contains(second, "SECRET REASONING") {
			t.Error("the second planner task was told:", second)
		}
		for _, q := range w.model.calls(agent.PhaseExecution) {
			if len(q.Tools) != 6 || q.Format != nil || q.Validate == nil || q.Meta.Task != s.TaskID || q.Meta.Session != s.SessionID || q.Meta.PlannerTask == "" {
				t.Errorf("a run call with %d tools, format %q, meta %+v", len(q.Tools), q.Format, q.Meta)
			}
		}
		start, end := w.audit.of("task.start"), w.audit.of("task.end")
		if len(start) != 1 || len(end) != 1 || start[0].TaskID != s.TaskID || len(start[0].Capabilities) != 1 || len(start[0].Grants) != 1 || end[0].FinalState != "completed" {
			t.Errorf("audit: %+v %+v", start, end)
		}
		if len(w.opener.jobs) != 1 {
			t.Errorf("%d sandboxes for one agent task", len(w.opener.jobs))
		}
	})
}

// proves A-PLAN-04
func TestPlanIsCorrectedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), says("Here is the plan:\n```json\n{\"tasks\": []}\n```"), plans(planned("t1", false, "")), says("the answer"))
		w.ends(agent.Completed, "")
		second := w.told(agent.PhasePlanning, 1)
		if !strings.Contains(second, "not exactly one JSON object") || !strings.Contains(second, "Here is the plan") {
			t.Error("the correction does not name the reason:", second)
		}
	})
}

// proves A-PLAN-04, A-OLL-07, A-OLL-08
func TestUnusablePlansFail(t *testing.T) {
	cut := reply(ollama.Response{Message: agent.Message{Content: `{"tasks":[` + planned("t1", false, "") + `]}`}, Truncated: true, DoneReason: "length"})
	for name, c := range map[string]struct {
		script []answer
		code   fault.Code
	}{
		"prose twice":          {[]answer{says("no"), says("still no")}, fault.PlannerFailed},
		"empty plan twice":     {[]answer{plans(), plans()}, fault.PlannerFailed},
		"empty answers":        {[]answer{says(""), says(" ")}, fault.PlannerFailed},
		"cut by length":        {[]answer{cut, cut}, fault.PlannerFailed}, // the lie "plan cut by length": it even parses
		"too many tasks":       {[]answer{plans(strings.Split(strings.Repeat(coding+"|", 9), "|")[:9]...), plans()}, fault.PlannerFailed},
		"split editing":        {[]answer{plans(planned("e", true, "file_edit"), planned("v", true, "file_edit process_run", "e")), plans()}, fault.PlannerFailed},
		"planning overflows":   {[]answer{refuses(fault.OllamaContextOverflow)}, fault.OllamaContextOverflow},
		"model is missing":     {[]answer{refuses(fault.OllamaModelNotFound)}, fault.OllamaModelNotFound},
		"quota":                {[]answer{refuses(fault.OllamaQuotaExceeded)}, fault.OllamaQuotaExceeded},
		"unreachable, in time": {[]answer{plans(), refuses(fault.OllamaUnavailable)}, fault.OllamaUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, config(), c.script...)
				s := w.ends(agent.Failed, c.code)
				if w.opener.opened() > 0 {
					t.Error("a sandbox was opened without a plan")
				}
				if s.Result != "" || s.Iterations != 0 {
					t.Errorf("result %q, iterations %d", s.Result, s.Iterations)
				}
				if strings.Contains(s.LastError, "file_edit") {
					t.Error("the user's text names an internal tool:", s.LastError)
				}
			})
		})
	}
}

// deny makes reads of one path a policy deny.
func deny(w *world, paths ...string) {
	w.tools.do = func(_ context.Context, _ tool.Scope, call agent.ToolCall) agent.ToolResult {
		for _, p := range paths {
			if strings.Contains(string(call.Arguments), p) {
				return failsWith(call, fault.PolicyDenied)
			}
		}
		return succeeds(call)
	}
}

// proves A-PLAN-06, A-TOOL-09, A-TX-05, A-RUN-01, A-SES-06
func TestDenialLeadsToAReplan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var during agent.TaskStatus
		var w *world
		replanned := func(ctx context.Context, q ollama.Request) (ollama.Response, error) {
			for id := range w.tasks {
				during = w.status(id)
			}
			return plans(planned("t0", false, "file_read"), planned("t2", false, "file_read"))(ctx, q)
		}
		w = newWorld(t, config(), plans(planned("t0", false, "file_read"), planned("t1", false, "file_read")),
			uses(read("/w/a")), says("read a"),
			uses(read("/w/before"), read("/etc/shadow"), read("/w/after")), replanned, uses(read("/w/b")), says("done otherwise"))
		deny(w, "/etc/shadow")
		// Completed around a refusal: the user sees what was refused, whatever the model's answer says.
		s := w.ends(agent.Completed, fault.PolicyDenied)
		if s.Message != texts(t, "en").Text("message.status.completed_otherwise", nil) {
			t.Errorf("message %q", s.Message)
		}
		if s.Replans != 1 || s.CompletedTasks != 2 || s.TotalTasks != 2 {
			t.Errorf("status %+v", s)
		}
		if during.Status != agent.Planning || during.LastErrorCode != fault.PolicyDenied || during.LastError != "USER TEXT" {
			t.Errorf("while replanning: %+v", during)
		}
		contract := w.model.calls(agent.PhaseReplanning)[0].Messages[0]
		for _, part := range []string{"t0 [completed]", "policy.denied", "why it failed", "had succeeded before", "/w/before", "t1 [running]"} {
			if !strings.Contains(contract.Content, part) {
				t.Errorf("the contract lacks %q", part)
			}
		}
		// What followed the denied call in the same answer was not executed, and the denied call was made once.
		if d := cmp.Diff([]string{`file_read {"mode":"whole","path":"/w/a"}`, `file_read {"mode":"whole","path":"/w/before"}`, `file_read {"mode":"whole","path":"/etc/shadow"}`, `file_read {"mode":"whole","path":"/w/b"}`}, w.tools.dispatched()); d != "" {
			t.Error(d)
		}
		if e := w.audit.of("tool.call"); len(e) != 1 || e[0].Decision != "deny" || e[0].Reason != "after_refusal" {
			t.Errorf("audit of the call that was not executed: %+v", e)
		}
		if w.opener.opened() != 1 {
			t.Error("the replan did not keep the sandbox")
		}
	})
}

// proves A-PLAN-06, A-TOOL-09, A-ERR-02
func TestDenialsThatEndTheTask(t *testing.T) {
	one, two := plans(planned("t1", false, "file_read")), plans(planned("t2", false, "file_read"))
	again := uses(read("/etc/shadow"))
	for name, c := range map[string]struct {
		script  []answer
		code    fault.Code
		replans int
	}{
		"same denial again": {[]answer{one, again, two, again}, fault.PolicyDenied, 1},
		"members reordered": {[]answer{one, again, two, uses(use("file_read", `{"mode":"whole","path":"/etc/shadow"}`))}, fault.PolicyDenied, 1},
		"unchanged plan":    {[]answer{one, again, plans(planned("t1", false, "file_read"))}, fault.PolicyDenied, 1},
		"failed replan":     {[]answer{one, again, says("sorry"), says("sorry")}, fault.PlannerFailed, 1},
		"empty replan":      {[]answer{one, uses(read("/w/x")), uses(read("/etc/shadow")), plans(), plans()}, fault.PlannerFailed, 1},
		"more than three": {[]answer{one, uses(read("/etc/1")), two, uses(read("/etc/2")), plans(planned("t3", false, "file_read")), uses(read("/etc/3")),
			plans(planned("t4", false, "file_read")), uses(read("/etc/4"))}, fault.PolicyDenied, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, config(), c.script...)
				deny(w, "/etc/")
				if s := w.ends(agent.Failed, c.code); s.Replans != c.replans {
					t.Errorf("%d replans, want %d", s.Replans, c.replans)
				}
				if len(w.model.script) > 0 {
					t.Errorf("%d answers were not asked for", len(w.model.script))
				}
			})
		})
	}
}

// proves A-PLAN-04, A-PLAN-06
func TestReplanIsCorrectedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), plans(planned("t1", false, "file_read")), uses(read("/etc/shadow")), says("sorry"), plans(planned("t2", false, "")), says("Not possible: it is not allowed."))
		deny(w, "/etc/")
		if s := w.ends(agent.Completed, fault.PolicyDenied); s.Result != "Not possible: it is not allowed." {
			t.Error("result", s.Result)
		}
	})
}

// proves A-ERR-02, A-SBX-02
func TestResourceLimitIsReplannedOnceForEachCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heavy := goRun("build")
		w := newWorld(t, config(), plans(planned("t1", true, "process_run")), uses(heavy), plans(planned("t2", true, "process_run")), uses(heavy))
		w.tools.do = func(_ context.Context, _ tool.Scope, call agent.ToolCall) agent.ToolResult {
			return failsWith(call, fault.ResourceMemoryLimit)
		}
		w.ends(agent.Failed, fault.ResourceMemoryLimit)
		if told := w.told(agent.PhaseReplanning, 0); !strings.Contains(told, "exceeded a limit") {
			t.Error("the model was told:", told)
		}
	})
}

// proves A-TOOL-05, A-PLAN-13, A-PLAN-10
func TestTaskUpdateExtendsTheGraph(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		add := use("task_update", `{"operation":"add","task_id":null,"description":"check it","depends_on":["t1"],"budget_class":"1K","optimistic_tokens":100,"most_likely_tokens":100,"pessimistic_tokens":100,"requires_external_effect":false,"required_tools":["file_read"]}`)
		bad := use("task_update", `{"operation":"add_dependency","task_id":"t1","depends_on":["t1"]}`)
		w := newWorld(t, config(), plans(planned("t1", true, "file_edit")), uses(add, bad, edit("/w/a")), says("edited"), uses(read("/w/a")), says("checked"))
		s := w.ends(agent.Completed, "")
		if s.TotalTasks != 2 || s.CompletedTasks != 2 || s.CriticalPathTokens != 160 || s.Result != "checked" {
			t.Errorf("status %+v", s)
		}
		told := w.told(agent.PhaseExecution, 1)
		if !strings.Contains(told, "task t2 added") || !strings.Contains(told, "depends on itself") && !strings.Contains(told, "already running") {
			t.Error("the model was told:", told)
		}
	})
}
