// Package broker is the Sandbox Broker: the only place that applies and reverts a task's OS resources (A-PRI-01).
//
// Per task it moves CLEAN → PREPARING → APPLIED → RUNNING → CLEANING → CLEAN, and writes every step into the task's journal,
// flushed, before the effect it announces (A-TX-01). Whatever stops it, the journal on disk names at least every effect
// that exists, so undoing the journal in reverse leaves nothing behind. A step that fails without a crash undoes the
// applied ones at once: only a completely applied policy runs anything (A-TX-05).
//
// Failing to clean is fatal to the server: such an error has the code recovery.failed, and the journal stays for the next
// start.
package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/forward"
	"sekisho/internal/sandbox/guard"
	"sekisho/internal/statedir"
)

// JournalDir is the directory of the journals in an instance directory.
const JournalDir = "recovery"

const (
	tempDir = "temp"
	// cleanTimeout bounds the undoing of a policy that could not be applied; the caller's context may be cancelled.
	cleanTimeout = 30 * time.Second
)

// Deps are what a Broker works with; all are required but Now.
type Deps struct {
	Backend  sandbox.Backend
	Journal  *journal.Store     // of the instance's JournalDir
	Instance *statedir.Instance // holds the temporary directories; its id is part of every OS resource's name
	Policy   sandbox.EffectivePolicy
	// Homes are the HOMEs of workspaces; nil gives every task its own.
	Homes *statedir.Homes
	State *statedir.Dir // holds locks and quarantines; needed by a policy with workspaces or writable roots
	Files fileop.FS     // as State
	// Network is needed by a policy with a network.
	Network *Network
	// Recover brings in order what servers that are gone left in the workspaces; nil when there are none. A workspace whose
	// server died is free at once.
	Recover func(context.Context) error
	Now     func() time.Time // nil means time.Now
}

// Broker implements sandbox.Opener.
type Broker struct{ deps Deps }

var _ sandbox.Opener = (*Broker)(nil)

// New returns a Broker over deps.
func New(deps Deps) *Broker {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	return &Broker{deps: deps}
}

// Open applies the policy for one agent task and builds its Job. On an error nothing of it is left; if even that could
// not be reached, the code is recovery.failed. Closing the Job reverts everything.
func (b *Broker) Open(ctx context.Context, session, task string) (sandbox.TaskJob, error) {
	p := b.deps.Policy
	found, err := guard.Survey(ctx, &p)
	if err != nil {
		return nil, failed(err)
	}
	watch := found.Watch(&p)
	if err := found.Close(); err != nil {
		return nil, failed(err)
	}
	p.Task = sandbox.TaskBinding{
		Instance: b.deps.Instance.ID(),
		Task:     task,
		Temp:     b.deps.Instance.TreePath(tempDir, task, "tmp"),
		Home:     b.deps.Instance.TreePath(tempDir, task, "home"),
		Guards:   found.Guards,
	}
	carrier, err := b.network(ctx, session, &p)
	if err != nil {
		return nil, failed(err)
	}
	storage, err := b.openStorage(ctx, &p)
	if err != nil {
		return nil, failed(err)
	}
	job, err := b.open(ctx, p, watch, storage, carrier)
	if err != nil {
		if cerr := storage.close(); cerr != nil {
			err = errors.Join(err, cerr)
		}
		return nil, err
	}
	return job, nil
}

