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
	"log/slog"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
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
	// Spares keeps one sandbox ready for the next task (A-SBX-11), where backend and policy have one. Log is told why there is
	// none; it may be nil.
	Spares bool
	Log    *slog.Logger
	Now    func() time.Time // nil means time.Now
}

// Broker implements sandbox.Opener.
type Broker struct {
	deps   Deps
	spares *spares
}

var _ sandbox.Opener = (*Broker)(nil)

// New returns a Broker over deps. One that keeps spares is ended by Close.
func New(deps Deps) *Broker {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	b := &Broker{deps: deps}
	b.spares = newSpares(b)
	return b
}

// Open applies the policy for one agent task and builds its Job, or takes the spare when that is what would be built. On an
// error nothing of it is left; if even that could not be reached, the code is recovery.failed. Closing the Job reverts
// everything.
func (b *Broker) Open(ctx context.Context, session, task string) (sandbox.TaskJob, error) {
	if err := b.spares.failure(); err != nil {
		return nil, err
	}
	p := b.deps.Policy
	found, err := guard.Survey(ctx, &p)
	if err != nil {
		return nil, failed(err)
	}
	watch := found.Watch(&p)
	if err := found.Close(); err != nil {
		return nil, failed(err)
	}
	p.Task = b.binding(task, found.Guards)
	carrier, err := b.network(ctx, session, &p)
	if err != nil {
		return nil, failed(err)
	}
	s := b.spares.take(ctx, p.Task.Guards)
	storage, err := b.openStorage(ctx, &p)
	if err != nil {
		b.spares.retire(s)
		return nil, failed(err)
	}
	if storage.home != nil {
		watch.Home = p.Task.Home // the other kind does not outlive the task
	}
	job, err := b.open(ctx, p, watch, storage, s)
	if err != nil {
		if cerr := storage.close(); cerr != nil {
			err = errors.Join(err, cerr)
		}
		return nil, err
	}
	job.network = carrier
	storage.sees(job.inner)
	return job, nil
}

// binding names the resources of a task, or of a spare.
func (b *Broker) binding(name string, guards []sandbox.Guard) sandbox.TaskBinding {
	return sandbox.TaskBinding{
		Instance: b.deps.Instance.ID(),
		Task:     name,
		Temp:     b.deps.Instance.TreePath(tempDir, name, "tmp"),
		Home:     b.deps.Instance.TreePath(tempDir, name, "home"),
		Guards:   guards,
	}
}

// open builds the job from the spare, when there is one and it is what a new one would be, or else from nothing.
func (b *Broker) open(ctx context.Context, p sandbox.EffectivePolicy, watch guard.Watch, storage *storage, s *spared) (*brokerJob, error) {
	if s != nil {
		job, err := b.adopt(ctx, p, watch, storage, s)
		if job != nil || err != nil {
			return job, err
		}
	}
	t, job, err := b.build(ctx, p, watch, b.deps.Backend.Open)
	if err != nil {
		return nil, err
	}
	if err := t.entry.Update(func(r *journal.Record) { r.State = journal.Running }); err != nil {
		// Without its state on disk nothing may run; the tree is ended before the steps below it are reverted.
		return nil, t.abandon(ctx, job, err)
	}
	return &brokerJob{inner: job, tx: t, guards: p.Task.Guards, storage: storage, ended: b.spares.later}, nil
}

// build applies the policy's steps under a journal and opens the confinement, by which the resources are APPLIED. On an error
// everything is undone.
func (b *Broker) build(ctx context.Context, p sandbox.EffectivePolicy, watch guard.Watch, open func(context.Context, sandbox.EffectivePolicy, []sandbox.Undo) (sandbox.Job, error)) (*transaction, sandbox.Job, error) {
	name := p.Task.Task
	steps, undos, err := b.planned(ctx, p, watch)
	if err != nil {
		return nil, nil, failed(err)
	}
	entry, err := journal.CreateTask(b.deps.Journal, name, b.deps.Now(), []string{b.deps.Instance.TreePath(tempDir, name)}, steps.journalled...)
	if err != nil {
		// The file may or may not be there; it announces nothing that exists, so removing it is all the undoing there is.
		if !errors.Is(err, fs.ErrExist) {
			b.forget(name)
		}
		return nil, nil, failed(fmt.Errorf("journalling task %s: %w", name, err))
	}
	t := b.transaction(entry)
	if err := t.apply(ctx, steps.planned, undos, p); err != nil {
		return nil, nil, t.abandon(ctx, nil, err)
	}
	job, err := open(ctx, p, undos)
	if err != nil {
		return nil, nil, t.abandon(ctx, nil, err)
	}
	return t, job, nil
}

// steps are those of a policy, and what the journal says of them.
type steps struct {
	planned    []sandbox.Step
	journalled []journal.Step
}

// planned plans the steps of a policy and observes what undoing them needs: nothing is changed yet, so that the first record
// of the journal announces all of them at once.
func (b *Broker) planned(ctx context.Context, p sandbox.EffectivePolicy, watch guard.Watch) (s steps, undos []sandbox.Undo, err error) {
	if s.planned, err = b.deps.Backend.Plan(p); err != nil {
		return s, nil, err
	}
	if s.journalled, err = watchSteps(watch); err != nil {
		return s, nil, err
	}
	for _, step := range s.planned {
		u, err := b.deps.Backend.Observe(ctx, step)
		if err != nil {
			return s, nil, err
		}
		js, err := encode(step, u)
		if err != nil {
			return s, nil, err
		}
		s.journalled, undos = append(s.journalled, js), append(undos, u)
	}
	return s, undos, nil
}

func (b *Broker) transaction(entry *journal.Entry) *transaction {
	return &transaction{backend: b.deps.Backend, instance: b.deps.Instance, entry: entry, state: b.deps.State, files: b.deps.Files}
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

// apply makes what the journal announces, and then says that it is there.
func (t *transaction) apply(ctx context.Context, planned []sandbox.Step, undos []sandbox.Undo, p sandbox.EffectivePolicy) error {
	for _, name := range []string{"tmp", "home"} {
		if _, err := t.instance.MakeTree(tempDir, p.Task.Task, name); err != nil {
			return err
		}
	}
	for i, s := range planned {
		if err := t.backend.Apply(ctx, s, undos[i]); err != nil {
			return err
		}
	}
	return t.entry.Update(func(r *journal.Record) {
		r.State = journal.Applied
		for i := range r.Steps {
			r.Steps[i].Applied = true
		}
	})
}

// abandon undoes what could not be completed because of err, the tree first, and returns the error of that.
func (t *transaction) abandon(ctx context.Context, job sandbox.Job, err error) error {
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	if job != nil {
		if closeErr := job.Close(clean); closeErr != nil {
			return unrecovered(t.entry.Path(), errors.Join(closeErr, err))
		}
	}
	if cleanErr := t.undo(clean, nil); cleanErr != nil {
		return unrecovered(t.entry.Path(), errors.Join(cleanErr, err))
	}
	return failed(err)
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
	if r := t.entry.Record(); r.Sandbox != "" {
		u.Task = r.Sandbox
	}
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
