package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/fault"
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

// proves A-SBX-11, A-TX-01, A-TX-05
func TestATaskTakesTheSpare(t *testing.T) {
	x := newKeeping(t, 0)
	x.claim()
	job := x.open(task)
	if !job.FromSpare() || x.backend.opened != 0 || x.backend.made[0].taken != task {
		t.Fatalf("from a spare: %v, opened cold: %d", job.FromSpare(), x.backend.opened)
	}
	entries, err := x.backend.store.List()
	if err != nil || len(entries) != 2 || entries[0].Key() != task {
		t.Fatalf("journals %v, %v; want the task's and the spare's", entries, err)
	}
	name := strings.Trim(x.backend.made[0].name, `"`)
	if r := entries[0].Record(); r.TaskID != task || r.State != journal.Running || r.Sandbox != name || len(r.Steps) != 1 || !slices.Equal(r.TempPaths, []string{x.instance.TreePath(tempDir, name)}) {
		t.Errorf("journal of a task with a spare: %+v", r)
	}
	x.end(job)
}

// proves A-SBX-11
func TestASpareIsUsedOnce(t *testing.T) {
	x := newKeeping(t, 0)
	x.claim()
	one, two := x.open("one"), x.open("two") // at once
	if !one.FromSpare() || two.FromSpare() || x.backend.opened != 1 {
		t.Errorf("spares: %v, %v, cold: %d", one.FromSpare(), two.FromSpare(), x.backend.opened)
	}
	x.claim()
	three := x.open("three")
	if !three.FromSpare() || x.backend.spares() != 2 {
		t.Errorf("the third: %v, spares made: %d", three.FromSpare(), x.backend.spares())
	}
	x.end(three, two, one)
}

// proves A-SBX-11
func TestOnlyOneOfManyTasksGetsTheSpare(t *testing.T) {
	x := newKeeping(t, 0)
	x.claim()
	var opening sync.WaitGroup
	jobs := make([]sandbox.TaskJob, 8)
	for i := range jobs {
		opening.Go(func() { jobs[i] = x.open(fmt.Sprint("task-", i)) })
	}
	opening.Wait()
	n := 0
	for _, j := range jobs {
		if j.FromSpare() {
			n++
		}
	}
	if n != 1 || x.backend.opened != len(jobs)-1 {
		t.Errorf("%d tasks have the one spare, %d were opened cold", n, x.backend.opened)
	}
	x.end(jobs...)
}

// proves A-SBX-11, A-SBX-08
func TestASpareThatIsNotWhatANewOneWouldBeIsEnded(t *testing.T) {
	for name, change := range map[string]func(*keeping){
		"the backend says so": func(x *keeping) { x.backend.stale = sandbox.ErrStale },
		"its TEMP is not empty": func(x *keeping) {
			temp := x.instance.TreePath(tempDir, strings.Trim(x.backend.made[0].name, `"`), "tmp")
			if err := os.WriteFile(temp+"/left", nil, 0o600); err != nil {
				x.t.Fatal(err)
			}
		},
		"its own HOME is not empty": func(x *keeping) {
			home := x.instance.TreePath(tempDir, strings.Trim(x.backend.made[0].name, `"`), "home")
			if err := os.Mkdir(home+"/left", 0o700); err != nil {
				x.t.Fatal(err)
			}
		},
		"its TEMP is gone": func(x *keeping) {
			if err := os.Remove(x.instance.TreePath(tempDir, strings.Trim(x.backend.made[0].name, `"`), "tmp")); err != nil {
				x.t.Fatal(err)
			}
		},
		"it died": func(x *keeping) { close(x.backend.made[0].lost) },
		"other objects are guarded": func(x *keeping) {
			x.broker.spares.have.policy.Task.Guards = []sandbox.Guard{{Path: "/w/.git", Reason: sandbox.GuardToolConfig, Kind: "directory"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newKeeping(t, 0)
			x.claim()
			<-x.broker.spares.built()
			change(x)
			job := x.open(task)
			if job.FromSpare() {
				t.Error("the task got the spare")
			}
			x.backend.stale = nil
			x.end(job)
		})
	}
}

// built returns a channel that is closed when nothing is being built.
func (k *spares) built() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.making != nil {
		return k.making.done
	}
	done := make(chan struct{})
	close(done)
	return done
}

// proves A-SBX-11
func TestASpareComesAndGoesByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newKeeping(t, 0)
		have := func(want bool, made int) {
			t.Helper()
			synctest.Wait()
			k := x.broker.spares
			k.mu.Lock()
			defer k.mu.Unlock()
			if (k.have != nil) != want || x.backend.spares() != made {
				t.Errorf("a spare is there: %v, made: %d, want %v and %d", k.have != nil, x.backend.spares(), want, made)
			}
		}
		x.broker.Prepare(nil)
		time.Sleep(settleTime - time.Second)
		have(false, 0) // a server that ends now built none
		time.Sleep(2 * time.Second)
		have(true, 1)
		time.Sleep(idleTime - 2*time.Second)
		have(true, 1)
		time.Sleep(4 * time.Second)
		have(false, 1)
		x.claim()
		have(true, 2)
		job := x.open(task)
		have(false, 2)
		time.Sleep(time.Hour) // none is needed while the task works
		have(false, 2)
		if err := job.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(settleTime + time.Second)
		have(true, 3)
		close(x.backend.made[2].lost) // it dies, and is replaced
		have(true, 4)
		close(x.backend.made[3].lost) // whatever kills them goes on
		have(false, 4)
		time.Sleep(replaceTime)
		x.claim()
		have(true, 5)
		close(x.backend.made[4].lost)
		have(true, 6)
		x.end()
	})
}