func (b *Broker) open(ctx context.Context, p sandbox.EffectivePolicy, watch guard.Watch, storage *storage, carrier *forward.Forwarder) (sandbox.TaskJob, error) {
	task := p.Task.Task
	entry, err := journal.CreateTask(b.deps.Journal, task, b.deps.Now(), []string{b.deps.Instance.TreePath(tempDir, task)})
	if err != nil {
		// The file may or may not be there; it announces nothing that exists, so removing it is all the undoing there is.
		if !errors.Is(err, fs.ErrExist) {
			b.forget(task)
		}
		return nil, failed(fmt.Errorf("journalling task %s: %w", task, err))
	}
	t := &transaction{backend: b.deps.Backend, instance: b.deps.Instance, entry: entry, state: b.deps.State, files: b.deps.Files}
	if storage.home != nil {
		watch.Home = p.Task.Home // the other kind does not outlive the task
	}
	err = t.watch(watch)
	var job sandbox.Job
	if err == nil {
		job, err = t.apply(ctx, p)
	}
	if err == nil {
		storage.sees(job)
		return &brokerJob{inner: job, tx: t, guards: p.Task.Guards, storage: storage, network: carrier}, nil
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	if cleanErr := t.undo(clean, nil); cleanErr != nil {
		return nil, unrecovered(entry.Path(), errors.Join(cleanErr, err))
	}
	return nil, failed(err)
}

// transaction is the state machine of one task's resources.
type transaction struct {
	backend  sandbox.Backend
	instance *statedir.Instance
	entry    *journal.Entry
	state    *statedir.Dir
	files    fileop.FS
	left     []sandbox.Quarantined // by the task's processes, found by sweep
}

func (t *transaction) apply(ctx context.Context, p sandbox.EffectivePolicy) (sandbox.Job, error) {
	for _, name := range []string{"tmp", "home"} {
		if _, err := t.instance.MakeTree(tempDir, p.Task.Task, name); err != nil {
			return nil, err
		}
	}
	steps, err := t.backend.Plan(p)
	if err != nil {
		return nil, err
	}
	var applied []sandbox.Undo
	for i, s := range steps {
		u, err := t.step(ctx, i, s)
		if err != nil {
			return nil, err
		}
		applied = append(applied, u)
	}
	if err := t.entry.Update(func(r *journal.Record) { r.State = journal.Applied }); err != nil {
		return nil, err
	}
	job, err := t.backend.Open(ctx, p, applied)
	if err != nil {
		return nil, err
	}
	if err := t.entry.Update(func(r *journal.Record) { r.State = journal.Running }); err != nil {
		// Without its state on disk nothing may run; the tree is ended before the steps below it are reverted.
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		if closeErr := job.Close(clean); closeErr != nil {
			return nil, unrecovered(t.entry.Path(), errors.Join(closeErr, err))
		}
		return nil, err
	}
	return job, nil
}

// step journals one effect before performing it.
func (t *transaction) step(ctx context.Context, i int, s sandbox.Step) (sandbox.Undo, error) {
	u, err := t.backend.Observe(ctx, s)
	if err != nil {
		return u, err
	}
	js, err := encode(s, u)
	if err != nil {
		return u, err
	}
	if err := t.entry.Update(func(r *journal.Record) { r.Steps = append(r.Steps, js) }); err != nil {
		return u, err
	}
	if err := t.backend.Apply(ctx, s, u); err != nil {
		return u, err
	}
	return u, t.entry.Update(func(r *journal.Record) { r.Steps[i].Applied = true })
}

// undo reverts what the journal names, newest first, proves it and removes the journal. report is told each effect.
// A journal that cannot be rewritten hinders nothing, because it already names everything; one that cannot be removed does.
func (t *transaction) undo(ctx context.Context, report func(effect, target string, err error)) error {
	if report == nil {
		report = func(string, string, error) {}
	}
	stateErr := t.entry.Update(func(r *journal.Record) { r.State = journal.Cleaning })
	if err := t.effects(ctx, report, true); err != nil {
		return errors.Join(err, stateErr)
	}
	return t.entry.Remove()
}

// effects is undo without the journal: it can be repeated, and without sweeping it needs no room on the device. The tree is
// dead once the backend's steps are reverted; then the roots are swept, whatever lay in the way of that.
func (t *transaction) effects(ctx context.Context, report func(effect, target string, err error), sweeping bool) error {
	record := t.entry.Record()
	var errs []error
	var sweep func() error
	for i := len(record.Steps) - 1; i >= 0; i-- {
		u, err := decode(record.Steps[i].Undo)
		if err == nil && u.Kind == watchKind {
			sweep = func() error { return t.sweep(ctx, u.Data, report) }
			continue
		}
		if err == nil {
			err = t.revert(ctx, u)
		}
		report(u.Kind, string(u.Data), err)
		errs = append(errs, err)
	}
	for i := len(record.TempPaths) - 1; i >= 0; i-- {
		path := record.TempPaths[i]
		err := t.removeTemp(path)
		report("temp", path, err)
		errs = append(errs, err)
	}
	if sweep != nil && sweeping && errors.Join(errs...) == nil { // not while anything may still run
		errs = append(errs, sweep())
	}
	return errors.Join(errs...)
}

func (t *transaction) revert(ctx context.Context, u sandbox.Undo) error {
	if t.backend == nil {
		return fmt.Errorf("reverting %s: this system has no backend that could", u.Kind)
	}
	u.Instance, u.Task = t.instance.ID(), t.entry.Key()
	return t.backend.Revert(ctx, u)
}

func encode(s sandbox.Step, u sandbox.Undo) (journal.Step, error) {
	step, err := json.Marshal(s)
	if err != nil {
		return journal.Step{}, fmt.Errorf("encoding step %s: %w", s.Kind, err)
	}
	undo, err := json.Marshal(u)
	if err != nil {
		return journal.Step{}, fmt.Errorf("encoding the undo of step %s: %w", s.Kind, err)
	}
	return journal.Step{Step: step, Undo: undo}, nil
}

// failed gives an error without a code the one of a sandbox that could not be built.
func failed(err error) error {
	if fault.As(err) != nil {
		return err
	}
	return fault.New(fault.SandboxFailed, fault.Cause(err))
}

// unrecovered is the fatal error: something may be left, and path is the journal that names it.
func unrecovered(path string, err error) error {
	return fault.New(fault.RecoveryFailed, fault.Target(path), fault.Cause(err))
}
