package runtime

import (
	"slices"

	"sekisho/internal/agent"
	"sekisho/internal/agent/planner"
	"sekisho/internal/fault"
)

// ledger is what is known of one planner task while it runs: evidence, failures, and successes that a repeat would not add
// to. It starts empty for each planner task, so that nothing proven elsewhere counts (A-PLAN-09).
type ledger struct {
	base     string // where relative paths start, or ""
	evidence planner.Evidence
	failures []failedCall
	// changes counts successful calls that may have changed what a read would show; done is its value after each
	// successful call, kept with the result of calls that only read.
	changes int
	done    map[fingerprint]repeatable
	result  struct{ calls, changed []string }
}

type repeatable struct {
	at     int
	result agent.ToolResult
}

// fail keeps a failure that a later success has to answer: one of a tool that exists, was in scope and does work.
func (l *ledger) fail(call agent.ToolCall, r agent.ToolResult) {
	if r.ErrorCode == fault.ToolUnknown || r.ErrorCode == fault.ToolOutOfScope || call.Name == agent.ToolTaskUpdate {
		return
	}
	f := newFailedCall(l.base, call, r)
	l.failures = append(slices.DeleteFunc(l.failures, func(o failedCall) bool { return o.fingerprint == f.fingerprint }), f)
}

// succeed records a success and what it answers.
func (l *ledger) succeed(call agent.ToolCall, r agent.ToolResult) {
	l.evidence.Add(r)
	l.failures = answered(l.base, l.failures, call, r)
	if !readOnly(call) {
		l.changes++
	}
	if l.done == nil {
		l.done = map[fingerprint]repeatable{}
	}
	l.done[fingerprintOf(call, "")] = repeatable{l.changes, r}
}

// open returns the latest failure that nothing has answered.
func (l *ledger) open() (failedCall, bool) {
	for _, f := range slices.Backward(l.failures) {
		if !f.around {
			return f, true
		}
	}
	return failedCall{}, false
}

// repeated returns the earlier result of an identical successful call since which nothing has changed (F37).
func (l *ledger) repeated(call agent.ToolCall) (agent.ToolResult, bool) {
	d, ok := l.done[fingerprintOf(call, "")]
	return d.result, ok && d.at == l.changes
}

// readOnly reports whether a call changes nothing, so that repeating it can be answered from its recorded result.
func readOnly(call agent.ToolCall) bool {
	switch call.Name {
	case agent.ToolFileRead, agent.ToolFileSearch:
		return true
	case agent.ToolDir:
		return !planner.SideEffect(call.Name, arguments(call).Operation)
	}
	return false
}
