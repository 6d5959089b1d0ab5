//go:build linux

package cgroup

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
)

func stepOf(data string) sandbox.Step {
	return sandbox.Step{Schema: schema, Kind: Kind, Data: json.RawMessage(data)}
}
func undoOf(data string) sandbox.Undo {
	return sandbox.Undo{Schema: schema, Kind: Kind, Data: json.RawMessage(data)}
}

// looksLike is a file system that makes the files of version 2 in every new directory, as the kernel would, and takes them
// away with it. It has no processes and enforces nothing.
type looksLike struct {
	fileop.FS
	lacks string // a file that the machine does not have
	busy  int    // how often Rmdir says EBUSY
}

func (l *looksLike) Mkdir(dir *os.File, name string, perm fs.FileMode) error {
	if err := l.FS.Mkdir(dir, name, perm); err != nil {
		return err
	}
	for file, text := range map[string]string{"cgroup.procs": "", "memory.max": "max", "memory.oom.group": "0", "memory.swap.max": "max",
		"pids.max": "max", "memory.events": "low 0\noom 0\noom_kill 0\n", "cgroup.kill": ""} {
		if file == l.lacks {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir.Name(), name, file), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (l *looksLike) Rmdir(dir *os.File, name string) error {
	if l.busy--; l.busy >= 0 {
		return &fs.PathError{Op: "rmdir", Path: name, Err: errBusy}
	}
	return os.RemoveAll(filepath.Join(dir.Name(), name))
}

// plan returns the one step of a task below dir and its undo.
func plan(t *testing.T, s *Steps, dir string) (sandbox.Step, sandbox.Undo) {
	t.Helper()
	steps, err := (&driver{files: s.files, places: []place{{Version: 2, Controllers: []string{memory, pids}, Parent: dir}}}).Plan("i", "t")
	if err != nil {
		t.Fatal(err)
	}
	u, err := s.Observe(t.Context(), steps[0])
	if err != nil {
		t.Fatal(err)
	}
	return steps[0], u
}

const name = "agent-mcp-i-t"

// proves A-SBX-02, A-TX-01
func TestVersion2OnAFakeTree(t *testing.T) {
	for _, lacks := range []string{"", "memory.swap.max"} {
		dir := t.TempDir()
		files := &looksLike{FS: fileop.OS(), lacks: lacks, busy: 3}
		s := NewSteps(files)
		step, u := plan(t, s, dir)
		if entries, _ := os.ReadDir(dir); len(entries) != 0 {
			t.Errorf("Plan and Observe changed something: %v", entries)
		}
		for range 2 { // repeating is harmless
			if err := s.Apply(t.Context(), step, u); err != nil {
				t.Fatal(err)
			}
		}
		g, err := (&driver{files: files}).Group([]sandbox.Undo{u})
		if err != nil {
			t.Fatal(err)
		}
		for _, mb := range []int{512, 64, 1024} {
			if err := g.SetLimits(mb, 4); err != nil {
				t.Fatal(err)
			}
		}
		got := map[string]string{}
		for _, f := range []string{"memory.max", "memory.oom.group", "memory.swap.max", "pids.max"} {
			b, _ := os.ReadFile(filepath.Join(dir, name, f))
			got[f] = string(b)
		}
		want := map[string]string{"memory.max": "1073741824", "memory.oom.group": "1", "memory.swap.max": "0", "pids.max": "256"}
		if lacks != "" {
			want[lacks] = ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("limits (-want +got):\n%s", diff)
		}
		select {
		case <-g.OOM():
			t.Error("out of memory before anything happened")
		default:
		}
		overwrite(t, filepath.Join(dir, name, "memory.events"), "low 1\noom 0\noom_kill 0\n") // not yet
		overwrite(t, filepath.Join(dir, name, "memory.events"), "low 1\noom 1\noom_kill 1\n")
		select {
		case <-g.OOM():
		case <-time.After(10 * time.Second):
			t.Error("a change of oom_kill was not seen")
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := s.Revert(t.Context(), u); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("after Revert: %v", err)
		}
	}
}

// overwrite changes a file in place, as seen by a reader who holds it open.
func overwrite(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// proves A-TX-01, A-TX-05
func TestOnlyTheOwnDirectoryIsTouched(t *testing.T) {
	t.Run("one that was there before", func(t *testing.T) {
		dir := t.TempDir()
		foreign(t, dir)
		s := NewSteps(&looksLike{FS: fileop.OS()})
		step, u := plan(t, s, dir)
		if err := s.Apply(t.Context(), step, u); err == nil || !strings.Contains(err.Error(), "not this task's") {
			t.Errorf("Apply used a directory that was there before: %v", err)
		}
		revertLeaves(t, s, u, dir)
	})
	t.Run("one that replaced ours", func(t *testing.T) {
		dir := t.TempDir()
		s := NewSteps(&looksLike{FS: fileop.OS()})
		step, u := plan(t, s, dir)
		if err := s.Apply(t.Context(), step, u); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, "kept")); err != nil { // keeps the inode in use
			t.Fatal(err)
		}
		foreign(t, dir)
		revertLeaves(t, s, u, dir)
	})
	t.Run("one below another parent", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "p")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		s := NewSteps(&looksLike{FS: fileop.OS()})
		step, u := plan(t, s, dir)
		if err := os.Rename(dir, dir+"-moved"); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		foreign(t, dir)
		if err := s.Apply(t.Context(), step, u); err == nil {
			t.Error("Apply used another parent")
		}
		revertLeaves(t, s, u, dir)
	})
	t.Run("after a crash", func(t *testing.T) {
		dir := t.TempDir()
		files := &looksLike{FS: fileop.OS()}
		s := NewSteps(files)
		step, u := plan(t, s, dir)
		if err := s.Apply(t.Context(), step, u); err != nil {
			t.Fatal(err)
		}
		if err := NewSteps(files).Revert(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 0 {
			t.Errorf("left behind: %v", entries)
		}
	})
}

