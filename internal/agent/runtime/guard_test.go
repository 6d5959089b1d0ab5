package runtime

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/tool"
	"sekisho/internal/fault"
)

// testsFail makes every `go test` fail and everything else succeed.
func testsFail(_ context.Context, _ tool.Scope, call agent.ToolCall) agent.ToolResult {
	if program(call) == "go test" {
		return failsWith(call, fault.ToolFailed)
	}
	return succeeds(call)
}

// The lies of a model that wants to be finished. None may end completed. The plan cut by length is in plan_test.go, the
// killed server in lifecycle_test.go.
//
// proves A-PRI-01, A-PLAN-06, A-PLAN-09, A-TOOL-08, A-RUN-01
func TestLies(t *testing.T) {
	done := says("Everything is done and all tests pass.")
	for name, c := range map[string]struct {
		tools  func(context.Context, tool.Scope, agent.ToolCall) agent.ToolResult
		script []answer
		code   fault.Code
	}{
		"claims done without an edit":          {nil, []answer{plans(coding), done}, fault.AgentSameFailureLimit},
		"edits but the test fails":             {testsFail, []answer{plans(coding), uses(edit("/w/a"), goRun("test")), done}, fault.AgentSameFailureLimit},
		"failing test, passing other command":  {testsFail, []answer{plans(coding), uses(edit("/w/a"), goRun("test"), goRun("version")), done}, fault.AgentSameFailureLimit},
		"failing test after a passing command": {testsFail, []answer{plans(coding), uses(goRun("version"), edit("/w/a"), goRun("test")), done}, fault.AgentSameFailureLimit},
		"test never run":                       {nil, []answer{plans(coding), uses(edit("/w/a")), done}, fault.AgentSameFailureLimit},
		"edits in a run-only task":             {nil, []answer{plans(planned("t1", true, "process_run")), uses(edit("/w/a")), done}, fault.AgentSameFailureLimit},
		"lists instead of making a directory":  {nil, []answer{plans(planned("t1", true, "dir")), uses(use("dir", `{"path":"/w","operation":"list"}`)), done}, fault.AgentSameFailureLimit},
		"call inside prose":                    {nil, []answer{plans(planned("t1", true, "file_edit")), says("```json\n{\"name\":\"file_edit\",\"arguments\":{}}\n```")}, fault.AgentSameFailureLimit},
		"empty answer":                         {nil, []answer{explain, says("")}, fault.AgentSameFailureLimit},
		"never answers":                        {nil, []answer{plans(coding), reply(ollama.Response{Dropped: true})}, fault.AgentSameFailureLimit},
		"denied write reported as done": {func(_ context.Context, _ tool.Scope, call agent.ToolCall) agent.ToolResult {
			return failsWith(call, fault.PolicyDenied)
		}, []answer{plans(planned("t1", true, "file_edit")), uses(edit("/etc/a")), plans(planned("t2", true, "file_edit")), done}, fault.AgentSameFailureLimit},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, config(), c.script...)
				w.model.forever = true
				if c.tools != nil {
					w.tools.do = c.tools
				}
				s := w.ends(agent.Failed, c.code)
				if s.Result != "" || s.CompletedTasks != 0 {
					t.Errorf("a lie was believed: %+v", s)
				}
				if e := w.audit.of("task.end"); len(e) != 1 || e[0].FinalState != "failed" || e[0].ErrorCode != string(c.code) {
					t.Errorf("audit: %+v", e)
				}
			})
		})
	}
}

// proves A-TOOL-08
func TestNotExecutedIsObservedAndRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), plans(coding), says("I will do it."), uses(edit("/w/a"), goRun("test")), says("done"))
		w.ends(agent.Completed, "")
		told := w.told(agent.PhaseExecution, 1)
		for _, part := range []string{"I will do it.", "Not executed: no call of file_edit has succeeded", "no call of process_run has succeeded"} {
			if !strings.Contains(told, part) {
				t.Errorf("the model was not told %q", part)
			}
		}
	})
}

