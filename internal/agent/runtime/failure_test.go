package runtime

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"sekisho/internal/agent"
	"sekisho/internal/agent/tool"
	"sekisho/internal/fault"
)

// What becomes of a failure when the same planner task goes on: made up for on the same object it is forgotten; gone around
// it stays shown with the completed task.
//
// proves A-TOOL-08, A-PLAN-09, A-MCP-03
func TestWhatAnswersAFailure(t *testing.T) {
	sub := func(path, operation string) agent.ToolCall {
		return use("dir", `{"path":"`+path+`","operation":"`+operation+`"}`)
	}
	at := func(cwd string, args string) agent.ToolCall {
		return use("process_run", `{"executable":"go","args":`+args+`,"cwd":"`+cwd+`"}`)
	}
	for name, c := range map[string]struct {
		plan   string
		failed agent.ToolCall
		code   fault.Code
		later  []agent.ToolCall
		shown  fault.Code
	}{
		"the same command":             {"file_edit process_run", goRun("test"), fault.ToolFailed, []agent.ToolCall{edit("/w/a"), goRun("test")}, ""},
		"the same, members reordered":  {"process_run", goRun("test"), fault.ToolFailed, []agent.ToolCall{use("process_run", `{"cwd":"/w/.","args":["test"],"executable":"go"}`)}, ""},
		"corrected arguments":          {"process_run", goRun("test", "./greet"), fault.ToolFailed, []agent.ToolCall{goRun("test", "./...")}, fault.ToolFailed},
		"corrected path":               {"process_run", runOf("python", "a.py"), fault.ToolFailed, []agent.ToolCall{runOf("python", "tests/a.py")}, fault.ToolFailed},
		"corrected directory":          {"process_run", at("/w", `[]`), fault.ToolFailed, []agent.ToolCall{at("/w/x", `[]`)}, fault.ToolFailed},
		"corrected, then the same":     {"process_run", goRun("test", "./a"), fault.ToolFailed, []agent.ToolCall{goRun("test"), goRun("test", "./a")}, ""},
		"another program for no start": {"process_run", runOf("./p"), fault.ExecutableStartFailed, []agent.ToolCall{runOf("sh", "./p")}, fault.ExecutableStartFailed},
		"the same file":                {"file_edit", edit("/w/a"), fault.ToolFailed, []agent.ToolCall{use("file_edit", `{"path":"/w/./a","operation":"atomic_replace","content":"x"}`)}, ""},
		"another file":                 {"file_edit", edit("/w/a"), fault.ToolFailed, []agent.ToolCall{edit("/w/b")}, fault.ToolFailed},
		"renamed to the file":          {"file_edit", edit("/w/a"), fault.ToolFailed, []agent.ToolCall{use("file_edit", `{"path":"/w/b","operation":"rename","new_path":"/w/a"}`)}, ""},
		"read after it was made":       {"file_edit", read("/w/a"), fault.ToolFailed, []agent.ToolCall{edit("/w/a")}, ""},
		"another read":                 {"file_read", read("/w/a"), fault.ToolFailed, []agent.ToolCall{read("/w/b")}, fault.ToolFailed},
		"another directory":            {"dir", sub("/w/a", "mkdir"), fault.ToolFailed, []agent.ToolCall{sub("/w/b", "mkdir")}, fault.ToolFailed},
		"arguments that were refused":  {"file_read", use("file_read", `{"mode":"whole"}`), fault.ToolArgumentsInvalid, []agent.ToolCall{read("/w/a")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, config(), plans(planned("t1", !strings.Contains(c.plan, "read"), c.plan)), uses(c.failed), uses(c.later...), says("done"))
				failed := false
				w.tools.do = func(_ context.Context, _ tool.Scope, call agent.ToolCall) agent.ToolResult {
					if !failed && call.ID == c.failed.ID {
						failed = true
						return failsWith(call, c.code)
					}
					return succeeds(call)
				}
				if s := w.ends(agent.Completed, c.shown); c.shown != "" && s.LastError != "USER TEXT" {
					t.Error("last error:", s.LastError)
				}
			})
		})
	}
}

// A later planner task may make up for what an earlier one went around.
//
// proves A-TOOL-08
func TestALaterTaskMakesUpForAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := goRun("test", "./a")
		w := newWorld(t, config(), plans(planned("t1", true, "process_run"), planned("t2", true, "process_run", "t1")),
			uses(bad, goRun("test")), says("done"), uses(goRun("test", "./a")), says("done"))
		w.tools.do = func(_ context.Context, _ tool.Scope, call agent.ToolCall) agent.ToolResult {
			if call.ID == bad.ID {
				return failsWith(call, fault.ToolFailed)
			}
			return succeeds(call)
		}
		w.ends(agent.Completed, "")
	})
}
