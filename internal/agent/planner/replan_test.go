package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent"
)

// proves A-PLAN-06, A-PLAN-13
func TestReplanKeepsCompletedAndReplacesTheRest(t *testing.T) {
	g := mustPlan(t, entry("t1", nil), entry("t2", map[string]string{"depends_on": `["t1"]`}))
	if err := g.AddUsage("t1", agent.Usage{Input: 3}); err != nil {
		t.Fatal(err)
	}
	finish(t, g, "t1")
	if err := g.SetState("t2", agent.Running); err != nil {
		t.Fatal(err)
	}
	done, _ := g.Task("t1")
	n, err := g.Replan(planText(entry("t1", nil), entry("t2", map[string]string{"description": `"another way"`, "depends_on": `["t1"]`})))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := n.Task("t1"); cmp.Diff(done, got) != "" {
		t.Error("the completed task changed:", cmp.Diff(done, got))
	}
	if got, _ := n.Next(); got.ID != "t2" || got.Description != "another way" || got.State != agent.Queued {
		t.Errorf("next is %+v", got)
	}
	if g.Unchanged(n) {
		t.Error("another way counts as unchanged")
	}
	for name, c := range map[string][]byte{
		"only completed": planText(entry("t1", nil)),
		"redefined":      planText(entry("t1", map[string]string{"description": `"something else"`}), entry("t3", nil)),
		"empty":          planText(),
		"invalid":        planText(entry("t3", map[string]string{"depends_on": `["t2"]`})), // t2 is gone
		"not JSON":       []byte("sorry"),
	} {
		if got, err := g.Replan(c); err == nil {
			t.Errorf("%s: accepted as %v", name, got.Tasks())
		}
	}
	same, err := g.Replan(planText(entry("n1", map[string]string{"description": `"do t2"`, "depends_on": `["t1"]`, "optimistic_tokens": "1"})))
	if err != nil {
		t.Fatal(err)
	}
	if !g.Unchanged(same) {
		t.Error("new ids and estimates alone count as a changed plan")
	}
}