// proves A-TOOL-08, A-ERR-02
func TestSameFailureLimit(t *testing.T) {
	for name, c := range map[string]struct {
		calls []agent.ToolCall
		code  fault.Code
	}{
		"identical":             {[]agent.ToolCall{goRun("test"), goRun("test"), goRun("test")}, fault.AgentSameFailureLimit},
		"members reordered":     {[]agent.ToolCall{goRun("test"), use("process_run", `{"cwd":"/w", "executable":"go","args":["test"]}`), goRun("test")}, fault.AgentSameFailureLimit},
		"different every time":  {[]agent.ToolCall{goRun("test"), goRun("test", "-v"), goRun("test", "-x")}, fault.AgentMaxIterations},
		"edits between":         {[]agent.ToolCall{goRun("test"), edit("/w/a"), goRun("test"), edit("/w/b"), goRun("test")}, fault.AgentSameFailureLimit},
		"invalid arguments":     {[]agent.ToolCall{use("file_read", `{"mode":"whole"}`), use("file_read", `{"mode":"whole"}`), use("file_read", `{ "mode":"whole" }`)}, fault.AgentSameFailureLimit},
		"unknown tool":          {[]agent.ToolCall{use("TodoWrite", `{}`), use("TodoWrite", `{}`), use("TodoWrite", `{}`)}, fault.AgentSameFailureLimit},
		"no tool's name at all": {[]agent.ToolCall{use("", `{}`), use("", `{}`), use("", `{}`)}, fault.AgentSameFailureLimit},
		"out of scope":          {[]agent.ToolCall{use("dir", `{"path":"/w/d","operation":"mkdir"}`), use("dir", `{"path":"/w/d","operation":"mkdir"}`), use("dir", `{"path":"/w/d","operation":"mkdir"}`)}, fault.AgentSameFailureLimit},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := []answer{plans(coding)}
				for _, call := range c.calls {
					script = append(script, uses(call))
				}
				cfg := config()
				cfg.SameFailureLimit, cfg.MaxIterations = 3, len(c.calls)
				w := newWorld(t, cfg, script...)
				w.tools.do = testsFail
				s := w.ends(agent.Failed, c.code)
				if s.Iterations != len(c.calls) {
					t.Errorf("%d iterations, want %d: no further call may follow", s.Iterations, len(c.calls))
				}
			})
		})
	}
}

// proves A-TOOL-08
func TestTextAfterAFailureCountsAsThatFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.SameFailureLimit = 3
		w := newWorld(t, cfg, plans(coding), uses(edit("/w/a"), goRun("vet"), goRun("test")), says("done"), says("really done"))
		w.tools.do = testsFail
		s := w.ends(agent.Failed, fault.AgentSameFailureLimit)
		if !strings.Contains(s.LastError, "3 times") || !strings.Contains(s.LastError, "tool.failed") {
			t.Error("last error:", s.LastError)
		}
		if told := w.told(agent.PhaseExecution, 1); !strings.Contains(told, `process_run of "go test" failed with code tool.failed`) && !strings.Contains(w.told(agent.PhaseExecution, 2), `process_run of "go test" failed with code tool.failed`) {
			t.Error("the model was not told which failure is open")
		}
	})
}

// proves A-TOOL-08, A-PLAN-09
func TestFailureIsResolvedByTheSameProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fixed := false
		w := newWorld(t, config(), plans(coding), uses(goRun("test", "-bad")), uses(edit("/w/a")), uses(goRun("test")), says("done"))
		w.tools.do = func(ctx context.Context, s tool.Scope, call agent.ToolCall) agent.ToolResult {
			if call.Name == "file_edit" {
				fixed = true
			}
			if !fixed {
				return testsFail(ctx, s, call)
			}
			return succeeds(call)
		}
		w.ends(agent.Completed, "")
	})
}

// proves A-TOOL-08, A-SES-01
func TestRepeatedReadsAreAnsweredFromTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		again := func() answer { return uses(read("/w/a")) }
		w := newWorld(t, config(), plans(coding), again(), again(), uses(edit("/w/a")), again(), uses(goRun("test")), says("done"))
		a := w.enqueue(Request{})
		<-w.Done(a.TaskID)
		if s := w.status(a.TaskID); s.Status != agent.Completed {
			t.Fatalf("%+v", s)
		}
		var reads int
		for _, d := range w.tools.dispatched() {
			if strings.HasPrefix(d, "file_read") {
				reads++
			}
		}
		if reads != 2 { // once before and once after the change
			t.Errorf("%d reads were dispatched", reads)
		}
		if told := w.told(agent.PhaseExecution, 2); !strings.Contains(told, "nothing has changed since") || strings.Count(told, "CONTENT OF") != 2 {
			t.Error("the model was told:", told)
		}
	})
}

