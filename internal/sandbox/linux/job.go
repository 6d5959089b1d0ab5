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
	closed bool
}

// Lost is closed when PID 1 ended although nobody here ended it. After a resource limit, or before the next Start built a
// new confinement, it is a channel that stays open.
func (j *job) Lost() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.box == nil {
		return nil
	}
	return j.box.gone
}

// build makes a box when there is none. The caller holds mu or is alone.
func (j *job) build(ctx context.Context) error {
	if j.box != nil {
		select {
		case <-j.box.gone:
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
	if err := j.build(ctx); err != nil {
		return nil, err
	}
	p, err := j.launch(ctx, c)
	if err != nil {
		return nil, err
	}
	j.run = p
	p.watching.Go(func() { p.watch(j) })
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
	defer j.mu.Unlock()
	return j.drop(ctx)
}

func cancelled(cause error) error { return fault.New(fault.AgentCancelled, fault.Cause(cause)) }
