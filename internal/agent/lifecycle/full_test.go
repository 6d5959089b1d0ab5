package lifecycle

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sekisho/internal/agent/config"
	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox/broker"
	"sekisho/internal/statedir"
)

// fullFS has no room for whatever needs some while full says so.
type fullFS struct {
	fileop.FS
	full func() bool
	dirs bool // directories need no room, as on a tmpfs
}

func (f fullFS) room(op, name string) error {
	if f.full() {
		return &fs.PathError{Op: op, Path: name, Err: syscall.ENOSPC}
	}
	return nil
}

func (f fullFS) Create(dir *os.File, name string, perm fs.FileMode) (*os.File, error) {
	if err := f.room("create", name); err != nil {
		return nil, err
	}
	return f.FS.Create(dir, name, perm)
}

func (f fullFS) OpenAppend(dir *os.File, name string, perm fs.FileMode) (*os.File, error) {
	if _, err := os.Lstat(filepath.Join(dir.Name(), name)); err != nil {
		if err := f.room("append", name); err != nil {
			return nil, err
		}
	}
	return f.FS.OpenAppend(dir, name, perm)
}

// Write leaves half of the bytes, as a device does that gets full meanwhile.
func (f fullFS) Write(file *os.File, p []byte) error {
	if err := f.room("write", file.Name()); err != nil {
		f.FS.Write(file, p[:len(p)/2])
		return err
	}
	return f.FS.Write(file, p)
}

func (f fullFS) Mkdir(dir *os.File, name string, perm fs.FileMode) error {
	if err := f.room("mkdir", name); err != nil && !f.dirs {
		return err
	}
	return f.FS.Mkdir(dir, name, perm)
}

const deadInstance = "00112233445566ff"

// abandoned makes a state root with what a killed server leaves of one running task; it returns the root, and the path of
// the task's temporary directories.
func abandoned(t *testing.T) (root, temp string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "agent-mcp")
	dir, err := statedir.Open(fileop.OS(), root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	living, err := dir.NewInstance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	records, err := living.Sub(broker.JournalDir)
	if err != nil {
		t.Fatal(err)
	}
	task := "5f3c9a52-58c5-4d0a-93d9-5a0f3d3e7c11"
	made, err := living.MakeTree("temp", task)
	if err != nil {
		t.Fatal(err)
	}
	temp = filepath.Join(root, "instances", deadInstance, "temp", task)
	entry, err := journal.CreateTask(journal.Open(fileop.OS(), records), task, time.Unix(1, 0), []string{temp})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []journal.State{journal.Applied, journal.Running} {
		if err := entry.Update(func(r *journal.Record) { r.State = s }); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(made+"/fill", make([]byte, 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(root, "instances", deadInstance)
	if err := os.CopyFS(dead, os.DirFS(living.Path())); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(dead, func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = os.Chmod(p, 0o700)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(living.Path()); err != nil {
		t.Fatal(err)
	}
	records.Close()
	return root, temp
}

// starts does what a start does until its recovery is over.
func starts(ctx context.Context, files fileop.FS, root string) error {
	dir, err := statedir.Open(files, root)
	if err != nil {
		return err
	}
	defer dir.Close()
	logs, err := openLogs(files, config.Logging{Directory: root + "/logs", Level: "info", MaxFileBytes: 1 << 20, RetainedFiles: 1}, io.Discard)
	if err != nil {
		return err
	}
	defer logs.Close()
	r := recovery{files: files, logs: logs}
	own, err := r.newInstance(ctx, dir)
	if err != nil {
		return err
	}
	defer own.Close()
	return r.all(ctx, dir)
}

// recovered fails the test unless nothing is left and the audit tells the events in whole lines.
func recovered(t *testing.T, root string, events ...string) {
	t.Helper()
	if left, err := os.ReadDir(filepath.Join(root, "instances")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	data, err := os.ReadFile(filepath.Join(root, "logs", audit.FileName))
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for line := range strings.Lines(string(data)) {
		var e audit.Event
		if json.Unmarshal([]byte(line), &e) == nil {
			told[e.Event]++
		}
	}
	for _, e := range events {
		if told[e] == 0 {
			t.Errorf("the audit does not tell %s:\n%s", e, data)
		}
	}
}

// A task that filled the disk of the state root is removed by the next start, which has no room to write before.
//
// proves A-TX-01, A-TX-04, A-TX-06
func TestRecoveryMakesItsOwnRoom(t *testing.T) {
	for _, dirs := range []bool{false, true} {
		root, temp := abandoned(t)
		logs, err := openLogs(fileop.OS(), config.Logging{Directory: root + "/logs", Level: "info", MaxFileBytes: 1 << 20, RetainedFiles: 1}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if err := logs.Close(); err != nil {
			t.Fatal(err)
		}
		full := func() bool { _, err := os.Lstat(temp); return err == nil }
		if err := starts(t.Context(), fullFS{fileop.OS(), full, dirs}, root); err != nil {
			t.Fatal(err)
		}
		recovered(t, root, audit.RecoveryStart, audit.RecoveryEnd)
	}
}

// One call without room anywhere ends in a recovery, or in a coded error after which the next start recovers.
//
// proves A-TX-01, A-TX-04
func TestRecoveryWithoutRoomAtAnyCall(t *testing.T) {
	for k := 1; ; k++ {
		root, _ := abandoned(t)
		n := 0
		full := func() bool { n++; return n == k }
		if err := starts(t.Context(), fullFS{FS: fileop.OS(), full: full}, root); err != nil {
			if code := fault.CodeOf(err); code != fault.RecoveryFailed && code != fault.StateUnusable {
				t.Errorf("call %d: %v", k, err)
			}
			if err := starts(t.Context(), fileop.OS(), root); err != nil {
				t.Errorf("call %d, the next start: %v", k, err)
			}
			recovered(t, root, audit.RecoveryStart) // its end is not told twice: what was recovered is gone
		} else {
			recovered(t, root, audit.RecoveryStart, audit.RecoveryEnd)
		}
		if n < k {
			if k < 10 {
				t.Errorf("only %d calls", n)
			}
			return
		}
	}
}
