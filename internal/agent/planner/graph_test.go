package planner

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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

// randomGraph draws tasks whose dependencies go to tasks drawn before, then shuffles the creation order.
func randomGraph(t *rapid.T) []Task {
	n := rapid.IntRange(1, 9).Draw(t, "n")
	tasks := make([]Task, n)
	for i := range tasks {
		m := rapid.Int64Range(1, 300).Draw(t, "m")
		tasks[i] = Task{ID: fmt.Sprintf("t%d", i), Description: fmt.Sprint("task ", i), Budget: "1K", Estimate: TokenEstimate{m, m + rapid.Int64Range(0, 50).Draw(t, "d"), m + 300}}
		for j := range i {
			if rapid.Bool().Draw(t, "edge") {
				tasks[i].DependsOn = append(tasks[i].DependsOn, tasks[j].ID)
			}
		}
	}
	return rapid.Permutation(tasks).Draw(t, "creation order")
}

// longest is the longest path by trying every path.
func longest(tasks []Task, t Task) int64 {
	var best int64
	for _, d := range t.DependsOn {
		best = max(best, longest(tasks, tasks[slices.IndexFunc(tasks, func(o Task) bool { return o.ID == d })]))
	}
	return best + t.Estimate.sixfold()
}

// proves A-PLAN-03, A-PLAN-05, A-PLAN-13
func TestRandomGraphs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := randomGraph(t)
		g, err := New(tasks, 32)
		if err != nil {
			t.Fatal(err)
		}
		var want int64
		for _, x := range tasks {
			l := longest(tasks, x)
			want = max(want, l)
			if got, _ := g.CumulativeTokenCost(x.ID); math.Abs(got-float64(l)/6) > 1e-9 {
				t.Fatalf("cumulative cost of %s is %v, want %v", x.ID, got, float64(l)/6)
			}
		}
		var sum int64
		path := g.CriticalPath()
		for i, id := range path {
			x, _ := g.Task(id)
			sum += x.Estimate.sixfold()
			if i > 0 && !slices.Contains(x.DependsOn, path[i-1]) {
				t.Fatalf("%v is no path", path)
			}
		}
		if sum != want || g.CriticalPathTokens() != (want+5)/6 {
			t.Fatalf("critical path costs %d, the longest %d", sum, want)
		}
		again, err := New(tasks, 32)
		if err != nil || cmp.Diff(path, again.CriticalPath()) != "" {
			t.Fatal("the same plan gave another critical path")
		}
		done := map[string]Task{}
		for range tasks {
			x, ok := g.Next()
			if !ok {
				t.Fatal("nothing is ready in an acyclic graph")
			}
			if y, _ := again.Next(); y.ID != x.ID {
				t.Fatalf("the same plan gave another order: %s and %s", x.ID, y.ID)
			}
			for _, d := range x.DependsOn {
				if _, ok := done[d]; !ok {
					t.Fatalf("%s starts before its dependency %s", x.ID, d)
				}
			}
			for id := range done {
				if g.SetEstimate(id, "2K", TokenEstimate{1, 1, 1}) == nil || g.AddUsage(id, agent.Usage{Input: 1}) == nil || g.AddDependency(id, x.ID) == nil {
					t.Fatal("a completed task was changed")
				}
			}
			finish(t, g, x.ID)
			finish(t, again, x.ID)
			done[x.ID], _ = g.Task(x.ID)
			if rapid.IntRange(0, 3).Draw(t, "grow") == 0 {
				a := Task{Description: "more", Budget: "1K", Estimate: TokenEstimate{1, 2, 3}, DependsOn: []string{x.ID}}
				if _, err := g.AddTask(a); err != nil {
					t.Fatal(err)
				}
				if _, err := again.AddTask(a); err != nil {
					t.Fatal(err)
				}
			}
			for id, want := range done {
				if got, _ := g.Task(id); cmp.Diff(want, got) != "" {
					t.Fatal("a completed task changed:", cmp.Diff(want, got))
				}
			}
		}
	})
}

// proves A-PLAN-04
func TestRandomCyclesAreRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := randomGraph(t)
		from := rapid.IntRange(0, len(tasks)-1).Draw(t, "from")
		index := indexOf(tasks)
		up := ancestors(tasks, index, tasks[from])
		if len(up) == 0 {
			return // a root cannot close a cycle here
		}
		to := rapid.SampledFrom(up).Draw(t, "to")
		tasks[to].DependsOn = append(tasks[to].DependsOn, tasks[from].ID)
		if _, err := New(tasks, 32); err == nil || !strings.Contains(err.Error(), "cycle") {
			t.Fatalf("got %v", err)
		}
	})
}
