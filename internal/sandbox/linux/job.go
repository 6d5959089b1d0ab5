//go:build linux

package linux

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/cgroup"
	"sekisho/internal/sandbox/linux/probe"
)

// destroyTimeout bounds the death of a killed tree. Only a process stuck inside the kernel can need long.
const destroyTimeout = 30 * time.Second

// job implements sandbox.Job: one policy, one box after another.
type job struct {
	backend *Backend
	policy  sandbox.EffectivePolicy
	group   func() (cgroup.Group, error) // opens the applied steps; nil in a throw-away sandbox
	plan    *plan

	mu     sync.Mutex
	box    *box     // nil after a limit ended it, or Close
	run    *process // the running one, or nil
	ready  *stdio   // pipes of the next run; nil when there are none
	closed bool

	lost     chan struct{} // closed by lose
	loseOnce sync.Once
	watching sync.WaitGroup // one idle watch a box
}

// Lost is closed when PID 1 of any box of this job ended although nobody here ended it. A limit or a cancel that ended a
// box closes it not.
func (j *job) Lost() <-chan struct{} { return j.lost }

func (j *job) lose() { j.loseOnce.Do(func() { close(j.lost) }) }

// idle notices the death of a box between runs; during a run, the run's own watch decides what the death means.
func (j *job) idle(x *box) {
	<-x.gone
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.box == x && j.run == nil { // whoever ends a box here takes it out under the lock
		j.lose()
	}
}

// build makes a box when there is none. The caller holds mu or is alone.
func (j *job) build(ctx context.Context) error {
	if j.box != nil {
		select {
		case <-j.box.gone:
			j.lose()
			if err := j.drop(ctx); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	var group cgroup.Group
	if j.group != nil {
		var err error
		if group, err = j.group(); err != nil {
			return err
		}
	}
	x, err := j.backend.start(ctx, j.plan, group)
	if err != nil {
		return j.backend.explain(err)
	}
	j.box = x
	j.watching.Go(func() { j.idle(x) })
	return nil
}

// drop destroys the box. The caller holds mu or is alone.
func (j *job) drop(ctx context.Context) error {
	if j.box == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), destroyTimeout)
	defer cancel()
	if err := j.box.destroy(ctx); err != nil {
		return fault.New(fault.SandboxFailed, fault.Cause(err))
	}
	j.box = nil
	return nil
}

// Start implements sandbox.Job.
func (j *job) Start(ctx context.Context, c sandbox.Command) (sandbox.Process, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return nil, fault.New(fault.SandboxFailed, fault.Cause(errors.New("the sandbox was closed")))
	case j.run != nil:
		return nil, fault.New(fault.SandboxFailed, fault.Cause(errors.New("another process of this task is running")))
	}
	if err := ctx.Err(); err != nil {
		return nil, cancelled(err)
	}
	if j.backend.coreSocket() { // not only at the start of the server: it can be set at any time
		return nil, probe.RefuseCoreSocket()
	}
	if err := j.build(ctx); err != nil {
		return nil, err
	}
	p, err := j.launch(ctx, c)
	if errors.As(err, new(errStale)) {
		// The script is another file than when the box was built. A new one shows it as it is now, if that is what was approved.
		if err := errors.Join(j.drop(ctx), j.build(ctx)); err != nil {
			return nil, err
		}
		p, err = j.launch(ctx, c)
	}
	if stale := (errStale{}); errors.As(err, &stale) {
		return nil, fault.New(fault.ExecutableHashChanged, fault.Target(stale.script))
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Close implements sandbox.Job.
func (j *job) Close(ctx context.Context) error {
	j.mu.Lock()
	run := j.run
	j.closed = true
	j.mu.Unlock()
	if run != nil {
		run.cancel(fault.New(fault.AgentCancelled))
		select {
		case <-run.ended:
		case <-ctx.Done():
			return fmt.Errorf("closing the sandbox: %w", ctx.Err())
		}
	}
	j.mu.Lock()
	err := j.drop(ctx)
	if j.ready != nil {
		j.ready.close()
		j.ready = nil
	}
	j.mu.Unlock()
	if err == nil {
		j.watching.Wait()
	}
	return err
}

// errStale tells that a box does not show the approved bytes of a script.
type errStale struct{ script string }

func (e errStale) Error() string { return "the sandbox has no private copy of " + e.script }

func cancelled(cause error) error { return fault.New(fault.AgentCancelled, fault.Cause(cause)) }
