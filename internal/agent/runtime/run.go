package runtime

import (
	"context"
	"sync"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/agent/planner"
	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// run is one agent task between queued and terminal. It belongs to the runner goroutine.
type run struct {
	*Runtime
	task  *task
	graph *planner.TaskGraph
	job   sandbox.TaskJob
	claim sandbox.Claim
	guard guard

	usage      agent.Usage
	iterations int
	replans    int
	denied     map[fingerprint]bool // refusals that a replan has answered
	answer     string               // of the planner task completed last
	around     []failedCall         // failures that completed planner tasks went around
}

// closeTimeout bounds the end of a task's sandbox. Killing a tree takes milliseconds; what takes longer is stuck in the
// kernel, and then nothing is proven.
const closeTimeout = time.Minute

// run takes t from planning to terminal. Terminal is what others see only after the sandbox is gone (A-MCP-11).
func (r *Runtime) run(t *task) {
	x := &run{Runtime: r, task: t, guard: newGuard(r.deps.Config.SameFailureLimit), denied: map[fingerprint]bool{}}
	log := r.deps.Log.With("task_id", t.status.TaskID, "session_id", t.session.ID())
	log.Info("task begins")
	end := x.begin()
	if end == nil {
		end = x.work()
	}
	if e := x.closeJob(); e != nil {
		end = e
	}
	if end == nil && t.ctx.Err() != nil { // cancelled while the last step ended: its late result is discarded (A-MCP-11)
		end = x.because(t.ctx, t.ctx.Err())
	}
	final := agent.Completed
	if end != nil {
		final = agent.Failed
		if end.code == fault.AgentCancelled && t.ctx.Err() != nil {
			final = agent.Cancelled
		}
	}
	code := fault.Code("")
	if end != nil {
		code = end.code
	}
	if e := x.audit(audit.Event{Event: audit.TaskEnd, FinalState: string(final), ErrorCode: string(code)}); e != nil && (end == nil || !end.recovery) {
		final, end = agent.Failed, e
	}
	outcome := x.answer
	if end != nil {
		log.Warn("task ends", "state", final, "code", end.code, "error", end.err)
		outcome = string(final) + " (" + string(end.code) + ")"
	} else {
		log.Info("task ends", "state", final)
	}
	x.settle(final)
	t.session.AddTurn(t.request.Text, outcome)
	if end != nil && end.recovery {
		r.fail(end.err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finish(t, final, end, r.userText(t, x.answer))
}

// begin waits for the workspaces and announces the task. Until it has them the task stays queued (A-TX-08).
func (x *run) begin() *ending {
	claim, err := x.deps.Opener.Claim(x.task.ctx, x.task.status.TaskID, x.waiting)
	x.waiting("")
	started := audit.Event{Event: audit.TaskStart}
	started.Capabilities, started.Grants = granted(x.deps.Policy)
	if err == nil {
		x.claim = claim
		for _, g := range claim.Guards() {
			if g.Reason == sandbox.GuardHardLinks {
				started.ReadOnlyDirectories = append(started.ReadOnlyDirectories, g.Path)
			}
		}
	}
	if end := x.audit(started); end != nil {
		return end
	}
	if err != nil {
		return x.because(x.task.ctx, err)
	}
	if x.task.ctx.Err() != nil {
		return x.because(x.task.ctx, x.task.ctx.Err())
	}
	x.enter(agent.Planning)
	return nil
}

// waiting shows the root that the task waits for; "" that it waits for none.
func (x *run) waiting(root string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.task.waiting = root
}

// work plans and runs until the graph is done. Nil means that every planner task is completed and verified.
func (x *run) work() *ending {
	if end := x.plan(x.task.ctx); end != nil {
		return end
	}
	ctx, cancel := context.WithCancelCause(x.task.ctx)
	defer cancel(nil)
	if limit := x.deps.Config.TaskTimeout; limit > 0 { // A-RUN-05
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, fault.New(fault.ResourceTimeLimit, fault.Variant("task"), fault.Arg("seconds", int64(limit.Seconds()))))
		defer stop()
	}
	x.enter(agent.Running)
	job, err := x.deps.Opener.Open(ctx, x.task.session.ID(), x.task.status.TaskID) // A-TX-05: the first run phase begins
	if err != nil {
		return x.because(ctx, err)
	}
	x.job = job
	opened := audit.Event{Event: audit.SandboxOpen, Sandbox: audit.Cold}
	if job.FromSpare() {
		opened.Sandbox = audit.FromSpare
	}
	if end := x.audit(opened); end != nil {
		return end
	}
	defer x.watch(ctx, job, cancel)()
	for !x.graph.Done() {
		t, ok := x.graph.Next()
		if !ok {
			return x.ended(fault.New(fault.PlannerFailed, fault.Variant("no_ready_task")))
		}
		obstacle, end := x.step(ctx, t)
		if end == nil && obstacle != nil {
			end = x.replan(ctx, obstacle)
		}
		if end != nil {
			return end
		}
	}
	select {
	case <-job.Lost(): // the run fails, it never completes (A-SBX-09)
		return x.ended(fault.New(fault.SandboxLost))
	default:
		x.worked()
		return nil
	}
}

// worked keeps, for a task that completes, the latest failure that was gone around. A refusal that a replan answered is the
// stronger word.
func (x *run) worked() {
	if n := len(x.around); n > 0 && x.task.worked == nil {
		f := x.around[n-1]
		x.task.worked = &ending{code: f.code, text: f.text}
	}
}

// settle gives the planner task that was running the state in which the agent task ends.
func (x *run) settle(final agent.Status) {
	if x.graph == nil {
		return
	}
	for _, t := range x.graph.Tasks() {
		if t.State == agent.Running {
			if err := x.graph.SetState(t.ID, final); err != nil {
				x.deps.Log.Error("settling the task graph", "error", err)
			}
		}
	}
	x.task.session.SetGraph(x.graph.Tasks())
}

// watch ends ctx when the confinement dies by itself. The returned function ends the watching.
func (x *run) watch(ctx context.Context, job sandbox.Job, cancel context.CancelCauseFunc) func() {
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-job.Lost():
			cancel(fault.New(fault.SandboxLost))
		case <-ctx.Done():
		case <-stop:
		}
	})
	return func() {
		close(stop)
		watching.Wait()
	}
}

