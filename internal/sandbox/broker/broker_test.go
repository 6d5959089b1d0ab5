package broker

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	"sekisho/test/crashfs"
)

// scenario opens a task's job, uses it and closes it.
func (s *server) scenario() error {
	job, err := s.broker.Open(context.Background(), "session", task)
	if err != nil {
		return err
	}
	if _, err := job.Start(context.Background(), sandbox.Command{}); err != nil {
		return errors.Join(err, job.Close(context.Background()))
	}
	return job.Close(context.Background())
}

// proves A-TX-01, A-TX-05
func TestATaskGoesThroughAllStatesAndLeavesNothing(t *testing.T) {
	s := newServer(t, 0, 0)
	job, err := s.broker.Open(t.Context(), "session", task)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.backend.onDisk(); got.State != journal.Running || len(got.TempPaths) != 1 {
		t.Errorf("journal of a running task: %+v", got)
	}
	if _, err := s.broker.Open(t.Context(), "session", task); fault.CodeOf(err) != fault.SandboxFailed {
		t.Errorf("second Open of one task = %v", err)
	}
	if _, err := os.Stat(filepath.Join(s.journals.Name(), task+".json")); err != nil {
		t.Errorf("the second Open removed the first one's journal: %v", err)
	}
	for range 2 {
		if err := job.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"plan", "observe a", "observe b", "observe c", "apply a", "apply b", "apply c", "open",
		"plan", "observe a", "observe b", "observe c", // of the second Open, which changes nothing
		"close", "revert c", "revert b", "revert a"}
	if diff := cmp.Diff(want, s.backend.calls); diff != "" {
		t.Errorf("backend calls (-want +got):\n%s", diff)
	}
	if err := s.clean(); err != nil {
		t.Errorf("left behind: %v", err)
	}
}

// proves A-TX-05
func TestAFailingStepUndoesTheAppliedOnesAtOnce(t *testing.T) {
	const opening = 8 // plan, three times observe and apply, open
	for n := 1; n <= opening; n++ {
		s := newServer(t, 0, n)
		_, err := s.broker.Open(t.Context(), "session", task)
		if fault.CodeOf(err) != fault.SandboxFailed || !errors.Is(err, errPlanned) {
			t.Errorf("call %d: error %v, want sandbox.failed with its cause", n, err)
		}
		if err := s.clean(); err != nil {
			t.Errorf("call %d: left behind: %v", n, err)
		}
	}
}

// proves A-TX-05
func TestACancelledCallerStillGetsEverythingUndone(t *testing.T) {
	s := newServer(t, 0, 5)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.broker.Open(ctx, "session", task); err == nil {
		t.Fatal("Open succeeded")
	}
	if err := s.clean(); err != nil {
		t.Errorf("left behind: %v", err)
	}
}

// proves A-ERR-01
func TestACodedErrorOfTheBackendIsKept(t *testing.T) {
	coded := fault.New(fault.ResourceMemoryUnenforceable)
	if got := failed(coded); fault.As(got) != coded {
		t.Errorf("failed(%v) = %v", coded, got)
	}
}

// proves A-TX-01, A-ERR-02
func TestAFailureToCleanIsFatalAndKeepsTheJournal(t *testing.T) {
	for n := 10; n <= 13; n++ { // close, revert c, b, a
		s := newServer(t, 0, n)
		err := s.scenario()
		if e := fault.As(err); e == nil || e.Code != fault.RecoveryFailed || e.Category() != fault.RecoveryFailure || !strings.HasSuffix(e.Target, task+".json") {
			t.Errorf("call %d: error %v, want recovery.failed naming the journal", n, err)
		}
		if got := s.backend.onDisk().State; got != journal.RecoveryRequired {
			t.Errorf("call %d: state %s, want RECOVERY_REQUIRED", n, got)
		}
		s.world.tree = false // the server stops, and its tree with it
		s.run(0, 0)
		if err := s.recover(); err != nil {
			t.Errorf("call %d: recovery: %v", n, err)
		}
		if err := s.clean(); err != nil {
			t.Errorf("call %d: left behind: %v", n, err)
		}
	}
}

