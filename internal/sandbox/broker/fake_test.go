package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"sekisho/internal/fileop"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	"sekisho/internal/statedir"
	"sekisho/test/crashfs"
)

const task = "0b8f3f0e-9f8b-4f39-8b8e-3c8a4f9f6a01"

var errPlanned = errors.New("planned failure")

// world is what exists outside the process: it outlives every simulated death but for the live tree.
type world struct {
	effects map[string]bool
	tree    bool
}

// fakeBackend has three steps and checks, at each call, that the journal on disk already says what is about to happen.
type fakeBackend struct {
	t      *testing.T
	world  *world
	fsys   *crashfs.FS
	dir    *os.File // of the journals
	failAt int      // the call that fails, from 1
	// anyState lets steps be reverted whatever the journal's state is.
	anyState bool
	// watched says that the journal's first step is what is swept at the end.
	watched bool
	calls   []string
}

// call counts one backend call; a process that has stopped makes none.
func (f *fakeBackend) call(name string) error {
	if f.fsys.Stopped() {
		return crashfs.ErrStopped
	}
	f.calls = append(f.calls, name)
	if len(f.calls) == f.failAt {
		return fmt.Errorf("%s: %w", name, errPlanned)
	}
	return nil
}

// onDisk reads the task's journal as a later process would.
func (f *fakeBackend) onDisk() journal.Record {
	entries, err := journal.Open(fileop.OS(), f.dir).List()
	if err != nil || len(entries) != 1 {
		f.t.Fatalf("journals on disk: %v, %v", entries, err)
	}
	return entries[0].Record()
}

func (f *fakeBackend) Preflight(context.Context) error { return nil }

func (f *fakeBackend) Plan(p sandbox.EffectivePolicy) ([]sandbox.Step, error) {
	if err := f.call("plan"); err != nil {
		return nil, err
	}
	var steps []sandbox.Step
	for _, n := range []string{"a", "b", "c"} {
		data, _ := json.Marshal(p.Task.Instance + "/" + p.Task.Task + "/" + n)
		steps = append(steps, sandbox.Step{Schema: 1, Kind: "effect", Data: data})
	}
	return steps, nil
}

func (f *fakeBackend) Observe(_ context.Context, s sandbox.Step) (sandbox.Undo, error) {
	return sandbox.Undo{Schema: s.Schema, Kind: s.Kind, Data: s.Data}, f.call("observe " + name(s.Data))
}

func (f *fakeBackend) Apply(_ context.Context, s sandbox.Step, u sandbox.Undo) error {
	if f.fsys.Stopped() {
		return crashfs.ErrStopped
	}
	r := f.onDisk()
	announced := slices.ContainsFunc(r.Steps, func(js journal.Step) bool {
		got, err := decode(js.Undo)
		return err == nil && string(got.Data) == string(u.Data) && !js.Applied
	})
	if !announced || r.State != journal.Preparing {
		f.t.Errorf("Apply(%s) before the journal announces it: %+v", name(s.Data), r)
	}
	if err := f.call("apply " + name(s.Data)); err != nil {
		f.world.effects[name(s.Data)] = true // a failing step may have left its effect
		return err
	}
	f.world.effects[name(s.Data)] = true
	return nil
}

func (f *fakeBackend) Revert(ctx context.Context, u sandbox.Undo) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := f.call("revert " + name(u.Data)); err != nil {
		return err
	}
	if u.Instance == "" || u.Task != task {
		f.t.Errorf("Revert(%s) for instance %q and task %q", name(u.Data), u.Instance, u.Task)
	}
	if f.world.tree {
		f.t.Errorf("Revert(%s) while the tree lives", name(u.Data))
	}
	if s := f.onDisk().State; s != journal.Cleaning && !f.anyState {
		f.t.Errorf("Revert(%s) in state %s", name(u.Data), s)
	}
	delete(f.world.effects, name(u.Data))
	return nil
}

