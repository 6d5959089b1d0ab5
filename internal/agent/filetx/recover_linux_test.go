package filetx

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox/rootio"
	"sekisho/test/crashfs"
)

// crashed runs do until the named durable call on a path with the given end, and stops there.
func crashed(t *testing.T, l *lab, do func(*session) error, call, end string) {
	t.Helper()
	fsys := crashfs.New(fileop.OS(), 1, nil, crashfs.Counting(func(o crashfs.Op) bool { return o.Name == call && strings.HasSuffix(o.Path, end) }))
	if err := do(l.on(fsys)); err == nil || !fsys.Stopped() {
		t.Fatalf("no crash at %s of %s: %v", call, end, err)
	}
}

// What somebody else did after the crash stays as it is.
//
// proves A-TX-02, A-TX-03, A-TX-04
func TestRecoveryLeavesForeignObjectsAlone(t *testing.T) {
	overwrite := func(s *session) error { _, err := s.overwrite("d/f", "new"); return err }
	rename := func(s *session) error { _, err := s.rename("d/f", "d/g"); return err }
	mkdir := func(s *session) error {
		_, err := s.Mkdir(context.Background(), scope, s.target("d/n/m", rootio.MayCreateParents))
		return err
	}
	record := task + ".files.json"
	for _, c := range []struct {
		name      string
		do        func(*session) error
		call, end string
		change    func(w string) error
		outcome   string
		tree      string
	}{
		{"changed again", overwrite, "unlink", record, func(w string) error { return os.WriteFile(w+"/d/f", []byte("third"), 0o644) }, Foreign, "d/ -rwxr-xr-x\nd/f -rw-r--r-- third"},
		{"removed", overwrite, "unlink", record, func(w string) error { return os.Remove(w + "/d/f") }, Foreign, "d/ -rwxr-xr-x"},
		{"replaced by a link", overwrite, "rename", "/f", func(w string) error {
			return os.Rename(w+"/../link", w+"/d/f")
		}, Foreign, "d/ -rwxr-xr-x\nd/f -rwxrwxrwx outside"},
		{"directory moved", overwrite, "rename", "/f", func(w string) error { return os.Rename(w+"/d", w+"/e") }, Foreign, "*"},
		{"directory replaced", overwrite, "unlink", record, func(w string) error {
			must(t, os.Rename(w+"/d", w+"/../elsewhere"))
			must(t, os.Mkdir(w+"/d", 0o755))
			return os.WriteFile(w+"/d/f", []byte("new"), 0o644)
		}, Foreign, "d/ -rwxr-xr-x\nd/f -rw-r--r-- new"},
		{"root gone", overwrite, "rename", "/f", func(w string) error { return os.Rename(w, w+"-gone") }, Foreign, "*"},
		{"nothing done", overwrite, "create", suffix, func(string) error { return nil }, Nothing, "d/ -rwxr-xr-x\nd/f -rw-r--r-- old"},
		{"renamed file changed", rename, "unlink", record, func(w string) error { return os.WriteFile(w+"/d/g", []byte("third"), 0o644) }, Foreign, "d/ -rwxr-xr-x\nd/g -rw-r--r-- third"},
		{"old name taken", rename, "unlink", record, func(w string) error { return os.WriteFile(w+"/d/f", []byte("third"), 0o644) }, Foreign, "d/ -rwxr-xr-x\nd/f -rw-r--r-- third\nd/g -rw-r--r-- old"},
		{"renamed", rename, "unlink", record, func(string) error { return nil }, Undone, "d/ -rwxr-xr-x\nd/f -rw-r--r-- old"},
		{"directory in use", mkdir, "unlink", record, func(w string) error { return os.WriteFile(w+"/d/n/x", nil, 0o644) }, Foreign, "d/ -rwxr-xr-x\nd/f -rw-r--r-- old\nd/n/ -rwxr-xr-x\nd/n/x -rw-r--r-- "},
	} {
		l := newLab(t)
		l.limit = 0
		must(t, os.Mkdir(l.w+"/d", 0o755))
		l.put("d/f", "old", 0o644)
		must(t, os.WriteFile(l.w+"/../s", []byte("outside"), 0o644))
		must(t, os.Symlink("../../s", l.w+"/../link"))
		w := l.w
		crashed(t, l, c.do, c.call, c.end)
		must(t, c.change(w))
		got, err := Recover(context.Background(), l.deps(fileop.OS()))
		if err != nil || len(got) != 1 || got[0].Outcome != c.outcome || got[0].Task != task {
			t.Errorf("%s: Recover = %+v, %v; want %s", c.name, got, err, c.outcome)
		}
		if c.tree != "*" && l.tree() != c.tree {
			t.Errorf("%s: tree %q, want %q", c.name, l.tree(), c.tree)
		}
		if left := l.leftovers(); len(left) > 0 {
			t.Errorf("%s: left over %q", c.name, left)
		}
		if b, _ := os.ReadFile(filepath.Dir(w) + "/s"); string(b) != "outside" {
			t.Errorf("%s: the file outside became %q", c.name, b)
		}
	}
}

// proves A-TX-01, A-TX-04
func TestRecoveryKeepsWhatItCannotRestore(t *testing.T) {
	l := newLab(t)
	l.limit = 0
	l.put("f", "old", 0o644)
	crashed(t, l, func(s *session) error { _, err := s.overwrite("f", "new"); return err }, "unlink", ".files.json")
	list, err := os.ReadDir(l.temp.Name())
	must(t, err)
	must(t, os.WriteFile(l.temp.Name()+"/"+list[0].Name(), []byte("damaged"), 0o600))
	if _, err := Recover(context.Background(), l.deps(fileop.OS())); word(err) != "recovery.failed" {
		t.Errorf("with a damaged backup: %v", err)
	}
	if got := l.tree(); got != "f -rw-r--r-- new" {
		t.Errorf("tree %q: not the complete new bytes", got)
	}
	if got := strings.Join(l.leftovers(), " "); !strings.Contains(got, ".files.json") {
		t.Errorf("the record is gone; left %q", got)
	}
	must(t, os.WriteFile(l.records.Name()+"/"+task+".files.json", []byte("{}"), 0o600))
	if _, err := Recover(context.Background(), l.deps(fileop.OS())); word(err) != "recovery.failed" {
		t.Errorf("with a corrupt record: %v", err)
	}
}
