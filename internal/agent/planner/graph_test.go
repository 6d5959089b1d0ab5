package planner

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent"
)

// proves A-PLAN-01, A-PLAN-02
func TestTokenPERT(t *testing.T) {
	for _, c := range []struct {
		e                  TokenEstimate
		expected, variance float64
	}{
		{TokenEstimate{100, 200, 400}, 1300.0 / 6, 2500},
		{TokenEstimate{1, 1, 1}, 1, 0},
		{TokenEstimate{600, 900, 1800}, 1000, 40000},
	} {
		if got := c.e.Expected(); math.Abs(got-c.expected) > 1e-9 {
			t.Errorf("%v: expected %v, want %v", c.e, got, c.expected)
		}
		if got := c.e.Variance(); math.Abs(got-c.variance) > 1e-9 {
			t.Errorf("%v: variance %v, want %v", c.e, got, c.variance)
		}
	}
	for class, want := range map[TokenBudgetClass]int64{"1K": 1024, "2K": 2048, "16K": 16384, "128K": 131072, "3K": 0, "": 0} {
		if got := class.Max(); got != want {
			t.Errorf("%q: %d, want %d", class, got, want)
		}
	}
}

func estimate(m string) map[string]string {
	return map[string]string{"optimistic_tokens": m, "most_likely_tokens": m, "pessimistic_tokens": m}
}

func after(m, on string) map[string]string {
	e := estimate(m)
	e["depends_on"] = on
	return e
}

// proves A-PLAN-03, A-PLAN-05
func TestCriticalPathAndOrder(t *testing.T) {
	// a(10) ─┬─ b(100) ── d(10)      longest: a b d = 120
	//        └─ c(50)  ─┘
	// e(60), alone and created first
	g := mustPlan(t, entry("e", estimate("60")), entry("a", estimate("10")), entry("c", after("50", `["a"]`)), entry("b", after("100", `["a"]`)), entry("d", after("10", `["b","c"]`)))
	if d := cmp.Diff([]string{"a", "b", "d"}, g.CriticalPath()); d != "" {
		t.Error(d)
	}
	if got := g.CriticalPathTokens(); got != 120 {
		t.Errorf("critical path %d, want 120", got)
	}
	for id, want := range map[string]float64{"e": 60, "a": 10, "c": 60, "b": 110, "d": 120} {
		if got, ok := g.CumulativeTokenCost(id); !ok || got != want {
			t.Errorf("cumulative token cost of %s: %v, want %v", id, got, want)
		}
	}
	var order []string
	for !g.Done() {
		n, ok := g.Next()
		if !ok {
			t.Fatal("nothing is ready")
		}
		order = append(order, n.ID)
		finish(t, g, n.ID)
	}
	if d := cmp.Diff([]string{"a", "b", "e", "c", "d"}, order); d != "" {
		t.Error(d)
	}
}

// proves A-PLAN-03
func TestEqualPathsAreDecidedByCreationOrder(t *testing.T) {
	g := mustPlan(t, entry("x", estimate("50")), entry("y", estimate("50")), entry("z", after("5", `["y","x"]`)))
	if d := cmp.Diff([]string{"x", "z"}, g.CriticalPath()); d != "" {
		t.Error(d)
	}
}

func finish(t interface{ Fatal(...any) }, g *TaskGraph, id string) {
	for _, s := range []agent.Status{agent.Running, agent.Completed} {
		if err := g.SetState(id, s); err != nil {
			t.Fatal(err)
		}
	}
}

// proves A-RUN-01, A-PLAN-13
func TestStatesAreThoseOfTheSpecification(t *testing.T) {
	all := []agent.Status{agent.Queued, agent.Planning, agent.Running, agent.Completed, agent.Failed, agent.Cancelled}
	want := map[agent.Status]string{
		agent.Queued: "planning running failed cancelled", agent.Planning: "running failed cancelled", agent.Running: "planning completed failed cancelled",
		agent.Completed: "", agent.Failed: "", agent.Cancelled: "",
	}
	for _, from := range all {
		var got []string
		for _, to := range all {
			g := mustPlan(t, entry("t1", nil))
			g.tasks[0].State = from
			if g.SetState("t1", to) == nil {
				got = append(got, string(to))
			}
		}
		if d := cmp.Diff(want[from], strings.Join(got, " ")); d != "" {
			t.Errorf("from %s: %s", from, d)
		}
	}
	g := mustPlan(t, entry("t1", nil), entry("t2", map[string]string{"depends_on": `["t1"]`}))
	for _, s := range []agent.Status{agent.Failed, agent.Cancelled} {
		g.tasks[0].State = s
		if n, ok := g.Next(); ok {
			t.Errorf("a %s dependency made %s ready", s, n.ID)
		}
	}
}