// proves A-TX-04, A-TX-01
func TestAStopAtEveryDurableCallIsRecovered(t *testing.T) {
	for k := 1; ; k++ {
		s := newServer(t, k, 0)
		err := s.scenario()
		if !s.fsys.Stopped() {
			if err != nil || k < 40 {
				t.Fatalf("k=%d: undisturbed run: %v", k, err)
			}
			break
		}
		if !errors.Is(err, crashfs.ErrStopped) {
			t.Errorf("k=%d: error %v, want the stop", k, err)
		}
		// The recovering server may be stopped as well, again and again.
		for j := 1; ; j++ {
			s.run(j, 0)
			err := s.recover()
			if s.fsys.Stopped() {
				continue
			}
			if err != nil {
				t.Fatalf("k=%d: recovery: %v", k, err)
			}
			break
		}
		if err := s.clean(); err != nil {
			t.Errorf("k=%d: left behind: %v", k, err)
		}
	}
}

// proves A-TX-01, A-TX-04
func TestRecoveryTellsWhatItUndid(t *testing.T) {
	s := newServer(t, 0, 0)
	if _, err := s.broker.Open(t.Context(), "session", task); err != nil {
		t.Fatal(err)
	}
	s.world.tree = false
	s.run(0, 0)
	got, err := Recover(t.Context(), Abandoned{Backend: s.backend, Journal: journal.Open(s.fsys, s.journals), Instance: s.instance})
	if err != nil {
		t.Fatal(err)
	}
	effect := func(n string) audit.Undone {
		return audit.Undone{Effect: "effect", Target: `"` + s.instance.ID() + "/" + task + "/" + n + `"`, Verified: true}
	}
	want := []audit.Undone{effect("c"), effect("b"), effect("a"), {Effect: "temp", Target: s.instance.TreePath(tempDir, task), Verified: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
}

// noRoom has room for nothing.
type noRoom struct{ fileop.FS }

func (noRoom) Create(*os.File, string, fs.FileMode) (*os.File, error) { return nil, syscall.ENOSPC }
func (noRoom) Write(*os.File, []byte) error                           { return syscall.ENOSPC }
func (noRoom) Mkdir(*os.File, string, fs.FileMode) error              { return syscall.ENOSPC }

// A full disk hinders neither the making of room nor the recovery itself, which writes only what it can do without.
//
// proves A-TX-01, A-TX-04
func TestAFullDiskDoesNotHinderRecovery(t *testing.T) {
	s := newServer(t, 0, 0)
	if _, err := s.broker.Open(t.Context(), "session", task); err != nil {
		t.Fatal(err)
	}
	s.world.tree = false
	s.run(0, 0)
	s.backend.anyState = true
	a := Abandoned{Backend: s.backend, Journal: journal.Open(noRoom{s.fsys}, s.journals), Instance: s.instance}
	if err := MakeRoom(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(s.instance.TreePath(tempDir, task)); !errors.Is(err, fs.ErrNotExist) || len(s.world.effects) != 0 {
		t.Errorf("after making room: %v, effects %v", err, s.world.effects)
	}
	if got := s.backend.onDisk().State; got != journal.Running {
		t.Errorf("the journal was rewritten to %s", got)
	}
	if _, err := Recover(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if err := s.clean(); err != nil {
		t.Error(err)
	}
}

// proves A-TX-01
func TestRecoveryStopsWhenAnEffectStays(t *testing.T) {
	s := newServer(t, 0, 0)
	if _, err := s.broker.Open(t.Context(), "session", task); err != nil {
		t.Fatal(err)
	}
	s.world.tree = false
	s.run(0, 2) // revert b
	got, err := Recover(t.Context(), Abandoned{Backend: s.backend, Journal: journal.Open(s.fsys, s.journals), Instance: s.instance})
	if fault.CodeOf(err) != fault.RecoveryFailed {
		t.Errorf("error %v, want recovery.failed", err)
	}
	var verified []bool
	for _, u := range got {
		verified = append(verified, u.Verified)
	}
	if diff := cmp.Diff([]bool{true, false, true, true}, verified); diff != "" {
		t.Errorf("verified (-want +got):\n%s", diff)
	}
	if left := s.backend.onDisk(); len(left.Steps) != 3 {
		t.Errorf("the journal lost its steps: %+v", left)
	}
}

// proves A-TX-01
func TestAJournalThatCannotBeTrustedStopsRecoveryAndDeletesNothing(t *testing.T) {
	valid := func(s *server) string {
		return `{"schema_version":1,"task_id":"` + task + `","created_at":"2026-01-01T00:00:00Z","state":"RUNNING","acl_changes":[],"network_rule_ids":[],` +
			`"temp_paths":["` + s.instance.TreePath(tempDir, task) + `"],"steps":[{"step":{"schema":1,"kind":"effect","data":"x"},"undo":{"schema":1,"kind":"effect","data":"x"},"applied":true}]}`
	}
	for name, change := range map[string]func(*server, string) string{
		"torn":         func(_ *server, j string) string { return j[:len(j)-7] },
		"another task": func(_ *server, j string) string { return strings.Replace(j, task, "other", 1) },
		"outside": func(s *server, j string) string {
			return strings.Replace(j, s.instance.TreePath(tempDir, task), "/etc", 1)
		},
		"another instance": func(s *server, j string) string { return strings.Replace(j, s.instance.ID(), "0123456789abcdef", 1) },
		"the instance":     func(s *server, j string) string { return strings.Replace(j, "/temp/"+task, "", 1) },
		"the whole temp":   func(s *server, j string) string { return strings.Replace(j, "/temp/"+task, "/temp", 1) },
		"an access list": func(_ *server, j string) string {
			return strings.Replace(j, `"acl_changes":[]`, `"acl_changes":[{"path":"/","change_id":"","original_descriptor":""}]`, 1)
		},
		"a network rule": func(_ *server, j string) string {
			return strings.Replace(j, `"network_rule_ids":[]`, `"network_rule_ids":["x"]`, 1)
		},
		"undo without kind": func(_ *server, j string) string {
			return strings.Replace(j, `"undo":{"schema":1,"kind":"effect"`, `"undo":{"schema":1,"kind":""`, 1)
		},
		"undo of no schema": func(_ *server, j string) string {
			return strings.Replace(j, `"undo":{"schema":1`, `"undo":{"schema":0`, 1)
		},
		"undo with more": func(_ *server, j string) string { return strings.Replace(j, `"undo":{`, `"undo":{"more":1,`, 1) },
	} {
		s := newServer(t, 0, 0)
		if _, err := s.instance.MakeTree(tempDir, task); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(s.journals.Name(), task+".json")
		content := change(s, valid(s))
		if content == valid(s) {
			t.Fatalf("%s: nothing was changed", name)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		err := s.recover()
		if e := fault.As(err); e == nil || e.Code != fault.RecoveryFailed || e.Target != path {
			t.Errorf("%s: error %v, want recovery.failed naming %s", name, err, path)
		}
		if got, _ := os.ReadFile(path); string(got) != content {
			t.Errorf("%s: the journal was changed to %s", name, got)
		}
		if _, err := os.Stat(s.instance.TreePath(tempDir, task)); err != nil {
			t.Errorf("%s: something was deleted: %v", name, err)
		}
		if len(s.backend.calls) > 0 {
			t.Errorf("%s: the backend was called: %v", name, s.backend.calls)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// proves A-TX-01
func TestWithoutABackendAStepCannotBeReverted(t *testing.T) {
	s := newServer(t, 0, 0)
	if _, err := s.broker.Open(t.Context(), "session", task); err != nil {
		t.Fatal(err)
	}
	_, err := Recover(t.Context(), Abandoned{Journal: journal.Open(s.fsys, s.journals), Instance: s.instance})
	if fault.CodeOf(err) != fault.RecoveryFailed {
		t.Errorf("error %v, want recovery.failed", err)
	}
}

// proves A-TX-01
func FuzzDecodeUndo(f *testing.F) {
	f.Add([]byte(`{"schema":1,"kind":"cgroup","data":{"path":"/sys/fs/cgroup/x"}}`))
	f.Add([]byte(`{"schema":-1,"kind":"","data":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		u, err := decode(data)
		if err != nil {
			return
		}
		step, err := encode(sandbox.Step{Schema: u.Schema, Kind: u.Kind, Data: u.Data}, u)
		if err != nil {
			t.Fatalf("an accepted undo does not encode: %v", err)
		}
		again, err := decode(step.Undo)
		if err != nil || again.Schema != u.Schema || again.Kind != u.Kind {
			t.Errorf("round trip: %+v became %+v, %v", u, again, err)
		}
	})
}
