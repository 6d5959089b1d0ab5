package runtime

import (
	"context"
	"slices"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/agent/session"
	"sekisho/internal/fault"
)

// Request is one accepted call of agent_run. Its arguments have been validated (A-MCP-08).
type Request struct {
	// TaskID is the new task's id where the caller had to write it down before (A-MCP-12): a random UUID that was never used.
	// "" means that the runtime makes one.
	TaskID      string
	Text        string
	SessionID   string   // "" opens a new session
	Temperature *float64 // for this agent task only (A-OLL-03)
	Images      []agent.Image
	// Owner names the connection that the task belongs to; see CloseOwner. "" means none.
	Owner string
}

func (q Request) size() int64 {
	n := int64(len(q.Text))
	for _, i := range q.Images {
		n += int64(len(i.Data))
	}
	return n
}

// Accepted names the new agent task.
type Accepted struct{ TaskID, SessionID string }

// task is one agent task. Its context is its own, detached from whoever asked for it.
type task struct {
	request Request
	size    int64 // of the request as accepted
	session *session.Session
	ctx     context.Context
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when terminal
	now     func() time.Time

	status agent.TaskStatus // guarded by Runtime.mu; Message is made when it is asked for
	// worked is a refusal or limit that a new plan went around, or a failure that a later call did. A completed task keeps showing it: the model's answer may
	// pass over it, and no code can tell whether that matters to the user.
	worked *ending
	// waiting is the root that the queued task waits for, guarded by Runtime.mu. left tells what was moved to the quarantine.
	waiting string
	left    string
}

// moves are the state changes of A-RUN-01; a terminal state has none.
var moves = map[agent.Status][]agent.Status{
	agent.Queued:   {agent.Planning, agent.Failed, agent.Cancelled},
	agent.Planning: {agent.Running, agent.Failed, agent.Cancelled},
	agent.Running:  {agent.Planning, agent.Completed, agent.Failed, agent.Cancelled},
}

// move changes t's state if A-RUN-01 has that change. The caller holds mu.
func (t *task) move(to agent.Status) {
	if !slices.Contains(moves[t.status.Status], to) {
		// Only the runner and the cancelling of a queued task come here; both know the state they leave.
		panic("runtime: agent task cannot go from " + string(t.status.Status) + " to " + string(to))
	}
	t.status.Status = to
	t.touch()
}

// touch notes that what agent_status tells has changed. The caller holds mu.
func (t *task) touch() { t.status.Updated = t.now() }

// ending is how an agent task ends. The zero value of code means without failure.
type ending struct {
	code fault.Code
	text string // localized
	err  error  // for the log
	// recovery is set when something could not be cleaned up: the application stops.
	recovery bool
}

// ended makes an ending of a coded error.
func (r *Runtime) ended(e *fault.Error) *ending {
	return &ending{code: e.Code, text: r.localized(e), err: e, recovery: e.Category() == fault.RecoveryFailure}
}

func (r *Runtime) localized(e *fault.Error) string {
	sentence, remedy := r.deps.Texts.Error(e)
	return r.deps.Texts.Join(sentence, remedy)
}

// finish makes t terminal. The caller holds mu and comes exactly once.
func (r *Runtime) finish(t *task, to agent.Status, end *ending, result string) {
	t.move(to)
	t.status.CurrentTask = ""
	t.status.LastErrorCode, t.status.LastError = "", ""
	if end == nil && to == agent.Completed {
		end = t.worked
	}
	if end != nil {
		t.status.LastErrorCode, t.status.LastError = end.code, end.text
	}
	if t.left != "" {
		if t.status.LastErrorCode == "" {
			t.status.LastErrorCode = fault.PolicyDenied
		}
		t.status.LastError = r.deps.Texts.Join(slices.DeleteFunc([]string{t.left, t.status.LastError}, func(s string) bool { return s == "" })...)
	}
	if to == agent.Completed {
		t.status.Result = result
	}
	t.request.Images = nil
	r.unfinished--
	r.bytes -= t.size
	t.cancel(nil)
	r.sessions.End(t.session)
	close(t.done)
}
