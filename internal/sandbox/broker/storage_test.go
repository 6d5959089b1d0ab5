package broker

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/statedir"
)

// endless is a process that runs until it is ended, or ends after some time with err.
type endless struct {
	after time.Duration
	err   error
}

func (e endless) Wait(ctx context.Context) (sandbox.Exit, error) {
	var timer <-chan time.Time
	if e.after > 0 {
		timer = time.After(e.after)
	}
	select {
	case <-ctx.Done():
		return sandbox.Exit{Code: -1, Signal: "SIGKILL"}, fault.New(fault.AgentCancelled, fault.Cause(ctx.Err()))
	case <-timer:
		return sandbox.Exit{}, e.err
	}
}

// filling is a storage whose directories grow by one MiB a second.
func filling(begin time.Time, measured, emptied *atomic.Int32, failing error) *storage {
	empty := func() error { emptied.Add(1); return nil }
	return &storage{
		dirs: []capped{{key: "sandbox.temp_mb", path: "temp", mb: 10, empty: empty}, {key: "sandbox.home_mb", path: "home", mb: 1000, empty: empty}},
		measure: func(string, int64) (statedir.Size, error) {
			measured.Add(1)
			time.Sleep(10 * time.Millisecond)
			return statedir.Size{Bytes: int64(time.Since(begin)/time.Second) << 20}, failing
		},
	}
}

// proves A-SBX-08, A-SBX-02
func TestAnExcessEndsTheTree(t *testing.T) {
	for name, c := range map[string]struct {
		process endless
		failing error
		cancel  time.Duration
		want    fault.Code
		emptied int32
	}{
		"it fills until it is ended":             {endless{}, nil, 0, fault.ResourceStorageLimit, 1},
		"it ends in time":                        {endless{after: 5 * time.Second}, nil, 0, "", 0},
		"another limit comes first":              {endless{after: 5 * time.Second, err: fault.New(fault.ResourceMemoryLimit)}, nil, 0, fault.ResourceMemoryLimit, 0},
		"it is cancelled":                        {endless{}, nil, 5 * time.Second, fault.AgentCancelled, 0},
		"it cannot be measured":                  {endless{}, errors.New("no"), 0, fault.SandboxFailed, 0},
		"it ends by itself just when it is full": {endless{after: 11*time.Second + 100*time.Millisecond}, nil, 0, fault.ResourceStorageLimit, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var measured, emptied atomic.Int32
				s := filling(time.Now(), &measured, &emptied, c.failing)
				ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(c.cancel, time.Hour))
				defer cancel()
				begun := time.Now()
				p := s.process(c.process)
				exit, err := p.Wait(ctx)
				if fault.CodeOf(err) != c.want || emptied.Load() != c.emptied {
					t.Errorf("got %v after %v, emptied %d times", err, time.Since(begun), emptied.Load())
				}
				if e := fault.As(err); c.want == fault.ResourceStorageLimit && (e == nil || e.Args["key"] != "sandbox.temp_mb" || e.Args["mb"] != "10" || exit.Code != -1) {
					t.Errorf("it does not name the cap: %+v, %+v", e, exit)
				}
				if again, err2 := p.Wait(ctx); again != exit || !errors.Is(err2, err) {
					t.Errorf("another Wait: %+v, %v", again, err2)
				}
				// Never for more than a twentieth of the time.
				if n := int64(measured.Load()) - 4; n > int64(time.Since(begun)/measureEvery)*2 {
					t.Errorf("measured %d times in %v", n, time.Since(begun))
				}
			})
		})
	}
}

