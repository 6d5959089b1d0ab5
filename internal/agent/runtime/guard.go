package runtime

import (
	"sekisho/internal/agent"
	"sekisho/internal/fault"
	"sekisho/internal/strictjson"
)

// fingerprint identifies a failure (A-TOOL-08): tool, canonical JSON arguments, error code. Failures without a call have
// the planner task's id as arguments.
type fingerprint struct {
	tool, arguments string
	code            fault.Code
}

func fingerprintOf(call agent.ToolCall, code fault.Code) fingerprint {
	return fingerprint{call.Name, canonical(call), code}
}

// canonical is the RFC 8785 form of a call's arguments: models change the order of members for the same text.
func canonical(call agent.ToolCall) string {
	c, err := strictjson.Canonical(call.Arguments)
	if err != nil {
		return string(call.Arguments)
	}
	return string(c)
}

// guard is the ToolUseGuard: it counts equal failures over the whole agent task.
type guard struct {
	limit  int
	counts map[fingerprint]int
}

func newGuard(limit int) guard { return guard{limit: limit, counts: map[fingerprint]int{}} }

// count adds one occurrence and reports whether the limit is reached.
func (g *guard) count(f fingerprint) bool {
	g.counts[f]++
	return g.counts[f] >= g.limit
}

// noProgress is the code under which repeated equal successes are counted; it never leaves this package.
const noProgress fault.Code = "agent.no_progress"
