package runtime

import (
	"slices"
	"strings"

	"sekisho/internal/agent"
	"sekisho/internal/agent/planner"
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

// ledger is what is known of one planner task while it runs: evidence, unresolved failures, and successes that a repeat
// would not add to. It starts empty for each planner task, so that nothing proven elsewhere counts (A-PLAN-09).
type ledger struct {
	evidence   planner.Evidence
	unresolved []failedCall
	// changes counts successful calls that may have changed what a read would show; done is its value after each
	// successful call, kept with the result of calls that only read.
	changes int
	done    map[fingerprint]repeatable
	result  struct{ calls, changed []string }
}

type failedCall struct {
	tool, program string
	fingerprint   fingerprint
}

type repeatable struct {
	at     int
	result agent.ToolResult
}

// fail keeps a failure that a later success has to make up for: one of a tool that exists, was in scope and does work.
func (l *ledger) fail(call agent.ToolCall, r agent.ToolResult) {
	if r.ErrorCode == fault.ToolUnknown || r.ErrorCode == fault.ToolOutOfScope || call.Name == agent.ToolTaskUpdate {
		return
	}
	f := failedCall{tool: call.Name, fingerprint: fingerprintOf(call, r.ErrorCode)}
	if r.ErrorCode == fault.ToolFailed {
		f.program = program(call)
	}
	l.unresolved = append(slices.DeleteFunc(l.unresolved, func(o failedCall) bool { return o == f }), f)
}

// succeed records a success and resolves what it makes up for: earlier failures of the same tool, and of the same program
// when programs failed. A passing `go version` says nothing about a failing `go test`.
func (l *ledger) succeed(call agent.ToolCall, r agent.ToolResult) {
	l.evidence.Add(r)
	p := program(call)
	l.unresolved = slices.DeleteFunc(l.unresolved, func(o failedCall) bool {
		return o.tool == call.Name && (o.program == "" || o.program == p)
	})
	if !readOnly(call) {
		l.changes++
	}
	if l.done == nil {
		l.done = map[fingerprint]repeatable{}
	}
	l.done[fingerprintOf(call, "")] = repeatable{l.changes, r}
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

type callArguments struct {
	Operation  string   `json:"operation"`
	Executable string   `json:"executable"`
	Args       []string `json:"args"`
}

// arguments reads the members that this package looks at; a call that does not validate yields empty ones.
func arguments(call agent.ToolCall) callArguments {
	var a callArguments
	if err := strictjson.UnmarshalOpen(call.Arguments, len(call.Arguments), &a); err != nil {
		return callArguments{}
	}
	return a
}

// program names what a process_run ran: the executable, and its subcommand if the first argument looks like one.
func program(call agent.ToolCall) string {
	if call.Name != agent.ToolProcessRun {
		return ""
	}
	a := arguments(call)
	if len(a.Args) > 0 && isWord(a.Args[0]) {
		return a.Executable + " " + a.Args[0]
	}
	return a.Executable
}

func isWord(s string) bool {
	return s != "" && s[0] != '-' && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == ':')
	})
}
