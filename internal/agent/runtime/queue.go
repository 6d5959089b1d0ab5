package runtime

import (
	"context"
	"errors"
	"slices"

	"sekisho/internal/agent"
	"sekisho/internal/agent/session"
	"sekisho/internal/fault"
	"sekisho/internal/visible"
)

// Limits of what is accepted and not finished. They are far above what one user can wait for; they bound the memory that a
// client running away can take.
const (
	maxUnfinished      = 64
	maxUnfinishedBytes = 256 << 20 // request texts and images in Base64
)

// Enqueue accepts a request and returns at once. The agent task is detached from whatever context the caller has.
// Errors: session.not_found, server.stopping, server.busy; none leaves a task or a session.
func (r *Runtime) Enqueue(q Request) (Accepted, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopping {
		return Accepted{}, fault.New(fault.ServerStopping)
	}
	r.expire()
	if r.tasks[q.TaskID] != nil {
		return Accepted{}, fault.New(fault.AgentInternal, fault.Cause(errors.New("the task id is in use")))
	}
	size := q.size()
	if r.unfinished >= maxUnfinished || r.bytes+size > maxUnfinishedBytes {
		return Accepted{}, fault.New(fault.ServerBusy, fault.Arg("count", r.unfinished))
	}
	var s *session.Session
	if q.SessionID == "" {
		s = r.sessions.Open(r.deps.NewID(), q.Owner)
	} else {
		var err error
		if s, err = r.sessions.Begin(q.SessionID); err != nil {
			return Accepted{}, err
		}
	}
	r.unfinished++
	r.bytes += size
	t := &task{request: q, size: size, session: s, done: make(chan struct{}), now: r.deps.Now}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	if q.TaskID == "" {
		q.TaskID = r.deps.NewID()
	}
	t.status = agent.TaskStatus{TaskID: q.TaskID, SessionID: s.ID(), Status: agent.Queued}
	t.touch()
	r.tasks[t.status.TaskID] = t
	r.queue = append(r.queue, t)
	r.signal()
	return Accepted{TaskID: t.status.TaskID, SessionID: s.ID()}, nil
}

// Status tells an agent task's state. A sessionID, if given, must be the task's own and active.
// Errors: task.not_found, session.not_found.
func (r *Runtime) Status(taskID, sessionID string) (agent.TaskStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire()
	t := r.tasks[taskID]
	if t == nil || sessionID != "" && sessionID != t.session.ID() {
		return agent.TaskStatus{}, fault.New(fault.TaskNotFound, fault.Target(taskID))
	}
	if err := r.sessions.Touch(t.session.ID()); err != nil && sessionID != "" {
		return agent.TaskStatus{}, err
	}
	st := t.status
	key := "message.status." + string(st.Status)
	if st.Status == agent.Completed && st.LastErrorCode != "" {
		key = "message.status.completed_otherwise"
	}
	if st.Status == agent.Queued && t.waiting != "" {
		st.Message = r.deps.Texts.Text("message.status.waiting", map[string]string{"root": visible.Escape(t.waiting)})
		return st, nil
	}
	st.Message = r.deps.Texts.Text(key, nil)
	return st, nil
}

// expire forgets the sessions whose time is over, with their tasks. The caller holds mu.
func (r *Runtime) expire() {
	gone := r.sessions.Expire()
	if len(gone) == 0 {
		return
	}
	for id, t := range r.tasks {
		if slices.Contains(gone, t.session.ID()) {
			delete(r.tasks, id)
		}
	}
}

// Done is closed when the agent task is terminal; for an unknown task it is closed already.
func (r *Runtime) Done(taskID string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.tasks[taskID]; t != nil {
		return t.done
	}
	done := make(chan struct{})
	close(done)
	return done
}

// Cancel cancels an agent task and returns when it is terminal and its process tree is dead, or with ctx's error. A task
// that is terminal already stays as it is. Error: task.not_found.
func (r *Runtime) Cancel(ctx context.Context, taskID string) error {
	r.mu.Lock()
	t := r.tasks[taskID]
	if t == nil {
		r.mu.Unlock()
		return fault.New(fault.TaskNotFound, fault.Target(taskID))
	}
	r.cancel(t)
	r.mu.Unlock()
	return wait(ctx, t)
}

// Interrupt is Cancel for a caller that does not wait. Error: task.not_found.
func (r *Runtime) Interrupt(taskID string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tasks[taskID]
	if t == nil {
		return fault.New(fault.TaskNotFound, fault.Target(taskID))
	}
	r.cancel(t)
	return nil
}

// cancel ends a queued task at once, without touching the sandbox (A-RUN-04), and tells a begun one to end. The caller
// holds mu.
func (r *Runtime) cancel(t *task) {
	if t.status.Status.Terminal() {
		return
	}
	e := fault.New(fault.AgentCancelled)
	if i := slices.Index(r.queue, t); i >= 0 {
		r.queue = slices.Delete(r.queue, i, i+1)
		r.finish(t, agent.Cancelled, r.ended(e), "")
		return
	}
	t.cancel(e)
}

func wait(ctx context.Context, tasks ...*task) error {
	for _, t := range tasks {
		select {
		case <-t.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// CloseOwner closes the sessions that owner opened and cancels its unfinished tasks and those of these sessions, then
// waits as Cancel does (A-SES-08).
func (r *Runtime) CloseOwner(ctx context.Context, owner string) error {
	return wait(ctx, r.close(owner, false)...)
}

// Stop refuses new requests, cancels what is unfinished, closes every session and waits for the runner to end
// (A-STOP-01). It may be repeated.
func (r *Runtime) Stop(ctx context.Context) error {
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
	tasks := r.close("", true)
	r.signal()
	if err := wait(ctx, tasks...); err != nil {
		return err
	}
	select {
	case <-r.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close closes sessions and cancels their tasks; it returns the tasks that may still be ending.
func (r *Runtime) close(owner string, all bool) []*task {
	r.mu.Lock()
	defer r.mu.Unlock()
	closing := r.sessions.Close(owner, all)
	var tasks []*task
	for _, t := range r.tasks {
		if all || owner != "" && t.request.Owner == owner || slices.Contains(closing, t.session.ID()) {
			r.cancel(t)
			tasks = append(tasks, t)
		}
	}
	return tasks
}
