package planner

import "slices"

// criticalPath is TokenCPM's result: indexes into the creation order (A-PLAN-03). Costs are sixfold expected tokens.
type criticalPath struct {
	order []int   // topological, stable with respect to creation order
	cost  []int64 // cumulative token cost of each task: its own and that of its most expensive chain of dependencies
	path  []int   // the longest path, first task first
}

func (p criticalPath) contains(i int) bool { return slices.Contains(p.path, i) }

// findCriticalPath needs an acyclic graph. Of equally long paths it takes the one whose tasks were created first, so that
// the result depends on nothing but the plan.
func findCriticalPath(tasks []Task) criticalPath {
	index := indexOf(tasks)
	p := criticalPath{order: topological(tasks, index), cost: make([]int64, len(tasks))}
	via := make([]int, len(tasks))
	for _, i := range p.order {
		via[i] = -1
		for _, d := range sortedDependencies(tasks[i], index) {
			if via[i] < 0 || p.cost[d] > p.cost[via[i]] {
				via[i] = d
			}
		}
		p.cost[i] = tasks[i].Estimate.sixfold()
		if via[i] >= 0 {
			p.cost[i] += p.cost[via[i]]
		}
	}
	last := -1
	for i := range tasks {
		if last < 0 || p.cost[i] > p.cost[last] {
			last = i
		}
	}
	for i := last; i >= 0; i = via[i] {
		p.path = append(p.path, i)
	}
	slices.Reverse(p.path)
	return p
}

// topological returns all indexes with every dependency first, or fewer when the graph has a cycle.
func topological(tasks []Task, index map[string]int) []int {
	var order []int
	placed := make([]bool, len(tasks))
	for progress := true; progress; {
		progress = false
		for i, t := range tasks {
			if placed[i] || slices.ContainsFunc(t.DependsOn, func(d string) bool { return !placed[index[d]] }) {
				continue
			}
			placed[i], progress = true, true
			order = append(order, i)
		}
	}
	return order
}

func sortedDependencies(t Task, index map[string]int) []int {
	var out []int
	for _, d := range t.DependsOn {
		out = append(out, index[d])
	}
	slices.Sort(out)
	return out
}

func indexOf(tasks []Task) map[string]int {
	index := make(map[string]int, len(tasks))
	for i, t := range tasks {
		index[t.ID] = i
	}
	return index
}

// CriticalPath returns the ids of the longest path, first task first.
func (g *TaskGraph) CriticalPath() []string {
	var ids []string
	for _, i := range g.path.path {
		ids = append(ids, g.tasks[i].ID)
	}
	return ids
}

// CriticalPathTokens is the expected cost of the critical path in tokens, rounded up.
func (g *TaskGraph) CriticalPathTokens() int64 {
	if len(g.path.path) == 0 {
		return 0
	}
	return (g.path.cost[g.path.path[len(g.path.path)-1]] + 5) / 6
}

// CumulativeTokenCost is the expected cost in tokens of a task together with its most expensive chain of dependencies.
func (g *TaskGraph) CumulativeTokenCost(id string) (float64, bool) {
	i := g.find(id)
	if i < 0 {
		return 0, false
	}
	return float64(g.path.cost[i]) / 6, true
}