// proves A-PLAN-13, A-TOOL-05
func TestCompletedTasksAreImmutable(t *testing.T) {
	g := mustPlan(t, entry("t1", nil), entry("t2", nil))
	if err := g.AddUsage("t1", agent.Usage{Input: 5, Output: 7}); err != nil {
		t.Fatal(err)
	}
	finish(t, g, "t1")
	before, _ := g.Task("t1")
	for name, err := range map[string]error{
		"usage":      g.AddUsage("t1", agent.Usage{Input: 1}),
		"dependency": g.AddDependency("t1", "t2"),
		"estimate":   g.SetEstimate("t1", "2K", TokenEstimate{1, 2, 3}),
		"state":      g.SetState("t1", agent.Running),
	} {
		if err == nil {
			t.Errorf("%s of a completed task was changed", name)
		}
	}
	if _, err := g.AddTask(Task{ID: "t1", Description: "again", Budget: "1K", Estimate: TokenEstimate{1, 2, 3}}); err == nil {
		t.Error("a completed id was taken again")
	}
	got, _ := g.Task("t1")
	if d := cmp.Diff(before, got); d != "" {
		t.Error(d)
	}
	got.DependsOn = append(got.DependsOn, "t2")
	got.RequiredTools[0] = "dir"
	if now, _ := g.Task("t1"); cmp.Diff(before, now) != "" {
		t.Error("a copy reaches into the graph")
	}
}

// proves A-TOOL-05, A-PLAN-13, A-PLAN-04
func TestChangesAreValidatedAsAWhole(t *testing.T) {
	g, err := New([]Task{
		{ID: "t1", Description: "one", Budget: "1K", Estimate: TokenEstimate{10, 20, 30}},
		{ID: "t2", Description: "two", Budget: "1K", Estimate: TokenEstimate{10, 20, 30}, DependsOn: []string{"t1"}},
	}, 3)
	if err != nil {
		t.Fatal(err)
	}
	id, err := g.AddTask(Task{Description: "three", Budget: "2K", Estimate: TokenEstimate{100, 200, 2048}, DependsOn: []string{"t1"}, State: agent.Completed, Usage: agent.Usage{Input: 9}})
	if err != nil || id != "t3" {
		t.Fatal(id, err)
	}
	if n, _ := g.Task(id); n.State != agent.Queued || n.Usage != (agent.Usage{}) {
		t.Errorf("a new task arrived as %s with usage %v", n.State, n.Usage)
	}
	if d := cmp.Diff([]string{"t1", "t3"}, g.CriticalPath()); d != "" {
		t.Error("the critical path was not recomputed:", d)
	}
	before := g.Tasks()
	for name, err := range map[string]error{
		"one too many":       second(g.AddTask(Task{Description: "four", Budget: "1K", Estimate: TokenEstimate{1, 2, 3}})),
		"cycle":              g.AddDependency("t1", "t2"),
		"itself":             g.AddDependency("t1", "t1"),
		"unknown dependency": g.AddDependency("t2", "t9"),
		"unknown task":       g.AddDependency("t9", "t1"),
		"estimate":           g.SetEstimate("t2", "1K", TokenEstimate{10, 20, 2000}),
		"unknown estimate":   g.SetEstimate("t9", "1K", TokenEstimate{10, 20, 30}),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if d := cmp.Diff(before, g.Tasks()); d != "" {
		t.Error("a refused change left traces:", d)
	}
	if err := g.SetState("t1", agent.Running); err != nil {
		t.Fatal(err)
	}
	if g.AddDependency("t1", "t3") == nil {
		t.Error("a running task got a new dependency")
	}
}

func second[T any](_ T, err error) error { return err }
