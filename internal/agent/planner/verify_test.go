package planner

import (
	"testing"

	"sekisho/internal/agent"
)

// proves A-PLAN-09, A-PLAN-10
func TestVerificationAndScope(t *testing.T) {
	ok := func(tool string, effect bool) agent.ToolResult {
		return agent.ToolResult{Name: tool, OK: true, SideEffect: effect}
	}
	code := Task{RequiresExternalEffect: true, RequiredTools: []string{"file_edit", "process_run"}}
	for _, c := range []struct {
		name    string
		task    Task
		results []agent.ToolResult
		missing int
	}{
		{"nothing needed", Task{}, nil, 0},
		{"nothing done", code, nil, 3},
		{"edit only", code, []agent.ToolResult{ok("file_edit", true)}, 1},
		{"failed run", code, []agent.ToolResult{ok("file_edit", true), {Name: "process_run", SideEffect: true}}, 1},
		{"both", code, []agent.ToolResult{ok("file_edit", true), ok("process_run", true)}, 0},
		{"outside the set", Task{RequiresExternalEffect: true, RequiredTools: []string{"process_run"}}, []agent.ToolResult{ok("file_edit", true)}, 2},
		{"list is no effect", Task{RequiresExternalEffect: true, RequiredTools: []string{"dir"}}, []agent.ToolResult{ok("dir", false)}, 1},
		{"mkdir is", Task{RequiresExternalEffect: true, RequiredTools: []string{"dir"}}, []agent.ToolResult{ok("dir", true)}, 0},
		{"reads needed", Task{RequiredTools: []string{"file_read", "file_search"}}, []agent.ToolResult{ok("file_read", false)}, 1},
	} {
		var e Evidence
		for _, r := range c.results {
			e.Add(r)
		}
		if got := e.Missing(c.task); len(got) != c.missing {
			t.Errorf("%s: missing %q, want %d", c.name, got, c.missing)
		}
	}
	read := Task{RequiredTools: []string{"file_read"}}
	for _, c := range []struct {
		tool, operation string
		want            bool
	}{
		{"file_read", "", true}, {"file_search", "", true}, {"task_update", "add", true}, {"dir", "list", true},
		{"dir", "mkdir", false}, {"dir", "rmdir", false}, {"file_edit", "patch", false}, {"process_run", "", false},
	} {
		if got := read.InScope(c.tool, c.operation); got != c.want {
			t.Errorf("%s %s: in scope %t", c.tool, c.operation, got)
		}
	}
	if !code.InScope("process_run", "") || !code.InScope("file_edit", "delete") {
		t.Error("a required tool is out of scope")
	}
}
