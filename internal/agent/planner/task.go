package planner

import (
	"slices"

	"sekisho/internal/agent"
)

// Limits of one planner task (ours). Characters are Unicode code points, as in the schema's maxLength.
const (
	MaxIDLength          = 64
	MaxDescriptionLength = 1500
)

// Task is one planner task, a node of the TaskGraph (A-PLAN-01).
type Task struct {
	ID          string
	Description string
	// DependsOn lists the ids of tasks that must be completed before.
	DependsOn []string
	State     agent.Status
	Budget    TokenBudgetClass
	Estimate  TokenEstimate
	// RequiresExternalEffect and RequiredTools come from the structured plan, never from keywords (A-PLAN-08).
	RequiresExternalEffect bool
	RequiredTools          []string
	// Usage is what the run calls of this task have cost so far (A-PLAN-07).
	Usage agent.Usage
}

// Requires reports whether tool is in the task's required set.
func (t Task) Requires(tool string) bool { return slices.Contains(t.RequiredTools, tool) }

func (t Task) clone() Task {
	t.DependsOn = slices.Clone(t.DependsOn)
	t.RequiredTools = slices.Clone(t.RequiredTools)
	return t
}

// edits reports whether the task changes files through the file tool.
func (t Task) edits() bool { return t.Requires(agent.ToolFileEdit) }

// codes reports whether the task edits and verifies (A-PLAN-11).
func (t Task) codes() bool { return t.edits() && t.Requires(agent.ToolProcessRun) }

// tools are the names that required_tools may hold, in the specification's order.
var tools = []string{
	agent.ToolFileSearch, agent.ToolFileRead, agent.ToolFileEdit, agent.ToolProcessRun, agent.ToolTaskUpdate, agent.ToolDir,
}

// sideEffectTools are the tools of which a success can prove an external effect (A-PLAN-09); dir only with mkdir and rmdir.
var sideEffectTools = []string{agent.ToolFileEdit, agent.ToolProcessRun, agent.ToolDir}

// moves are the state changes that a planner task may make (A-RUN-01).
var moves = map[agent.Status][]agent.Status{
	agent.Queued:   {agent.Planning, agent.Running, agent.Failed, agent.Cancelled},
	agent.Planning: {agent.Running, agent.Failed, agent.Cancelled},
	agent.Running:  {agent.Planning, agent.Completed, agent.Failed, agent.Cancelled},
}
