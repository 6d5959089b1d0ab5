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
