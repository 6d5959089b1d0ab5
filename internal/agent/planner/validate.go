package planner

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"sekisho/internal/agent"
)

// InvalidError says why a plan, or a change of a graph, was refused. Reasons are sentences that the model can act on.
type InvalidError struct{ Reasons []string }

// Error joins the reasons.
func (e *InvalidError) Error() string { return strings.Join(e.Reasons, "; ") }

// maxReasons bounds what one refusal tells: a model that got everything wrong does not need every instance.
const maxReasons = 12

var idPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]+$`) })

// check returns every reason why tasks are no valid graph; none means valid.
func check(tasks []Task, maxTasks int) []string {
	var c checker
	switch {
	case len(tasks) == 0:
		c.add("the plan has no task; it needs at least one, also for pure analysis (requires_external_effect false)")
	case len(tasks) > maxTasks:
		c.add("the plan has %d tasks, more than the maximum of %d: merge tasks that belong to one result", len(tasks), maxTasks)
	}
	seen := map[string]bool{}
	for _, t := range tasks {
		c.task(t)
		if seen[t.ID] {
			c.add("the id %q is used by more than one task", t.ID)
		}
		seen[t.ID] = true
	}
	for _, t := range tasks {
		c.dependencies(t, seen)
	}
	if len(c.reasons) == 0 { // what follows needs sound ids
		c.cycle(tasks)
	}
	if len(c.reasons) == 0 {
		c.editChains(tasks)
	}
	return c.list()
}

type checker struct{ reasons []string }

func (c *checker) add(format string, args ...any) {
	c.reasons = append(c.reasons, fmt.Sprintf(format, args...))
}

func (c *checker) list() []string {
	if n := len(c.reasons) - maxReasons; n > 0 {
		return append(c.reasons[:maxReasons:maxReasons], fmt.Sprintf("and %d more problems", n))
	}
	return c.reasons
}

func (c *checker) task(t Task) {
	if !idPattern().MatchString(t.ID) || len(t.ID) > MaxIDLength {
		c.add("the id %q must be 1 to %d letters, digits, '_', '-' or '.'", clip(t.ID), MaxIDLength)
	}
	name := clip(t.ID)
	if strings.TrimSpace(t.Description) == "" {
		c.add("task %q has no description", name)
	}
	if n := utf8.RuneCountInString(t.Description); n > MaxDescriptionLength {
		c.add("the description of task %q has %d characters, more than %d", name, n, MaxDescriptionLength)
	}
	if r := t.Estimate.check(t.Budget); r != "" {
		c.add("task %q: %s", name, r)
	}
	for i, tool := range t.RequiredTools {
		if !slices.Contains(tools, tool) {
			c.add("task %q: required_tools holds %q; the tools are %s", name, clip(tool), strings.Join(tools, ", "))
		} else if slices.Contains(t.RequiredTools[:i], tool) {
			c.add("task %q: required_tools holds %q twice", name, tool)
		}
	}
	if t.RequiresExternalEffect && !slices.ContainsFunc(t.RequiredTools, sideEffectTool) {
		c.add("task %q has requires_external_effect true, so required_tools must hold at least one of %s", name, strings.Join(sideEffectTools, ", "))
	}
}

func (c *checker) dependencies(t Task, known map[string]bool) {
	for i, d := range t.DependsOn {
		switch {
		case d == t.ID:
			c.add("task %q depends on itself", clip(t.ID))
		case !known[d]:
			c.add("task %q depends on %q, which is not in the plan", clip(t.ID), clip(d))
		case slices.Contains(t.DependsOn[:i], d):
			c.add("task %q lists the dependency %q twice", clip(t.ID), d)
		}
	}
}

func (c *checker) cycle(tasks []Task) {
	order := topological(tasks, indexOf(tasks))
	if len(order) == len(tasks) {
		return
	}
	c.add("the dependencies form a cycle: %s", strings.Join(findCycle(tasks, order), " -> "))
}

// findCycle walks dependencies among the tasks that no order could place; such a walk must meet itself.
func findCycle(tasks []Task, placed []int) []string {
	index := indexOf(tasks)
	i := slices.IndexFunc(tasks, func(t Task) bool { return !slices.Contains(placed, index[t.ID]) })
	var walk []string
	for {
		if at := slices.Index(walk, tasks[i].ID); at >= 0 {
			return append(walk[at:], tasks[i].ID)
		}
		walk = append(walk, tasks[i].ID)
		next := slices.IndexFunc(tasks[i].DependsOn, func(d string) bool { return !slices.Contains(placed, index[d]) })
		i = index[tasks[i].DependsOn[next]]
	}
}

// editChains refuses plans that split editing from verifying (A-PLAN-11).
func (c *checker) editChains(tasks []Task) {
	index := indexOf(tasks)
	for _, t := range tasks {
		if !t.codes() {
			continue
		}
		for _, a := range ancestors(tasks, index, t) {
			if tasks[a].edits() {
				c.add("task %q requires file_edit and process_run but depends on task %q, which requires file_edit: editing, verifying and fixing "+
					"are one task, so merge the two; if their results are independent, remove the dependency", t.ID, tasks[a].ID)
			}
		}
	}
}

// ancestors returns everything that t depends on, directly or not, in creation order.
func ancestors(tasks []Task, index map[string]int, t Task) []int {
	seen := map[int]bool{}
	var visit func(Task)
	visit = func(t Task) {
		for _, d := range t.DependsOn {
			if i := index[d]; !seen[i] {
				seen[i] = true
				visit(tasks[i])
			}
		}
	}
	visit(t)
	var out []int
	for i := range tasks {
		if seen[i] {
			out = append(out, i)
		}
	}
	return out
}

func sideEffectTool(name string) bool { return slices.Contains(sideEffectTools, name) }

// clip keeps a quoted piece of model output short.
func clip(s string) string {
	if r := []rune(s); len(r) > MaxIDLength {
		return string(r[:MaxIDLength]) + "..."
	}
	return s
}

// SideEffect reports whether a successful call of this tool would count as an external effect: file_edit, process_run,
// dir with mkdir or rmdir (A-PLAN-09). Operation is the call's argument of that name.
func SideEffect(tool, operation string) bool {
	switch tool {
	case agent.ToolFileEdit, agent.ToolProcessRun:
		return true
	case agent.ToolDir:
		return operation == "mkdir" || operation == "rmdir"
	}
	return false
}