// proves A-SBX-11
func TestASpareForOtherGuardsIsReplaced(t *testing.T) {
	x := newKeeping(t, 0)
	x.backend.hold = make(chan struct{})
	x.broker.spares.want([]sandbox.Guard{{Path: "/w/a"}})
	x.broker.spares.want([]sandbox.Guard{{Path: "/w/b"}}) // while the first is being built
	x.broker.spares.want(nil)
	close(x.backend.hold)
	job := x.open(task)
	if x.backend.spares() > 2 {
		t.Errorf("spares made: %d", x.backend.spares())
	}
	x.end(job)
	x = newKeeping(t, 0)
	x.broker.spares.want([]sandbox.Guard{{Path: "/w/a"}})
	<-x.broker.spares.built()
	if job = x.open(task); job.FromSpare() {
		t.Error("a task got a spare in which something else is guarded")
	}
	x.end(job)
}

// proves A-SBX-11
func TestNoSpareIsNoFailure(t *testing.T) {
	for name, err := range map[string]error{"there is no room": sandbox.ErrNoSpare, "it cannot be built": errPlanned} {
		t.Run(name, func(t *testing.T) {
			x := newKeeping(t, 0)
			x.backend.failing = err
			x.claim()
			job := x.open(task)
			if job.FromSpare() || x.backend.opened != 1 {
				t.Errorf("from a spare: %v, opened cold: %d", job.FromSpare(), x.backend.opened)
			}
			x.end(job)
		})
	}
}

// proves A-SBX-11, A-POL-06
func TestAPolicyWithANetworkHasNoSpare(t *testing.T) {
	x := newKeeping(t, 0)
	x.broker.deps.Policy.Network.Access = sandbox.NetworkLocal
	if k := newSpares(x.broker); k.maker != nil {
		t.Error("its listeners would be there before the task")
	}
}

// proves A-SBX-11, A-TX-01, A-ERR-02
func TestASpareThatCannotBeEndedIsFatal(t *testing.T) {
	x := newKeeping(t, 0)
	x.claim()
	<-x.broker.spares.built()
	x.backend.stuck = errPlanned
	x.broker.spares.idle()
	_, err := x.broker.Open(t.Context(), "session", task)
	if fault.CodeOf(err) != fault.RecoveryFailed || !errors.Is(err, errPlanned) {
		t.Errorf("Open = %v, want recovery.failed", err)
	}
	if err := x.broker.Close(t.Context()); fault.CodeOf(err) != fault.RecoveryFailed {
		t.Errorf("Close = %v, want recovery.failed", err)
	}
}

// A server is stopped at every durable call while it builds a spare, hands it over, ends the task and builds the next one.
//
// proves A-SBX-11, A-TX-04, A-TX-01
func TestAStopWithASpareIsRecovered(t *testing.T) {
	for k := 1; ; k++ {
		x := newKeeping(t, k)
		err := x.scenario()
		if !x.fsys.Stopped() {
			if err != nil || k < 60 {
				t.Fatalf("k=%d: undisturbed run: %v", k, err)
			}
			if err := x.clean(); err != nil {
				t.Errorf("undisturbed: left behind: %v", err)
			}
			return
		}
		for j := 1; ; j++ {
			x.run(j, 0)
			x.process()
			_, err := Recover(context.Background(), Abandoned{Backend: x.backend, Journal: x.backend.store, Instance: x.instance})
			if x.fsys.Stopped() {
				continue
			}
			if err != nil {
				t.Fatalf("k=%d: recovery: %v", k, err)
			}
			break
		}
		if err := x.clean(); err != nil {
			t.Errorf("k=%d: left behind: %v", k, err)
		}
	}
}

func (x *keeping) scenario() error {
	ctx := context.Background()
	if _, err := x.broker.Claim(ctx, task, nil); err != nil {
		return err
	}
	job, err := x.broker.Open(ctx, "session", task)
	if err == nil {
		if !job.FromSpare() && !x.fsys.Stopped() {
			x.t.Error("the task did not get the spare")
		}
		_, err = job.Start(ctx, sandbox.Command{Dir: job.(*brokerJob).storage.dirs[0].path})
		err = errors.Join(err, job.Close(ctx))
	}
	x.broker.spares.want(nil)
	return errors.Join(err, x.broker.Close(ctx))
}

// proves A-TX-01
func TestNamesOfSpares(t *testing.T) {
	if name := newSpareName(); !spareName(name) || name == newSpareName() {
		t.Errorf("a new name: %q", name)
	}
	for _, name := range []string{"", "spare-", "spare-xyz", task, "spare-0123456789ABCDEF", "spare-0123456789abcdef0", "0123456789abcdef"} {
		if spareName(name) {
			t.Errorf("%q is a spare's name", name)
		}
	}
	x := newKeeping(t, 0)
	entry, err := journal.AdoptTask(x.backend.store, task, "spare-0123456789abcdef", time.Unix(1, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.broker.transaction(entry).trust(); err != nil {
		t.Error(err)
	}
	other, err := journal.AdoptTask(x.backend.store, "b", task, time.Unix(1, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.broker.transaction(other).trust(); err == nil {
		t.Error("a journal names another task's resources, and is trusted")
	}
}
