// Package planner holds the TaskGraph of an agent task: planner tasks with token estimates, their dependencies, the
// critical path, and the rules that decide which plan is acceptable and when a planner task counts as done.
//
// The package is pure: it performs no input or output and reads no clock, so the same plan always yields the same order
// and the same critical path. A plan is model output and therefore untrusted: it is decoded strictly, every refusal names
// concrete reasons that the model can act on, and nothing in a graph is ever filled in by guessing (A-PLAN-04, A-PLAN-08).
// Reasons are internal English text for the model, not for users.
//
// A TaskGraph is not safe for concurrent use; the Agent Runtime's runner owns it.
package planner

import "fmt"

// TokenBudgetClass bounds what a planner task may be estimated to cost (A-PLAN-01).
type TokenBudgetClass string

// budgetClasses lists the classes in ascending order; 1K is 1,024 tokens.
var budgetClasses = []TokenBudgetClass{"1K", "2K", "4K", "8K", "16K", "32K", "64K", "128K"}

// Max is the class's maximum in tokens, or 0 for a class that does not exist.
func (b TokenBudgetClass) Max() int64 {
	for i, c := range budgetClasses {
		if c == b {
			return 1024 << i
		}
	}
	return 0
}

// TokenEstimate is a three-point estimate in tokens.
type TokenEstimate struct {
	Optimistic, MostLikely, Pessimistic int64
}

// Expected is TokenPERT's (O + 4M + P)/6 (A-PLAN-02).
func (e TokenEstimate) Expected() float64 { return float64(e.sixfold()) / 6 }

// Variance is ((P − O)/6)², a diagnostic that no decision uses (A-PLAN-02).
func (e TokenEstimate) Variance() float64 {
	d := float64(e.Pessimistic-e.Optimistic) / 6
	return d * d
}

// sixfold is six times Expected. Sums and comparisons of paths are exact in it, so that ties are real ties.
func (e TokenEstimate) sixfold() int64 { return e.Optimistic + 4*e.MostLikely + e.Pessimistic }

// check returns the reason why e is no estimate within class b, or "".
func (e TokenEstimate) check(b TokenBudgetClass) string {
	limit := b.Max()
	if limit == 0 {
		return fmt.Sprintf("budget_class %q is not one of 1K, 2K, 4K, 8K, 16K, 32K, 64K, 128K", b)
	}
	if 0 < e.Optimistic && e.Optimistic <= e.MostLikely && e.MostLikely <= e.Pessimistic && e.Pessimistic <= limit {
		return ""
	}
	return fmt.Sprintf("estimates must satisfy 0 < optimistic_tokens <= most_likely_tokens <= pessimistic_tokens <= %d (class %s), but are %d, %d, %d",
		limit, b, e.Optimistic, e.MostLikely, e.Pessimistic)
}
