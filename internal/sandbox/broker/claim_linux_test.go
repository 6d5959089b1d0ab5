package broker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"sekisho/internal/fileop"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
	"sekisho/test/crashfs"
)

// writable gives a server's policy one writable root at path, and the state root that its locks and quarantines need.
func (s *server) writable(path string) {
	s.t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		s.t.Fatal(err)
	}
	r, err := rootio.Exact(path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Close()
	s.broker.deps.Policy.Roots = []sandbox.Root{{Path: path, Rights: sandbox.Read | sandbox.Write | sandbox.Delete, Origins: []sandbox.Origin{sandbox.OriginWorkspace}, ID: r.Info().ID}}
	s.broker.deps.Files = fileop.OS()
	if s.broker.deps.State == nil {
		s.broker.deps.State = s.state
	}
}

// proves A-TX-08: roots around and inside one another exclude each other, neighbours do not.
func TestRootsAroundOneAnotherExcludeEachOther(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("it waits")
	for name, c := range map[string]struct {
		a, b string
		wait bool
	}{
		"the same":    {"w", "w", true},
		"inside":      {"w", "w/a/b", true},
		"around":      {"w/a/b", "w", true},
		"neighbours":  {"w/a", "w/b", false},
		"other names": {"w", "ww", false},
	} {
		t.Run(name, func(t *testing.T) {
			one, two := newServer(t, 0, 0), newServer(t, 0, 0)
			two.broker.deps.State = one.state // two servers of one user
			one.writable(base + "/" + c.a)
			two.writable(base + "/" + c.b)
			held, err := one.broker.Claim(t.Context(), task, func(string) { t.Error("the first one waits") })
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			waited := ""
			second, err := two.broker.Claim(ctx, task, func(root string) { waited = root; cancel(stop) })
			if (err != nil) != c.wait || c.wait && (!errors.Is(err, stop) || waited != base+"/"+c.b) {
				t.Errorf("waited for %q, %v", waited, err)
			}
			if second != nil {
				if err := second.Release(); err != nil {
					t.Error(err)
				}
			}
			if err := held.Release(); err != nil {
				t.Error(err)
			}
			if second, err = two.broker.Claim(t.Context(), task, func(root string) { t.Errorf("it waits for %s, which is free", root) }); err != nil {
				t.Fatal(err)
			}
			if err := second.Release(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What the task's processes leave for the host's tools is moved away, also by the server that recovers from a crash: where to
// look is in the journal before anything runs.
//
// proves A-POL-13, A-TX-01, A-TX-04
func TestWhatATaskLeavesIsMovedAlsoAfterACrash(t *testing.T) {
	for name, crash := range map[string]bool{"end": false, "crash": true} {
		t.Run(name, func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			s := newServer(t, 0, 0)
			s.backend.watched = true
			s.writable(base + "/w")
			job, err := s.broker.Open(t.Context(), "session", task)
			if err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{".envrc": "evil", "ordinary": "work"} {
				if err := os.WriteFile(base+"/w/"+file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if crash {
				s.world.tree = false
				s.run(0, 0)
				s.backend.watched = true
				_, err = Recover(t.Context(), Abandoned{Backend: s.backend, Journal: journal.Open(s.fsys, s.journals), Instance: s.instance, State: s.state, Files: fileop.OS()})
			} else {
				err = job.Close(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(base + "/w/.envrc"); !os.IsNotExist(err) {
				t.Errorf("what a tool of the host runs is still there: %v", err)
			}
			if _, err := os.Stat(base + "/w/ordinary"); err != nil {
				t.Errorf("the task's work: %v", err)
			}
			if kept, err := os.ReadFile(filepath.Join(s.state.Path(), quarantineDir, task, "1")); err != nil || string(kept) != "evil" {
				t.Errorf("in quarantine %q, %v", kept, err)
			}
			if err := s.clean(); err != nil {
				t.Errorf("left behind: %v", err)
			}
		})
	}
}

// proves A-TX-01: whatever the journal announces is on the device before it happens, the name of the journal's file included.
func TestAnEffectWaitsForTheDevice(t *testing.T) {
	s := newServer(t, 0, 0)
	flushed := crashfs.NewFlushed(fileop.OS(), func(problem string) { t.Error(problem) })
	s.broker.deps.Journal = journal.Open(flushed, s.journals)
	s.broker.deps.Backend = pending{s.backend, flushed}
	if err := s.scenario(); err != nil {
		t.Fatal(err)
	}
	if left := flushed.Pending(); len(left) > 0 {
		t.Errorf("not flushed at the end: %q", left)
	}
}

// pending is a backend that has effects only once everything is on the device.
type pending struct {
	*fakeBackend
	flushed *crashfs.Flushed
}

func (p pending) Apply(ctx context.Context, step sandbox.Step, u sandbox.Undo) error {
	if left := p.flushed.Pending(); len(left) > 0 {
		p.t.Errorf("Apply(%s) while %q is not flushed", name(step.Data), left)
	}
	return p.fakeBackend.Apply(ctx, step, u)
}

func (p pending) Open(ctx context.Context, policy sandbox.EffectivePolicy, applied []sandbox.Undo) (sandbox.Job, error) {
	if left := p.flushed.Pending(); len(left) > 0 {
		p.t.Errorf("Open while %q is not flushed", left)
	}
	return p.fakeBackend.Open(ctx, policy, applied)
}
