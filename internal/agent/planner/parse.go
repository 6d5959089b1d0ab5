package planner

import (
	"fmt"
	"strings"

	"sekisho/internal/agent"
	"sekisho/internal/strictjson"
)

// MaxPlanBytes bounds the text of a structured plan.
const MaxPlanBytes = 1 << 20

// plan is the structured output. Pointers tell an absent member from a zero one: Ollama enforces the schema only on most
// models, so presence is checked here again (A-OLL-08).
type plan struct {
	Tasks *[]planTask `json:"tasks"`
}

type planTask struct {
	ID                     *string           `json:"id"`
	Description            *string           `json:"description"`
	DependsOn              *[]string         `json:"depends_on"`
	BudgetClass            *TokenBudgetClass `json:"budget_class"`
	OptimisticTokens       *int64            `json:"optimistic_tokens"`
	MostLikelyTokens       *int64            `json:"most_likely_tokens"`
	PessimisticTokens      *int64            `json:"pessimistic_tokens"`
	RequiresExternalEffect *bool             `json:"requires_external_effect"`
	RequiredTools          *[]string         `json:"required_tools"`
}

// ParsePlan decodes and validates the initial plan. The error is an *InvalidError.
func ParsePlan(data []byte, maxTasks int) (*TaskGraph, error) {
	tasks, err := decode(data)
	if err != nil {
		return nil, err
	}
	return New(tasks, maxTasks)
}

func decode(data []byte) ([]Task, error) {
	var p plan
	if err := strictjson.Unmarshal(data, MaxPlanBytes, &p); err != nil {
		return nil, refuse("the answer is not exactly one JSON object of the plan's schema: %v", err)
	}
	if p.Tasks == nil {
		return nil, refuse(`the member "tasks" is missing`)
	}
	var reasons []string
	tasks := make([]Task, len(*p.Tasks))
	for i, t := range *p.Tasks {
		if missing := t.missing(); len(missing) > 0 {
			reasons = append(reasons, fmt.Sprintf("task number %d lacks %s", i+1, strings.Join(missing, ", ")))
			continue
		}
		tasks[i] = t.task()
	}
	if len(reasons) > 0 {
		return nil, &InvalidError{Reasons: (&checker{reasons}).list()}
	}
	return tasks, nil
}

func (t planTask) missing() []string {
	var names []string
	for _, m := range []struct {
		name   string
		absent bool
	}{
		{"id", t.ID == nil}, {"description", t.Description == nil}, {"depends_on", t.DependsOn == nil},
		{"budget_class", t.BudgetClass == nil}, {"optimistic_tokens", t.OptimisticTokens == nil},
		{"most_likely_tokens", t.MostLikelyTokens == nil}, {"pessimistic_tokens", t.PessimisticTokens == nil},
		{"requires_external_effect", t.RequiresExternalEffect == nil}, {"required_tools", t.RequiredTools == nil},
	} {
		if m.absent {
			names = append(names, m.name)
		}
	}
	return names
}

func (t planTask) task() Task {
	return Task{
		ID: *t.ID, Description: *t.Description, DependsOn: *t.DependsOn, State: agent.Queued, Budget: *t.BudgetClass,
		Estimate:               TokenEstimate{Optimistic: *t.OptimisticTokens, MostLikely: *t.MostLikelyTokens, Pessimistic: *t.PessimisticTokens},
		RequiresExternalEffect: *t.RequiresExternalEffect, RequiredTools: *t.RequiredTools,
	}
}
