package planner

import (
	"fmt"
	"slices"
	"strconv"

	"sekisho/internal/agent"
)

// TaskGraph is the directed acyclic graph of an agent task's planner tasks, in creation order. Every change is validated
// as a whole before it takes effect: a refused change leaves the graph as it was.
type TaskGraph struct {
	tasks    []Task
	maxTasks int
	path     criticalPath
}

// New builds a graph of new, queued tasks. The error is an *InvalidError with every reason that was found.
func New(tasks []Task, maxTasks int) (*TaskGraph, error) {
	fresh := make([]Task, len(tasks))
	for i, t := range tasks {
		fresh[i] = t.clone()
		fresh[i].State, fresh[i].Usage = agent.Queued, agent.Usage{}
	}
	return build(fresh, maxTasks)
}

func build(tasks []Task, maxTasks int) (*TaskGraph, error) {
	if reasons := check(tasks, maxTasks); len(reasons) > 0 {
		return nil, &InvalidError{Reasons: reasons}
	}
	return &TaskGraph{tasks: tasks, maxTasks: maxTasks, path: findCriticalPath(tasks)}, nil
}

// Tasks returns copies of all tasks in creation order.
func (g *TaskGraph) Tasks() []Task {
	out := make([]Task, len(g.tasks))
	for i, t := range g.tasks {
		out[i] = t.clone()
	}
	return out
}

// Task returns a copy of one task.
func (g *TaskGraph) Task(id string) (Task, bool) {
	if i := g.find(id); i >= 0 {
		return g.tasks[i].clone(), true
	}
	return Task{}, false
}

// Count returns the number of completed tasks and of all tasks.
func (g *TaskGraph) Count() (completed, total int) {
	for _, t := range g.tasks {
		if t.State == agent.Completed {
			completed++
		}
	}
	return completed, len(g.tasks)
}

// Done reports whether every task is completed: the only way to complete an agent task (A-PLAN-06).
func (g *TaskGraph) Done() bool {
	completed, total := g.Count()
	return completed == total
}

// Next returns the queued task to run next: of those whose dependencies are all completed, one on the critical path
// before the others, then the one created first (A-PLAN-05). False means that none is ready; a failed or cancelled
// dependency never makes a task ready (A-PLAN-13).
func (g *TaskGraph) Next() (Task, bool) {
	best := -1
	for i, t := range g.tasks {
		if t.State != agent.Queued || !g.ready(t) {
			continue
		}
		if g.path.contains(i) {
			return t.clone(), true
		}
		if best < 0 {
			best = i
		}
	}
	if best < 0 {
		return Task{}, false
	}
	return g.tasks[best].clone(), true
}

func (g *TaskGraph) ready(t Task) bool {
	for _, d := range t.DependsOn {
		if g.tasks[g.find(d)].State != agent.Completed {
			return false
		}
	}
	return true
}

// SetState moves a task along A-RUN-01. A terminal state is never left.
func (g *TaskGraph) SetState(id string, s agent.Status) error {
	i := g.find(id)
	if i < 0 {
		return refuse("there is no task %q", id)
	}
	if !slices.Contains(moves[g.tasks[i].State], s) {
		return refuse("task %q cannot go from %s to %s", id, g.tasks[i].State, s)
	}
	g.tasks[i].State = s
	return nil
}

// AddUsage adds one run call's tokens to a task (A-PLAN-07). The usage of a completed task is immutable (A-PLAN-13).
func (g *TaskGraph) AddUsage(id string, u agent.Usage) error {
	i, err := g.editable(id)
	if err != nil {
		return err
	}
	g.tasks[i].Usage = g.tasks[i].Usage.Add(u)
	return nil
}

// AddTask appends a queued task. An empty ID gets the next free one ("t3"); the id is returned.
func (g *TaskGraph) AddTask(t Task) (string, error) {
	t = t.clone()
	t.State, t.Usage = agent.Queued, agent.Usage{}
	if t.ID == "" {
		t.ID = g.freeID()
	}
	return t.ID, g.replace(append(g.Tasks(), t))
}

// AddDependency makes an unfinished task depend on further tasks.
func (g *TaskGraph) AddDependency(id string, on ...string) error {
	i, err := g.editable(id)
	if err != nil {
		return err
	}
	if g.tasks[i].State != agent.Queued && len(on) > 0 {
		return refuse("task %q is already running; only a queued task can get a new dependency", id)
	}
	tasks := g.Tasks()
	for _, d := range on {
		if !slices.Contains(tasks[i].DependsOn, d) {
			tasks[i].DependsOn = append(tasks[i].DependsOn, d)
		}
	}
	return g.replace(tasks)
}

// SetEstimate replaces class and estimate of an unfinished task.
func (g *TaskGraph) SetEstimate(id string, b TokenBudgetClass, e TokenEstimate) error {
	i, err := g.editable(id)
	if err != nil {
		return err
	}
	tasks := g.Tasks()
	tasks[i].Budget, tasks[i].Estimate = b, e
	return g.replace(tasks)
}

// replace validates the changed task list and recomputes the critical path (A-PLAN-13).
func (g *TaskGraph) replace(tasks []Task) error {
	n, err := build(tasks, g.maxTasks)
	if err != nil {
		return err
	}
	*g = *n
	return nil
}

// editable returns the index of a task that is not finished.
func (g *TaskGraph) editable(id string) (int, error) {
	i := g.find(id)
	if i < 0 {
		return -1, refuse("there is no task %q", id)
	}
	if s := g.tasks[i].State; s.Terminal() {
		return -1, refuse("task %q is %s and cannot be changed", id, s)
	}
	return i, nil
}

func (g *TaskGraph) find(id string) int {
	return slices.IndexFunc(g.tasks, func(t Task) bool { return t.ID == id })
}

func (g *TaskGraph) freeID() string {
	for n := len(g.tasks) + 1; ; n++ {
		if id := "t" + strconv.Itoa(n); g.find(id) < 0 {
			return id
		}
	}
}

func refuse(format string, args ...any) error {
	return &InvalidError{Reasons: []string{fmt.Sprintf(format, args...)}}
}
