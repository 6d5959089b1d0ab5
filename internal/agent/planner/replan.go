package planner

import (
	"slices"

	"sekisho/internal/agent"
)

// Replan decodes the plan of a replanning call and returns the graph that continues g: its completed tasks, unchanged,
// followed by the new ones, which replace everything unfinished. g itself is not changed.
//
// The new plan may depend on completed tasks. It may also list them: an entry with the id and the description of a
// completed task means that task. Anything else under a completed id is refused (A-PLAN-13).
func (g *TaskGraph) Replan(data []byte) (*TaskGraph, error) {
	listed, err := decode(data)
	if err != nil {
		return nil, err
	}
	var tasks []Task
	for _, t := range g.Tasks() {
		if t.State == agent.Completed {
			tasks = append(tasks, t)
		}
	}
	kept := len(tasks)
	for _, t := range listed {
		if i := slices.IndexFunc(tasks[:kept], func(c Task) bool { return c.ID == t.ID }); i >= 0 {
			if tasks[i].Description != t.Description {
				return nil, refuse("the id %q belongs to a completed task, which cannot be changed: give the new task another id", t.ID)
			}
			continue
		}
		tasks = append(tasks, t)
	}
	if len(tasks) == kept {
		return nil, refuse("the plan has no new task, but the request is not completed: plan the remaining work with what is allowed")
	}
	return build(tasks, g.maxTasks)
}

// Unchanged reports whether the unfinished part of next asks for the same work as that of g (A-PLAN-06). Ids and token
// estimates are not compared: a plan that only renames or re-estimates its tasks tries nothing new.
func (g *TaskGraph) Unchanged(next *TaskGraph) bool {
	return slices.EqualFunc(g.unfinished(), next.unfinished(), func(a, b work) bool {
		return a.description == b.description && a.effect == b.effect && slices.Equal(a.tools, b.tools) && slices.Equal(a.on, b.on)
	})
}

// work is what a task asks for, with dependencies by description.
type work struct {
	description string
	effect      bool
	tools, on   []string
}

func (g *TaskGraph) unfinished() []work {
	var out []work
	for _, t := range g.tasks {
		if t.State == agent.Completed {
			continue
		}
		w := work{description: t.Description, effect: t.RequiresExternalEffect, tools: slices.Sorted(slices.Values(t.RequiredTools))}
		for _, d := range t.DependsOn {
			w.on = append(w.on, g.tasks[g.find(d)].Description)
		}
		slices.Sort(w.on)
		out = append(out, w)
	}
	return out
}
