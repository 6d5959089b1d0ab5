package planner

import (
	"fmt"
	"slices"
	"strings"

	"sekisho/internal/agent"
)

// Evidence collects which tools succeeded while one planner task was running. The zero value holds none.
type Evidence struct {
	tools  map[string]bool
	effect map[string]bool
}

// Add records a result. Only success is evidence; what the model says about it is not.
func (e *Evidence) Add(r agent.ToolResult) {
	if !r.OK {
		return
	}
	if e.tools == nil {
		e.tools, e.effect = map[string]bool{}, map[string]bool{}
	}
	e.tools[r.Name] = true
	if r.SideEffect {
		e.effect[r.Name] = true
	}
}

// Missing says what is not yet proven about t; none means that t is verified (A-PLAN-09). A success of a tool outside the
// task's set proves nothing.
func (e *Evidence) Missing(t Task) []string {
	var missing []string
	for _, tool := range t.RequiredTools {
		if !e.tools[tool] {
			missing = append(missing, fmt.Sprintf("no call of %s has succeeded", tool))
		}
	}
	if t.RequiresExternalEffect && !slices.ContainsFunc(t.RequiredTools, func(tool string) bool { return e.effect[tool] }) {
		missing = append(missing, "nothing was changed or run: no side effect of "+strings.Join(slices.DeleteFunc(slices.Clone(t.RequiredTools),
			func(tool string) bool { return !sideEffectTool(tool) }), ", ")+" has succeeded")
	}
	return missing
}

// InScope reports whether a call may be dispatched while t is running: a side-effect tool outside the task's set may not
// (A-PLAN-10).
func (t Task) InScope(tool, operation string) bool {
	return !SideEffect(tool, operation) || t.Requires(tool)
}
