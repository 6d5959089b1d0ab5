package filetx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox/rootio"
	"sekisho/test/crashfs"
)

// A power failure keeps any change that was not flushed, or none: so each step must be on the device before the next one.
//
// proves A-TX-02, A-TX-03, A-TX-04
func TestEachStepIsFlushedBeforeTheNext(t *testing.T) {
	for _, sc := range scenarios() {
		t.Run(fmt.Sprintf("%s/%d", sc.name, sc.limit), func(t *testing.T) {
			l := sc.lab(t)
			fsys := crashfs.NewFlushed(fileop.OS(), func(problem string) { t.Error(problem) })
			must(t, sc.do(l.on(fsys)))
			if got := l.tree(); got != sc.new {
				t.Errorf("tree %q, want %q", got, sc.new)
			}
		})
	}
}

// lying is a file system that says of one kind of call that it was done, and does something else.
type lying struct {
	fileop.FS
	call string
	lies int
}

func (f *lying) lie(call string) bool {
	if call != f.call || f.lies == 0 {
		return false
	}
	f.lies--
	return true
}

func (f *lying) Write(file *os.File, p []byte) error {
	if f.lie("write") {
		p = append(p[:len(p):len(p)], "more"...)
	}
	return f.FS.Write(file, p)
}

func (f *lying) Rename(od *os.File, on string, nd *os.File, nn string, replace bool) error {
	if f.lie("rename") {
		return nil
	}
	return f.FS.Rename(od, on, nd, nn, replace)
}

func (f *lying) Unlink(d *os.File, n string) error {
	if f.lie("unlink") {
		return nil
	}
	return f.FS.Unlink(d, n)
}

func (f *lying) Rmdir(d *os.File, n string) error {
	if f.lie("rmdir") {
		return nil
	}
	return f.FS.Rmdir(d, n)
}

// What a change did is looked at, not believed: whatever the file system says, a change that is not there is an error, and the
// old state is left.
//
// proves A-TX-02, A-TX-03
func TestAChangeIsVerified(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name, call string
		do         func(*session) error
		want       error
	}{
		{"overwrite", "rename", func(s *session) error { _, err := s.overwrite("f", "new\n"); return err }, errReadBack},
		{"create", "rename", func(s *session) error { _, err := s.overwrite("g", "new\n"); return err }, errReadBack},
		{"other bytes", "write", func(s *session) error { _, err := s.overwrite("f", "new\n"); return err }, errReadBack},
		{"rename", "rename", func(s *session) error { _, err := s.rename("f", "g"); return err }, errStillThere},
		{"delete", "unlink", func(s *session) error {
			_, err := s.Delete(ctx, scope, s.target("f", rootio.Existing), "")
			return err
		}, errStillThere},
		{"rmdir", "rmdir", func(s *session) error {
			_, err := s.Rmdir(ctx, scope, s.target("d", rootio.Existing))
			return err
		}, errStillThere},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			l.limit = 1 << 20
			l.put("f", "old\n", 0o640)
			must(t, os.Mkdir(l.w+"/d", 0o755))
			old := l.tree()
			fsys := &lying{FS: fileop.OS(), call: c.call}
			s := l.on(&onlyBelow{FS: fileop.OS(), dir: l.w, inner: fsys})
			fsys.lies = 1
			if err := c.do(s); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if c.name == "other bytes" {
				old = "d/ -rwxr-xr-x\nf -rw-r----- new\nmore" // neither the old nor the new bytes: somebody's, for all that is known
			}
			if got := l.tree(); got != old {
				t.Errorf("left %q, want %q", got, old)
			}
		})
	}
}

// onlyBelow sends the calls in one directory to inner, all others to the embedded file system.
type onlyBelow struct {
	fileop.FS
	dir   string
	inner fileop.FS
}

func (f *onlyBelow) of(path string) fileop.FS {
	if len(path) >= len(f.dir) && path[:len(f.dir)] == f.dir {
		return f.inner
	}
	return f.FS
}

func (f *onlyBelow) Write(file *os.File, p []byte) error { return f.of(file.Name()).Write(file, p) }
func (f *onlyBelow) Rename(od *os.File, on string, nd *os.File, nn string, r bool) error {
	return f.of(nd.Name()).Rename(od, on, nd, nn, r)
}
func (f *onlyBelow) Unlink(d *os.File, n string) error { return f.of(d.Name()).Unlink(d, n) }
func (f *onlyBelow) Rmdir(d *os.File, n string) error  { return f.of(d.Name()).Rmdir(d, n) }

// swapping changes a file of the workspace when its backup is begun, and gives it its old size and time back.
type swapping struct {
	fileop.FS
	path string
	at   time.Time
	done bool
}

func (f *swapping) Create(d *os.File, n string, p os.FileMode) (*os.File, error) {
	file, err := f.FS.Create(d, n, p)
	if err == nil && !f.done && len(n) > len(suffix) && n[len(n)-len(suffix):] == suffix {
		f.done = true
		err = errors.Join(os.WriteFile(f.path, []byte("OLD\n"), 0), os.Chtimes(f.path, f.at, f.at))
	}
	return file, err
}

// proves A-TX-02: a backup that is not what was looked at restores nothing, so it is none.
func TestABackupIsWhatWasLookedAt(t *testing.T) {
	l := newLab(t)
	l.limit = 0
	l.put("f", "old\n", 0o640)
	st, err := os.Stat(l.w + "/f")
	must(t, err)
	s := l.on(&swapping{FS: fileop.OS(), path: l.w + "/f", at: st.ModTime()})
	if _, err := s.overwrite("f", "new\n"); !errors.Is(err, errChanged) {
		t.Errorf("error %v, want %v", err, errChanged)
	}
	if got := l.tree(); got != "f -rw-r----- OLD\n" {
		t.Errorf("left %q", got)
	}
}
