package tool

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent"
	"sekisho/internal/audit"
	"sekisho/internal/fault"
)

// Arguments that do not validate reach neither the policy nor a file: the dispatcher has neither here.
//
// proves A-TOOL-07, A-ERR-02, A-AUD-01
func TestInvalidArgumentsStopFirst(t *testing.T) {
	rec := &recorder{}
	d := New(Deps{Audit: rec, Texts: catalogueOf(t, "en")})
	for _, c := range []agent.ToolCall{
		call("file_read", `{"mode":"whole"}`), call("file_edit", ``), call("dir", `{"path":"/etc","operation":"list","x":1}`),
		call("bash", `{"command":"id"}`), call("", `{}`),
	} {
		rec.reset()
		r := d.Call(t.Context(), Scope{}, c)
		h, body := split(t, r)
		want := fault.ToolArgumentsInvalid
		if _, known := find(c.Name); !known {
			want = fault.ToolUnknown
		}
		if r.ErrorCode != want || r.ErrorCategory != fault.Validation || !r.RetryAllowed || r.Fatal != nil || body == "" || h["retry_allowed"] != true {
			t.Errorf("%s %s: %+v", c.Name, c.Arguments, r)
		}
		if diff := cmp.Diff([]string{"tool.call deny"}, rec.names()); diff != "" {
			t.Errorf("audit (-want +got):\n%s", diff)
		}
		if e := rec.events[0]; e.ErrorCode != string(want) || e.Source != agent.SourceNative || e.Tool != c.Name || e.CallID != "c1" {
			t.Errorf("audit: %+v", e)
		}
	}
}

// proves A-PLAN-10, A-PLAN-09
func TestOutOfScope(t *testing.T) {
	w := newWorld(t)
	w.write("app/own", "mine")
	w.open()
	w.scope.Required = []string{"file_read", "file_search"}
	before := w.tree()
	for _, use := range uses {
		path := w.ws + "/own"
		if use.name == "list" || use.name == "cwd" {
			path = w.ws
		}
		w.audit.reset()
		r := w.call(use.tool, use.args(path))
		effect := use.tool == "file_edit" || use.tool == "process_run" || use.name == "mkdir" || use.name == "rmdir"
		if !effect {
			if r.ErrorCode == fault.ToolOutOfScope || r.SideEffect {
				t.Errorf("%s has no side effect and was refused: %+v", use.name, r)
			}
			continue
		}
		if r.OK || r.ErrorCode != fault.ToolOutOfScope || r.SideEffect {
			t.Errorf("%s: %+v", use.name, r)
		}
		if diff := cmp.Diff([]string{"tool.call deny"}, w.audit.names()); diff != "" {
			t.Errorf("%s: audit (-want +got):\n%s", use.name, diff)
		}
	}
	// Out of scope is answered before the policy is asked, so it does not become a deny.
	if r := w.call("file_edit", arg{"path": w.out + "/s", "operation": "delete"}); r.ErrorCode != fault.ToolOutOfScope {
		t.Errorf("got %+v", r)
	}
	if diff := cmp.Diff(before, w.tree()); diff != "" {
		t.Errorf("something changed (-before +after):\n%s", diff)
	}
	if w.job.opened != 0 {
		t.Error("a sandbox was opened")
	}
}