// Bytes that no name leads to count for TEMP, and for TEMP only; what cannot be told is over the cap.
//
// proves A-SBX-08
func TestFilesWithoutANameCount(t *testing.T) {
	for name, c := range map[string]struct {
		temp    int
		failing error
		want    fault.Code
	}{
		"too many":             {10, nil, fault.ResourceStorageLimit},
		"as many as allowed":   {3600, nil, fault.AgentCancelled},
		"they cannot be found": {3600, errors.New("no"), fault.ResourceStorageLimit},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var measured, emptied atomic.Int32
				begin := time.Now()
				s := filling(begin, &measured, &emptied, nil)
				s.dirs[0].mb, s.dirs[1].mb = c.temp, 1
				s.measure = func(string, int64) (statedir.Size, error) { return statedir.Size{}, nil } // names show nothing
				s.unlinked = func() (int64, error) { return int64(time.Since(begin)/time.Second) << 20, c.failing }
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if _, err := s.process(endless{}).Wait(ctx); fault.CodeOf(err) != c.want {
					t.Errorf("got %v after %v", err, time.Since(begin))
				}
			})
		})
	}
}

// A run that nobody waits for is not measured for ever.
//
// proves A-SBX-08
func TestTheWatchEndsWithTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var measured, emptied atomic.Int32
		p := filling(time.Now(), &measured, &emptied, nil).process(endless{})
		time.Sleep(2 * time.Second)
		p.end()
		p.end()
		n := measured.Load()
		time.Sleep(time.Minute)
		if measured.Load() != n || n == 0 {
			t.Errorf("measured %d, then %d times", n, measured.Load())
		}
	})
}

// proves A-SBX-08
func TestAWorkspaceHasOneHome(t *testing.T) {
	s := newServer(t, 0, 0)
	cache := filepath.Join(t.TempDir(), "cache")
	homes, err := statedir.OpenHomes(fileop.OS(), cache)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { homes.Close() })
	b := s.broker
	b.deps.Homes = homes
	b.deps.Policy = sandbox.EffectivePolicy{Profile: "development", HomeMB: 1, Roots: []sandbox.Root{{Path: "/w", Origins: []sandbox.Origin{sandbox.OriginWorkspace}}}}
	policy := func(task string) *sandbox.EffectivePolicy {
		p := b.deps.Policy
		p.Task.Task = task
		return &p
	}
	first := policy("1")
	one, err := b.openStorage(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(first.Task.Home+"/kept", make([]byte, 100<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	waiting, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.openStorage(waiting, policy("2")); !errors.Is(err, context.Canceled) {
		t.Errorf("a second task of the workspace: %v", err)
	}
	other := policy("3")
	other.Roots = []sandbox.Root{{Path: "/w", ID: sandbox.FileID{Ino: 1}, Origins: []sandbox.Origin{sandbox.OriginWorkspace}}}
	if two, err := b.openStorage(t.Context(), other); err != nil || other.Task.Home == first.Task.Home {
		t.Errorf("another directory at the same path: %s, %v", other.Task.Home, err)
	} else if err := two.close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(one.close(), one.close()); err != nil {
		t.Fatal(err)
	}
	again := policy("4")
	next, err := b.openStorage(t.Context(), again)
	if err != nil || again.Task.Home != first.Task.Home {
		t.Fatalf("the next task: %s, %v", again.Task.Home, err)
	}
	if _, err := os.Stat(again.Task.Home + "/kept"); err != nil {
		t.Errorf("the next task finds: %v", err)
	}
	// Over its cap it is emptied before the next task has it.
	if err := os.WriteFile(again.Task.Home+"/big", make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := next.close(); err != nil {
		t.Fatal(err)
	}
	last, err := b.openStorage(t.Context(), policy("5"))
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(again.Task.Home); err != nil || len(left) > 0 {
		t.Errorf("left in a home over its cap: %v, %v", left, err)
	}
	if err := last.close(); err != nil {
		t.Fatal(err)
	}
	readonly := policy("6")
	readonly.Profile = "readonly"
	readonly.Task.Home = "own"
	if own, err := b.openStorage(t.Context(), readonly); err != nil || own.home != nil || readonly.Task.Home != b.deps.Instance.TreePath(tempDir, "6", "home") {
		t.Errorf("readonly: %+v, %v", own, err)
	}
}
