package broker

import (
	"context"
	"sync"

	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/forward"
)

// brokerJob is the backend's Job whose end also ends the task's transaction.
type brokerJob struct {
	inner sandbox.Job
	tx    *transaction
	// guards is what the survey before Open found.
	guards []sandbox.Guard
	// storage keeps the task's directories within their caps while run runs.
	storage *storage
	run     *cappedProcess
	// network is nil without one.
	network *forward.Forwarder
	// adopted is the spare that the confinement was; nil for one that was built for the task.
	adopted *spared
	// ended is told when nothing of the task is left, and what was guarded.
	ended func(guards []sandbox.Guard)

	mu     sync.Mutex
	closed bool
}

// Start implements sandbox.Job.
func (j *brokerJob) Start(ctx context.Context, c sandbox.Command) (sandbox.Process, error) {
	p, err := j.inner.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.run != nil {
		j.run.end()
	}
	j.run = j.storage.process(p)
	return j.run, nil
}

// Lost implements sandbox.Job.
func (j *brokerJob) Lost() <-chan struct{} { return j.inner.Lost() }

// Guards implements sandbox.TaskJob.
func (j *brokerJob) Guards() []sandbox.Guard { return j.guards }

// FromSpare implements sandbox.TaskJob.
func (j *brokerJob) FromSpare() bool { return j.adopted != nil }

// Quarantined implements sandbox.TaskJob.
func (j *brokerJob) Quarantined() []sandbox.Quarantined {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.tx.left
}

// Close ends the tree, reverts the task's steps, removes its temporary directories and its journal. It may be repeated
// after an error, which is recovery.failed, or state.unusable when all that failed was the audit of the end.
func (j *brokerJob) Close(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	if j.run != nil {
		j.run.end()
	}
	err := j.inner.Close(ctx)
	if err == nil && j.adopted != nil {
		err = j.adopted.tx.entry.Remove()
	}
	if err == nil {
		err = j.tx.undo(ctx, nil)
	}
	if err == nil {
		err = j.storage.close()
	}
	if err != nil {
		// Best effort: the journal names everything in whatever state it is.
		_ = j.tx.entry.Update(func(r *journal.Record) { r.State = journal.RecoveryRequired })
		return unrecovered(j.tx.entry.Path(), err)
	}
	j.closed = true
	j.ended(j.guards)
	if j.network != nil && j.network.Err() != nil {
		return unaudited(j.network.Err()) // nothing is left, but the audit does not say so
	}
	return nil
}