func (f *fakeBackend) Open(_ context.Context, p sandbox.EffectivePolicy, applied []sandbox.Undo) (sandbox.Job, error) {
	if f.fsys.Stopped() {
		return nil, crashfs.ErrStopped
	}
	r := f.onDisk()
	if r.State != journal.Applied || slices.ContainsFunc(r.Steps, func(s journal.Step) bool { return !s.Applied }) || len(applied) != 3 || f.watched != (len(r.Steps) == 4) {
		f.t.Errorf("Open on %d undos with journal %+v", len(applied), r)
	}
	for _, dir := range []string{p.Task.Temp, p.Task.Home} {
		if st, err := os.Stat(dir); err != nil || st.Mode() != os.ModeDir|0o700 {
			f.t.Errorf("private directory: %v, %v", st, err)
		}
		if err := os.WriteFile(dir+"/litter", nil, 0o600); err != nil {
			f.t.Error(err)
		}
	}
	if err := f.call("open"); err != nil {
		return nil, err
	}
	f.world.tree = true
	return &fakeJob{f}, nil
}

type fakeJob struct{ f *fakeBackend }

func (j *fakeJob) Start(context.Context, sandbox.Command) (sandbox.Process, error) {
	if s := j.f.onDisk().State; s != journal.Running {
		j.f.t.Errorf("Start in state %s", s)
	}
	return nil, j.f.call("start")
}
func (j *fakeJob) Lost() <-chan struct{} { return nil }
func (j *fakeJob) Close(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := j.f.call("close"); err != nil {
		return err
	}
	j.f.world.tree = false
	return nil
}

func name(data json.RawMessage) string { return string(data[len(data)-2]) }

// swapFS lets the next process on the same instance have another FS.
type swapFS struct{ fileop.FS }

// server is one simulated process with its instance.
type server struct {
	t        *testing.T
	swap     *swapFS
	fsys     *crashfs.FS
	world    *world
	backend  *fakeBackend
	instance *statedir.Instance
	journals *os.File
	state    *statedir.Dir
	broker   *Broker
}

// newServer starts a process that stops at its k-th durable call and whose failAt-th backend call fails.
func newServer(t *testing.T, k, failAt int) *server {
	t.Helper()
	s := &server{t: t, swap: &swapFS{fileop.OS()}, world: &world{effects: map[string]bool{}}}
	dir, err := statedir.Open(s.swap, t.TempDir()+"/agent-mcp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	s.state = dir
	if s.instance, err = dir.NewInstance(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.journals, err = s.instance.Sub(JournalDir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.journals.Close(); s.instance.Close() })
	s.run(k, failAt)
	s.broker = New(Deps{Backend: s.backend, Journal: journal.Open(s.fsys, s.journals), Instance: s.instance,
		Policy: sandbox.EffectivePolicy{Network: sandbox.NetworkPolicy{Access: sandbox.NetworkNone}}})
	return s
}

// run begins the next process on the same state.
func (s *server) run(k, failAt int) {
	s.fsys = crashfs.New(fileop.OS(), k, func(crashfs.Op) { s.world.tree = false }, crashfs.Torn(nil))
	s.swap.FS = s.fsys
	s.backend = &fakeBackend{t: s.t, world: s.world, fsys: s.fsys, dir: s.journals, failAt: failAt}
}

func (s *server) recover() error {
	_, err := Recover(context.Background(), Abandoned{Backend: s.backend, Journal: journal.Open(s.fsys, s.journals), Instance: s.instance})
	return err
}

// clean reports what is left.
func (s *server) clean() error {
	var errs []error
	if len(s.world.effects) > 0 || s.world.tree {
		errs = append(errs, fmt.Errorf("effects %v, tree %v", slices.Collect(maps.Keys(s.world.effects)), s.world.tree))
	}
	for _, dir := range []string{s.journals.Name(), s.instance.TreePath(tempDir)} {
		left, err := os.ReadDir(dir)
		if len(left) > 0 || err != nil && !os.IsNotExist(err) {
			errs = append(errs, fmt.Errorf("%s holds %v (%v)", dir, left, err))
		}
	}
	return errors.Join(errs...)
}