// Nothing happens that is not in the audit.
//
// proves A-AUD-01
func TestNoEffectWithoutAudit(t *testing.T) {
	for _, use := range uses {
		for failAt := 1; failAt <= 2; failAt++ {
			w := newWorld(t)
			w.write("app/own", "mine")
			path := w.write("app/sub/SECRET", "old SECRET")
			switch use.name {
			case "mkdir", "rename to":
				path = w.ws + "/new"
			case "list", "cwd":
				path = w.ws
			case "rmdir":
				path = w.ws + "/empty"
				if err := os.Mkdir(path, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			w.open()
			w.audit.failAt = failAt
			before := w.tree()
			r := w.call(use.tool, use.args(path))
			changes := use.tool == "file_edit" || use.tool == "process_run" || use.name == "mkdir" || use.name == "rmdir"
			if failAt == 2 && !changes {
				continue // one line is all that these calls write
			}
			if failAt == 1 && (r.OK || r.Fatal == nil || r.ErrorCode != fault.StateUnusable || r.RetryAllowed) {
				t.Errorf("%s: %+v", use.name, r)
			}
			if r.OK && use.name != "mkdir" && use.name != "rmdir" { // directories have no line of their own
				t.Errorf("%s succeeded without its audit line %d: %+v", use.name, failAt, r)
			}
			if failAt == 1 || !r.OK {
				if diff := cmp.Diff(before, w.tree()); diff != "" {
					t.Errorf("%s: changed without audit line %d (-before +after):\n%s", use.name, failAt, diff)
				}
			}
			if len(w.job.started) != 0 {
				t.Errorf("%s: started without audit line %d", use.name, failAt)
			}
			if strings.Contains(r.Content, "old SECRET") {
				t.Errorf("%s: told content without an audit line", use.name)
			}
		}
	}
}

// proves A-TOOL-05
func TestTaskUpdate(t *testing.T) {
	w := newWorld(t).open()
	args := arg{"operation": "add_dependency", "task_id": "t2", "depends_on": []string{"t1"}}
	r := w.call("task_update", args)
	if _, body := split(t, r); !r.OK || body != "added task t9" || r.SideEffect {
		t.Errorf("got %+v", r)
	}
	want := []GraphUpdate{{Operation: "add_dependency", TaskID: "t2", DependsOn: []string{"t1"}}}
	if diff := cmp.Diff(want, w.graph.updates); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
	w.graph.err = errors.New("cycle: t1 -> t2 -> t1")
	r = w.call("task_update", args)
	if r.OK || r.ErrorCode != fault.ToolArgumentsInvalid || !r.RetryAllowed || !strings.Contains(r.Content, "cycle: t1") {
		t.Errorf("got %+v", r)
	}
}

// proves A-TOOL-07
func TestUserTextNamesNoInternalTool(t *testing.T) {
	for _, lang := range []string{"en", "ja"} {
		w := newWorld(t)
		w.deps.Texts = catalogueOf(t, lang)
		w.write("app/own", "mine")
		paths := hostile(w)
		w.open()
		check := func(r agent.ToolResult) {
			if r.UserText == "" || strings.Contains(r.UserText, "{") || strings.HasPrefix(r.UserText, "tool.") || strings.HasPrefix(r.UserText, "error.") {
				t.Errorf("%s user text of %+v is incomplete", lang, r)
			}
			for _, name := range append(slices.Clone(toolNames), "task_update") {
				if name != "dir" && strings.Contains(r.UserText, name) {
					t.Errorf("%s: %q names %s", lang, r.UserText, name)
				}
			}
		}
		for _, use := range uses {
			check(w.call(use.tool, use.args(paths["outside"])))
			check(w.call(use.tool, use.args(w.ws+"/own")))
			check(w.call(use.tool, arg{}))
		}
		w.scope.Required = nil
		check(w.call("dir", arg{"path": "x", "operation": "mkdir"}))
	}
}

// proves A-OLL-08
func TestCancelledCall(t *testing.T) {
	w := newWorld(t)
	w.write("app/own", "mine")
	w.open()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	raw, _ := json.Marshal(arg{"path": "own", "operation": "delete"})
	r := w.d.Call(ctx, w.scope, call("file_edit", string(raw)))
	if r.OK || r.ErrorCode != fault.AgentCancelled || r.RetryAllowed || r.CallID != "c1" {
		t.Errorf("got %+v", r)
	}
	if w.read("app/own") != "mine" {
		t.Error("a cancelled call had its effect")
	}
}

// proves A-AUD-01
func TestAuditCorrelates(t *testing.T) {
	w := newWorld(t)
	w.write("app/own", "mine")
	w.open()
	w.call("file_edit", arg{"path": "own", "operation": "overwrite", "content": "new"})
	w.call("file_read", arg{"path": w.out + "/s", "mode": "whole"})
	want := []string{"tool.call allow", "file.write", "policy.deny not_allowlisted", "tool.call deny"}
	if diff := cmp.Diff(want, w.audit.names()); diff != "" {
		t.Fatalf("audit (-want +got):\n%s", diff)
	}
	for _, e := range w.audit.events {
		if e.SessionID != "s1" || e.TaskID != "a1" || e.PlannerTask != "p1" || e.CallID != "c1" {
			t.Errorf("%s lacks its ids: %+v", e.Event, e)
		}
	}
	if e := w.audit.events[2]; e.Kind != audit.KindFilesystem || e.Target != w.out+"/s" || e.ErrorCode != string(fault.PolicyDenied) {
		t.Errorf("policy.deny: %+v", e)
	}
}
