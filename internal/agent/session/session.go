package session

import (
	"time"

	"sekisho/internal/agent/planner"
)

// Session is one agent session. Id, owner and life cycle belong to the Store; the memory belongs to the Agent Runtime's
// runner, which runs one agent task at a time, and is touched by nobody else.
type Session struct {
	id, owner         string
	state             State
	created, accessed time.Time
	unfinished        int

	turns   []turn
	results []Result
	facts   facts
	// outcomes and answers are what summaries folded of results and turns, one line each.
	outcomes, answers []string
	summary           string
	// graph is the TaskGraph of the latest agent task, for the summary.
	graph []planner.Task
}

// ID is the session's id.
func (s *Session) ID() string { return s.id }

// turn is one finished agent task: what was asked and what was answered.
type turn struct{ request, answer string }

// Result is one verified result of a planner task (context item 8).
type Result struct {
	Task string // agent task
	// Planner and Description name the planner task.
	Planner     string
	Description string
	Answer      string   // the planner task's closing answer
	Calls       []string // successful calls in short form
	Changed     []string // files that were changed
}

// Restrictions of what is kept (ours): a session may live long, its memory must not grow without end.
const (
	maxTurns   = 50
	maxResults = 100
	maxFacts   = 100
	maxTurn    = 64 << 10 // bytes of a request or an answer
)

// AddResult keeps the verified result of a completed planner task. Results of calls that were out of scope or failed are
// never part of one (A-PLAN-10).
func (s *Session) AddResult(r Result) {
	s.results = keep(append(s.results, r), maxResults)
	s.facts.changed(r)
}

// AddTurn closes an agent task: its request and its answer, or what it ended with, become conversation.
func (s *Session) AddTurn(request, answer string) {
	request, answer = Cut(request, maxTurn), Cut(answer, maxTurn)
	s.turns = keep(append(s.turns, turn{request, answer}), maxTurns)
	s.facts.request(request)
}

// SetGraph records the running agent task's graph.
func (s *Session) SetGraph(tasks []planner.Task) { s.graph = tasks }

// AddFailure counts a failure, for the retained facts.
func (s *Session) AddFailure(code, target string) { s.facts.failure(code, target) }

// AddDenial keeps a security denial, for the retained facts.
func (s *Session) AddDenial(code, target string) { s.facts.denial(code, target) }

// keep drops the oldest elements beyond n.
func keep[T any](list []T, n int) []T {
	if len(list) > n {
		return append([]T(nil), list[len(list)-n:]...)
	}
	return list
}