func foreign(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name, "cgroup.procs"), []byte("999999\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func revertLeaves(t *testing.T, s *Steps, u sandbox.Undo, dir string) {
	t.Helper()
	if err := s.Revert(t.Context(), u); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, name, "cgroup.procs")); err != nil {
		t.Errorf("Revert touched a foreign directory: %v", err)
	}
}

// proves A-SBX-02
func TestApplyProvesTheControllers(t *testing.T) {
	for _, lacks := range []string{"memory.max", "pids.max", "cgroup.procs"} {
		s := NewSteps(&looksLike{FS: fileop.OS(), lacks: lacks})
		step, u := plan(t, s, t.TempDir())
		if err := s.Apply(t.Context(), step, u); err == nil || !strings.Contains(err.Error(), lacks) {
			t.Errorf("without %s: got %v", lacks, err)
		}
	}
}

// proves A-SBX-02
func TestLimitsMustReadBack(t *testing.T) {
	dir := t.TempDir()
	files := &looksLike{FS: fileop.OS()}
	s := NewSteps(files)
	step, u := plan(t, s, dir)
	if err := s.Apply(t.Context(), step, u); err != nil {
		t.Fatal(err)
	}
	g, err := (&driver{files: deaf{files}}).Group([]sandbox.Undo{u})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.SetLimits(64, 4); err == nil {
		t.Error("SetLimits believed a write that changed nothing")
	}
	if err := g.Add(os.Getpid()); err == nil {
		t.Error("Add believed a write that changed nothing")
	}
	for _, bad := range [][2]int{{0, 1}, {1, 0}, {-1, 1}, {1 << 50, 1}} {
		if err := g.SetLimits(bad[0], bad[1]); err == nil {
			t.Errorf("SetLimits took %v", bad)
		}
	}
}

// deaf drops every write.
type deaf struct{ fileop.FS }

func (deaf) Write(*os.File, []byte) error { return nil }
