package runtime

import (
	"context"
	"fmt"

	"sekisho/internal/agent/planner"
	"sekisho/internal/agent/tool"
)

// editor applies task_update to the running agent task's graph (A-TOOL-05). The planner validates every change as a whole.
type editor struct{ run *run }

// Edit implements tool.GraphEditor.
func (e editor) Edit(_ context.Context, u tool.GraphUpdate) (string, error) {
	g := e.run.graph
	class := planner.TokenBudgetClass(u.BudgetClass)
	estimate := planner.TokenEstimate{Optimistic: u.Optimistic, MostLikely: u.MostLikely, Pessimistic: u.Pessimistic}
	id, said := u.TaskID, ""
	var err error
	switch u.Operation {
	case tool.UpdateAdd:
		id, err = g.AddTask(planner.Task{
			ID: u.TaskID, Description: u.Description, DependsOn: u.DependsOn, Budget: class, Estimate: estimate,
			RequiresExternalEffect: u.RequiresExternalEffect != nil && *u.RequiresExternalEffect, RequiredTools: u.RequiredTools,
		})
		said = "added"
	case tool.UpdateAddDependency:
		err, said = g.AddDependency(id, u.DependsOn...), "has the new dependencies"
	case tool.UpdateSetEstimate:
		err, said = g.SetEstimate(id, class, estimate), "has the new estimate"
	default:
		err = fmt.Errorf("the operation %q does not exist", u.Operation)
	}
	if err != nil {
		return "", err
	}
	e.run.publish()
	return fmt.Sprintf("task %s %s; the critical path is %v", id, said, g.CriticalPath()), nil
}
