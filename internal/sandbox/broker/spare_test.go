package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
)

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
			x.ready()
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
	x.broker.spares.want([]sandbox.Guard{{Path: "/w/b"}}) // while the first is being built; nobody wants it in the end
	x.broker.spares.want(nil)
	close(x.backend.hold)
	x.ready()
	job := x.open(task)
	if !job.FromSpare() || x.backend.spares() != 2 {
		t.Errorf("from a spare: %v, made: %d, want the second one", job.FromSpare(), x.backend.spares())
	}
	x.end(job)
	x = newKeeping(t, 0)
	x.broker.spares.want([]sandbox.Guard{{Path: "/w/a"}})
	x.ready()
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
	x.ready()
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
