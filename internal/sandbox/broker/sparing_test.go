package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"sekisho/internal/fileop"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	"sekisho/test/crashfs"
)

// sparing is a backend with spares. Its effects and trees are by the name of their task or spare.
type sparing struct {
	sandbox.Backend
	t     *testing.T
	fsys  *crashfs.FS
	store *journal.Store

	mu      sync.Mutex
	effects map[string]bool
	trees   map[string]bool
	made    []*spareJob
	opened  int           // cold
	stale   error         // what Take answers
	failing error         // what Spare answers
	stuck   error         // what Close answers
	hold    chan struct{} // Spare waits for it
}

type spareJob struct {
	b     *sparing
	name  string
	lost  chan struct{}
	taken string // the task
}

func (b *sparing) alive() error {
	if b.fsys.Stopped() {
		return crashfs.ErrStopped
	}
	return nil
}

func (b *sparing) Plan(p sandbox.EffectivePolicy) ([]sandbox.Step, error) {
	data, _ := json.Marshal(p.Task.Task)
	return []sandbox.Step{{Schema: 1, Kind: "effect", Data: data}}, b.alive()
}

func (b *sparing) Observe(_ context.Context, s sandbox.Step) (sandbox.Undo, error) {
	return sandbox.Undo{Schema: 1, Kind: s.Kind, Data: s.Data}, b.alive()
}

func (b *sparing) Apply(_ context.Context, s sandbox.Step, _ sandbox.Undo) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.alive(); err != nil {
		return err
	}
	b.effects[string(s.Data)] = true
	return nil
}

func (b *sparing) Revert(_ context.Context, u sandbox.Undo) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.alive(); err != nil {
		return err
	}
	if want, _ := json.Marshal(u.Task); u.Instance == "" || string(want) != string(u.Data) {
		b.t.Errorf("Revert(%s) for %q", u.Data, u.Task)
	}
	if b.trees[string(u.Data)] {
		b.t.Errorf("Revert(%s) while the tree lives", u.Data)
	}
	delete(b.effects, string(u.Data))
	return nil
}

func (b *sparing) open(p sandbox.EffectivePolicy) *spareJob {
	name, _ := json.Marshal(p.Task.Task)
	j := &spareJob{b: b, name: string(name), lost: make(chan struct{})}
	b.trees[j.name] = true
	return j
}

func (b *sparing) Open(_ context.Context, p sandbox.EffectivePolicy, _ []sandbox.Undo) (sandbox.Job, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.alive(); err != nil {
		return nil, err
	}
	b.opened++
	return b.open(p), nil
}

func (b *sparing) Spare(ctx context.Context, p sandbox.EffectivePolicy, _ []sandbox.Undo) (sandbox.Spare, error) {
	if b.hold != nil {
		<-b.hold
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := cmpErr(b.alive(), b.failing); err != nil {
		return nil, err
	}
	if entries, err := b.store.List(); err != nil || !slices.ContainsFunc(entries, func(e *journal.Entry) bool {
		return e.Key() == p.Task.Task && e.Record().State == journal.Applied && e.Record().Steps[0].Applied
	}) {
		b.t.Errorf("a spare without its journal: %v, %v", entries, err)
	}
	j := b.open(p)
	b.made = append(b.made, j)
	return j, nil
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (j *spareJob) Take(_ context.Context, p sandbox.EffectivePolicy) error {
	j.b.mu.Lock()
	defer j.b.mu.Unlock()
	if j.taken != "" {
		j.b.t.Errorf("%s is taken by %s and %s", j.name, j.taken, p.Task.Task)
	}
	j.taken = p.Task.Task
	return j.b.stale
}

// Start leaves something in TEMP, as programs do.
func (j *spareJob) Start(_ context.Context, c sandbox.Command) (sandbox.Process, error) {
	return nil, os.WriteFile(filepath.Join(c.Dir, "litter"), nil, 0o600)
}
func (j *spareJob) Lost() <-chan struct{} { return j.lost }
func (j *spareJob) Close(context.Context) error {
	j.b.mu.Lock()
	defer j.b.mu.Unlock()
	if err := cmpErr(j.b.alive(), j.b.stuck); err != nil {
		return err
	}
	delete(j.b.trees, j.name)
	return nil
}

func (b *sparing) spares() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.made)
}

// keeping is a server whose broker keeps spares.
type keeping struct {
	*server
	backend *sparing
}

func newKeeping(t *testing.T, k int) *keeping {
	s := newServer(t, k, 0)
	x := &keeping{server: s}
	x.process()
	return x
}

// process begins the next process on the same state; what lived is dead.
func (x *keeping) process() {
	effects := map[string]bool{}
	if x.backend != nil {
		effects = x.backend.effects
	}
	store := journal.Open(x.fsys, x.journals)
	x.backend = &sparing{t: x.t, fsys: x.fsys, store: store, effects: effects, trees: map[string]bool{}}
	x.broker = New(Deps{Backend: x.backend, Journal: store, Instance: x.instance, Spares: true, Files: fileop.OS(),
		Policy: sandbox.EffectivePolicy{Network: sandbox.NetworkPolicy{Access: sandbox.NetworkNone}}})
}

func (x *keeping) clean() error {
	x.backend.mu.Lock()
	defer x.backend.mu.Unlock()
	if len(x.backend.effects) > 0 || len(x.backend.trees) > 0 {
		return fmt.Errorf("effects %v, trees %v", slices.Collect(maps.Keys(x.backend.effects)), slices.Collect(maps.Keys(x.backend.trees)))
	}
	return x.server.clean()
}

func (x *keeping) open(name string) sandbox.TaskJob {
	x.t.Helper()
	job, err := x.broker.Open(x.t.Context(), "session", name)
	if err != nil {
		x.t.Fatal(err)
	}
	return job
}

func (x *keeping) claim() {
	x.t.Helper()
	c, err := x.broker.Claim(x.t.Context(), task, nil)
	if err == nil {
		err = c.Release()
	}
	if err != nil {
		x.t.Fatal(err)
	}
}

// ready waits until no spare is being built.
func (x *keeping) ready() {
	x.t.Helper()
	if err := x.broker.Ready(x.t.Context()); err != nil {
		x.t.Fatal(err)
	}
}

func (x *keeping) end(jobs ...sandbox.TaskJob) {
	x.t.Helper()
	for _, j := range jobs {
		if err := j.Close(x.t.Context()); err != nil {
			x.t.Error(err)
		}
	}
	if err := x.broker.Close(x.t.Context()); err != nil {
		x.t.Error(err)
	}
	if err := x.clean(); err != nil {
		x.t.Errorf("left behind: %v", err)
	}
}