// proves A-TOOL-08
func TestEndlessRepetitionEndsAndTheSessionStaysUsable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), plans(coding))
		for range 6 {
			w.model.script = append(w.model.script, uses(goRun("version")))
		}
		w.model.script = append(w.model.script, plans(planned("t1", false, "")), says("still here"))
		a := w.enqueue(Request{})
		b := w.enqueue(Request{SessionID: a.SessionID})
		<-w.Done(b.TaskID)
		if s := w.status(a.TaskID); s.LastErrorCode != fault.AgentSameFailureLimit || !strings.Contains(s.LastError, "without getting further") {
			t.Errorf("the first: %+v", s)
		}
		if s := w.status(b.TaskID); s.Result != "still here" {
			t.Errorf("the second: %+v", s)
		}
	})
}

// proves A-PLAN-10
func TestOutOfScopeIsNotDispatchedNorRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), plans(planned("t1", false, "file_read"), planned("t2", true, "file_edit")),
			uses(edit("/w/later"), read("/w/a")), says("read"), uses(edit("/w/later")), says("edited"))
		w.ends(agent.Completed, "")
		if d := cmp.Diff([]string{`file_read {"mode":"whole","path":"/w/a"}`, `file_edit {"content":"new","operation":"overwrite","path":"/w/later"}`}, w.tools.dispatched()); d != "" {
			t.Error(d)
		}
		if told := w.told(agent.PhaseExecution, 1); !strings.Contains(told, "tool.out_of_scope") {
			t.Error("the model was not told that the call is out of scope")
		}
		if told := w.told(agent.PhaseExecution, 2); strings.Contains(told, "out_of_scope") || strings.Contains(told, "/w/later") {
			t.Error("a later task's context holds it:", told)
		}
		if e := w.audit.of("tool.call"); len(e) == 0 || e[0].Decision != "deny" || e[0].ErrorCode != "tool.out_of_scope" || e[0].PlannerTask != "t1" {
			t.Errorf("audit: %+v", e)
		}
	})
}

// proves A-OLL-08, A-OLL-07
func TestOneResultForEachCallInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []agent.ToolCall
		for range maxCalls + 3 {
			calls = append(calls, use("process_run", `{"executable":"x"}`)) // invalid
		}
		calls[1] = edit("/w/a")
		calls[3] = use("nonsense", `{}`)
		cfg := config()
		cfg.SameFailureLimit = 100
		w := newWorld(t, cfg, plans(coding), uses(calls...), uses(goRun("test")), says("done"))
		w.ends(agent.Completed, "")
		var got []string
		for _, m := range w.model.calls(agent.PhaseExecution)[1].Messages {
			if m.Role == "tool" {
				i := len(got)
				if m.ToolCallID != calls[i].ID || m.ToolName != calls[i].Name {
					t.Errorf("result %d belongs to %s", i, m.ToolCallID)
				}
				got = append(got, m.Content)
			}
		}
		if len(got) != len(calls) || !strings.Contains(got[3], "tool.unknown") || !strings.Contains(got[maxCalls], "tool.not_executed") {
			t.Errorf("%d results: %q", len(got), got)
		}
	})
}

// proves A-MCP-03, A-TOOL-07
func TestToolNamesDoNotReachTheUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), plans(planned("t1", false, "")), says("I used file_edit, then `process_run` on /w/file_read.go and task_update."))
		if s := w.ends(agent.Completed, ""); s.Result != "I used editing files, then `running programs` on /w/file_read.go and adjusting the plan." {
			t.Error("result:", s.Result)
		}
		w.model.script = []answer{plans(planned("t1", false, "")), says("Renamed file_edit to file_change.")}
		a := w.enqueue(Request{Text: "rename the function file_edit"})
		<-w.Done(a.TaskID)
		if s := w.status(a.TaskID); s.Result != "Renamed file_edit to file_change." {
			t.Error("the user's own word was changed:", s.Result)
		}
	})
}
