//go:build linux && !cgo

package crash

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sekisho/test/agentsite"
)

// sandboxOf is the name in the names of a running task's resources: the task's own, or that of the spare that it took.
func (s *site) sandboxOf(task string) string {
	s.t.Helper()
	found, err := filepath.Glob(filepath.Join(s.StateRoot(), "instances", "*", "recovery", task+".json"))
	if err != nil || len(found) != 1 {
		s.t.Fatalf("journals of the task: %v %v", found, err)
	}
	var record struct{ Sandbox string }
	data, err := os.ReadFile(found[0])
	if err == nil {
		err = json.Unmarshal(data, &record)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return cmp.Or(record.Sandbox, task)
}

// A task is shown as cancelled when its processes are dead, not before, and the next one begins then.
//
// proves A-MCP-07, A-MCP-11, A-RUN-03, A-RUN-04
func TestACancelledTaskIsDeadWhenItSaysSo(t *testing.T) {
	s := newSite(t, script([]edit{{tool: "process_run", arguments: busy}}))
	s.records = true
	c, err := s.start(s.product, 0)
	if err != nil {
		t.Fatalf("start: %v\n%s", err, s.log())
	}
	begin := func(request string) (m mcpTask) {
		result, err := c.Call("tools/call", json.RawMessage(fmt.Sprintf(`{"name":"agent_run","arguments":{"request":%q},%s}`, request, opted)))
		if err == nil {
			err = json.Unmarshal(result, &m)
		}
		if err != nil || m.Status != "working" {
			t.Fatalf("%+v %v", m, err)
		}
		return m
	}
	first := begin("do it")
	agentsite.Poll(t, "the program to run", func() bool { st, err := os.Stat(s.workspace + "/alive"); return err == nil && st.Size() > 0 })
	second := begin("do it as well")
	for _, id := range []string{first.ID, second.ID} {
		if m, err := get(c, id); err != nil || m.Status != "working" {
			t.Errorf("%+v %v", m, err)
		}
	}
	tree := s.sandboxOf(first.ID)
	if alive(t, tree) == 0 {
		t.Fatal("the control: no process of a running task is found")
	}
	ack, err := c.Call("tasks/cancel", json.RawMessage(fmt.Sprintf(`{"taskId":%q,%s}`, first.ID, opted)))
	if err != nil || strings.Contains(string(ack), first.ID) {
		t.Fatalf("cancel: %s %v", ack, err)
	}
	agentsite.Poll(t, "the task to be cancelled", func() bool {
		m, err := get(c, first.ID)
		if err != nil {
			t.Fatal(err)
		}
		return m.Status == "cancelled"
	})
	if n := alive(t, tree); n > 0 {
		t.Errorf("%d processes of the cancelled task are alive", n)
	}
	if err := c.Close(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, s.log())
	}
	if err := s.leftovers(); err != nil {
		t.Error(err)
	}
	// Both have one end each, which the next server tells: the end of the connection cancelled the second.
	next, err := s.start(s.product, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{first.ID, second.ID} {
		if m, err := get(next, id); err != nil || m.Status != "cancelled" {
			t.Errorf("%+v %v", m, err)
		}
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
}

// alive counts the processes in a task's control group or with its private directory mounted.
func alive(t *testing.T, task string) int {
	t.Helper()
	pids, err := agentsite.Named(task)
	if err != nil {
		t.Fatal(err)
	}
	return len(pids)
}
