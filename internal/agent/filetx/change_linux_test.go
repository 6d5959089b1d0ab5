package filetx

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sekisho/internal/audit"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
)

// proves A-TX-02, A-AUD-01, A-TOOL-03
func TestChangesAndTheirAudit(t *testing.T) {
	l := newLab(t)
	l.put("f", "one\r\n", 0o755)
	s := l.on(fileop.OS())
	ctx := context.Background()
	one, two := digest([]byte("one\r\n")), digest([]byte("two\r\n"))
	got := []Change{}
	note := func(c Change, err error) {
		t.Helper()
		must(t, err)
		got = append(got, c)
	}
	note(s.overwrite("f", "two\n"))
	note(s.patch("f", `{"old_text":"two","new_text":"one"}`))
	note(s.AtomicReplace(ctx, scope, s.target("f", rootio.Existing), "two\n", strings.ToUpper(one)))
	note(s.Mkdir(ctx, scope, s.target("a/b", rootio.MayCreateParents)))
	note(s.Mkdir(ctx, scope, s.target("a", rootio.MayCreateParents)))
	note(s.rename("f", "a/b/g"))
	note(s.overwrite("n", "new"))
	note(s.Delete(ctx, scope, s.target("n", rootio.Existing), ""))
	note(s.Mkdir(ctx, scope, s.target("e", rootio.MayCreateParents)))
	note(s.Rmdir(ctx, scope, s.target("e", rootio.Existing)))
	n := digest([]byte("new"))
	want := []Change{
		{Path: l.w + "/f", Before: one, After: two},
		{Path: l.w + "/f", Before: two, After: one},
		{Path: l.w + "/f", Before: one, After: two},
		{Path: l.w + "/a/b", Created: []string{l.w + "/a", l.w + "/a/b"}},
		{Path: l.w + "/a"},
		{Path: l.w + "/f", Destination: l.w + "/a/b/g", Before: two, After: two},
		{Path: l.w + "/n", After: n},
		{Path: l.w + "/n", Before: n},
		{Path: l.w + "/e", Created: []string{l.w + "/e"}},
		{Path: l.w + "/e"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if got, want := l.tree(), "a/ -rwxr-xr-x\na/b/ -rwxr-xr-x\na/b/g -rwxr-xr-x two\r\n"; got != want {
		t.Errorf("tree %q, want %q", got, want)
	}
	e := func(event, op, path, dest, before, after string) audit.Event {
		return audit.Event{Event: event, Operation: op, SessionID: "s", TaskID: task, PlannerTask: "p", CallID: "c", Path: path, Destination: dest, BeforeSHA256: before, AfterSHA256: after}
	}
	events := []audit.Event{
		e("file.write", "overwrite", l.w+"/f", "", one, two), e("file.write", "patch", l.w+"/f", "", two, one), e("file.write", "atomic_replace", l.w+"/f", "", one, two),
		e("file.write", "rename", l.w+"/f", l.w+"/a/b/g", two, two), e("file.write", "overwrite", l.w+"/n", "", "", n), e("file.delete", "delete", l.w+"/n", "", n, ""),
	}
	if diff := cmp.Diff(events, l.audit.events, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if left := l.leftovers(); len(left) > 0 {
		t.Errorf("left over %q", left)
	}
}

// proves A-TOOL-03, A-TOOL-06, A-TOOL-10, A-TX-02, A-TX-03, A-ERR-01
func TestRefusedChangesChangeNothing(t *testing.T) {
	shm := func(l *lab) { // another volume, as a second root
		dir, err := os.MkdirTemp(os.TempDir(), "volume")
		must(l.t, err)
		l.t.Cleanup(func() { os.RemoveAll(dir) })
		st, err := os.Stat(dir)
		must(l.t, err)
		x := st.Sys().(*syscall.Stat_t)
		l.roots = append(l.roots, sandbox.Root{Path: dir, ID: sandbox.FileID{Dev: x.Dev, Ino: x.Ino}, Rights: 15, Origins: []sandbox.Origin{sandbox.OriginWorkspace}})
	}
	ctx := context.Background()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for _, c := range []struct {
		name string
		do   func(*session) error
		want string
	}{
		{"replace a missing file", func(s *session) error {
			_, err := s.AtomicReplace(ctx, scope, s.target("no", rootio.MayCreate), "x", "")
			return err
		}, "tool.failed.not_found"},
		{"patch a missing file", func(s *session) error {
			_, err := s.patch("no", `{"old_text":"a","new_text":"b"}`)
			return err
		}, "tool.failed.not_found"},
		{"malformed patch", func(s *session) error { _, err := s.patch("f", "@@ -1 +1 @@"); return err }, "tool.failed.patch_malformed"},
		{"no match", func(s *session) error { _, err := s.patch("f", `{"old_text":"x","new_text":"b"}`); return err }, "tool.failed.patch_no_match"},
		{"two matches", func(s *session) error { _, err := s.patch("f", `{"old_text":"o","new_text":"b"}`); return err }, "tool.failed.patch_ambiguous"},
		{"overwrite a directory", func(s *session) error { _, err := s.overwrite("d", "x"); return err }, "tool.failed.is_directory"},
		{"delete a directory", func(s *session) error {
			_, err := s.Delete(ctx, scope, s.target("d", rootio.Existing), "")
			return err
		}, "tool.failed.is_directory"},
		{"expected digest", func(s *session) error {
			_, err := s.Overwrite(ctx, scope, s.target("f", rootio.MayCreate), "x", digest([]byte("other")))
			return err
		}, "tool.failed.hash_mismatch"},
		{"expected digest of nothing", func(s *session) error {
			_, err := s.Overwrite(ctx, scope, s.target("no", rootio.MayCreate), "x", digest(nil))
			return err
		}, "tool.failed.hash_mismatch"},
		{"expected digest of a delete", func(s *session) error {
			_, err := s.Delete(ctx, scope, s.target("f", rootio.Existing), "00")
			return err
		}, "tool.failed.hash_mismatch"},
		{"expected digest of a rename", func(s *session) error {
			_, err := s.Rename(ctx, scope, s.target("f", rootio.Existing), s.target("no", rootio.MayCreate), "00")
			return err
		}, "tool.failed.hash_mismatch"},
		{"rename onto a file", func(s *session) error { _, err := s.rename("f", "g.json"); return err }, "tool.failed.target_exists"},
		{"rename onto a directory", func(s *session) error { _, err := s.rename("f", "d"); return err }, "tool.failed.target_exists"},
		{"rename onto itself", func(s *session) error { _, err := s.rename("f", "f"); return err }, "tool.failed.target_exists"},
		{"rename a directory", func(s *session) error { _, err := s.rename("d", "no"); return err }, "tool.failed.is_directory"},
		{"rename over volumes", func(s *session) error {
			to, err := s.set.Resolve(s.roots[1].Path+"/f", rootio.MayCreate)
			must(s.t, err)
			defer to.Close()
			_, err = s.Rename(ctx, scope, s.target("f", rootio.Existing), to, "")
			return err
		}, "tool.failed.cross_volume"},
		{"invalid JSON", func(s *session) error { _, err := s.overwrite("g.json", "{"); return err }, "tool.failed.invalid_syntax"},
		{"JSON patched to pieces", func(s *session) error {
			_, err := s.patch("g.json", `{"old_text":"}","new_text":""}`)
			return err
		}, "tool.failed.invalid_syntax"},
		{"encoding", func(s *session) error { _, err := s.overwrite("latin", "é"); return err }, "tool.failed.encoding"},
		{"mkdir onto a file", func(s *session) error {
			_, err := s.Mkdir(ctx, scope, s.target("f", rootio.MayCreateParents))
			return err
		}, "tool.failed.target_exists"},
		{"rmdir of a file", func(s *session) error { _, err := s.Rmdir(ctx, scope, s.target("f", rootio.Existing)); return err }, "tool.failed.not_directory"},
		{"rmdir of a filled directory", func(s *session) error { _, err := s.Rmdir(ctx, scope, s.target("d", rootio.Existing)); return err }, "tool.arguments_invalid.directory_not_empty"},
		{"rmdir of the root", func(s *session) error { _, err := s.Rmdir(ctx, scope, s.target("", rootio.Existing)); return err }, "tool.failed.access"},
		{"read-only file", func(s *session) error { _, err := s.overwrite("d/ro", "x"); return err }, "tool.failed.access"},
		{"cancelled", func(s *session) error {
			_, err := s.Overwrite(cancelled, scope, s.target("f", rootio.MayCreate), "x", "")
			return err
		}, "agent.cancelled"},
		{"replaced after it was resolved", func(s *session) error {
			f := s.target("d/swap", rootio.MayCreate)
			must(s.t, os.WriteFile(s.w+"/d/swap2", []byte("swap"), 0o644))
			must(s.t, os.Rename(s.w+"/d/swap2", s.w+"/d/swap"))
			_, err := s.Overwrite(ctx, scope, f, "x", "")
			return err
		}, "tool.failed.swapped"},
		{"made after it was resolved", func(s *session) error {
			f := s.target("late", rootio.MayCreate)
			must(s.t, os.Symlink("f", s.w+"/late"))
			defer os.Remove(s.w + "/late")
			_, err := s.Overwrite(ctx, scope, f, "x", "")
			return err
		}, "tool.failed.target_exists"},
	} {
		l := newLab(t)
		shm(l)
		l.put("f", "foo\n", 0o644)
		l.put("g.json", "{}\n", 0o644)
		l.put("latin", "\xe9\n", 0o644)
		must(t, os.Mkdir(l.w+"/d", 0o755))
		l.put("d/ro", "ro", 0o444)
		l.put("d/swap", "swap", 0o644)
		before := l.tree()
		if err := c.do(l.on(fileop.OS())); word(err) != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if diff := cmp.Diff(before, l.tree()); diff != "" || len(l.leftovers()) > 0 || len(l.audit.events) > 0 {
			t.Errorf("%s: left over %q, events %v, tree (-before +after):\n%s", c.name, l.leftovers(), l.audit.events, diff)
		}
	}
}

// proves A-TX-02
func TestInvalidFilesMayStayInvalid(t *testing.T) {
	l := newLab(t)
	l.put("c.json", "// a comment\n{}\n", 0o644)
	s := l.on(fileop.OS())
	for _, name := range []string{"c.json", "new.json"} {
		if _, err := s.overwrite(name, "// another\n{}\n"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file above the limit is kept in the instance's directory, not in memory, and comes back byte for byte.
//
// proves A-TX-02
func TestLargeFileIsBackedUpOnDisk(t *testing.T) {
	l := newLab(t)
	l.limit = 10
	big := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB
	l.put("f", big, 0o604)
	seen := ""
	s := l.on(fileop.OS())
	s.Manager.deps.Audit = auditor(func() error {
		seen = strings.Join(l.leftovers(), " ")
		return os.ErrInvalid
	})
	if _, err := s.overwrite("f", "small"); err == nil {
		t.Fatal("no error")
	}
	if !strings.Contains(seen, ".files.json") || !strings.Contains(seen, suffix) {
		t.Errorf("while open the instance held %q; want record and backup", seen)
	}
	if l.tree() != "f -rw----r-- "+big || len(l.leftovers()) > 0 {
		t.Errorf("not restored, left over %q", l.leftovers())
	}
}

type auditor func() error

func (a auditor) Write(audit.Event) error { return a() }