// closeJob ends the sandbox of the task, whatever ended the task, and lets the next task into the workspaces. A failure is
// fatal to the server (A-TX-01); then they stay closed until it has ended.
func (x *run) closeJob() *ending {
	if end := x.closeSandbox(); end != nil {
		return end
	}
	if x.claim == nil {
		return nil
	}
	if err := x.claim.Release(); err != nil {
		return x.ended(fault.New(fault.StateUnusable, fault.Target(x.task.status.TaskID), fault.Cause(err)))
	}
	return nil
}

func (x *run) closeSandbox() *ending {
	if x.job == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.task.ctx), closeTimeout)
	defer cancel()
	if err := x.job.Close(ctx); err != nil {
		e := fault.As(err)
		if e == nil || e.Category() != fault.RecoveryFailure {
			e = fault.New(fault.RecoveryFailed, fault.Target(x.task.status.TaskID), fault.Cause(err))
		}
		return x.ended(e)
	}
	return x.quarantined()
}

// because explains an error: an ended context by what ended it, a coded error by itself, the rest as our own failure.
func (x *run) because(ctx context.Context, err error) *ending {
	if ctx.Err() != nil {
		if cause := fault.As(context.Cause(ctx)); cause != nil {
			return x.ended(cause)
		}
		return x.ended(fault.New(fault.AgentCancelled))
	}
	if e := fault.As(err); e != nil {
		return x.ended(e)
	}
	return x.ended(fault.New(fault.AgentInternal, fault.Cause(err)))
}

// audit writes one event of this task; without its line the task cannot go on.
func (x *run) audit(e audit.Event) *ending {
	e.SessionID, e.TaskID = x.task.session.ID(), x.task.status.TaskID
	if err := x.deps.Audit.Write(e); err != nil {
		return x.ended(fault.New(fault.StateUnusable, fault.Target(audit.FileName), fault.Cause(err)))
	}
	return nil
}

// enter moves the agent task to another state of A-RUN-01.
func (x *run) enter(s agent.Status) {
	x.mu.Lock()
	x.task.move(s)
	x.mu.Unlock()
	x.publish()
}
