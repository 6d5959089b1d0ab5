package filetx

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
)

const task = "5f3c9a52-58c5-4d0a-93d9-5a0f3d3e7c11"

var scope = Scope{Session: "s", Task: task, PlannerTask: "p", CallID: "c"}

// lab is a workspace, an instance's directories, and a Manager over them.
type lab struct {
	t       testing.TB
	w       string
	roots   []sandbox.Root
	records *os.File
	temp    *os.File
	audit   *log
	limit   int64
}

// log is an Auditor in memory; it fails while broken is set.
type log struct {
	mu     sync.Mutex
	events []audit.Event
	broken error
}

func (l *log) Write(e audit.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	l.events = append(l.events, e)
	return nil
}

// newLab makes the lab in memory (/dev/shm), where a sync costs nothing.
func newLab(t testing.TB) *lab {
	t.Helper()
	base, err := os.MkdirTemp("/dev/shm", "filetx")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	l := &lab{t: t, w: base + "/w", audit: &log{}, limit: 1 << 20}
	for _, d := range []string{l.w, base + "/recovery", base + "/files"} {
		must(t, os.Mkdir(d, 0o755))
	}
	l.records, l.temp = open(t, base+"/recovery"), open(t, base+"/files")
	st, err := os.Stat(l.w)
	must(t, err)
	s := st.Sys().(*syscall.Stat_t)
	l.roots = []sandbox.Root{{Path: l.w, ID: sandbox.FileID{Dev: s.Dev, Ino: s.Ino}, Rights: 15, Origins: []sandbox.Origin{sandbox.OriginWorkspace}}}
	return l
}

func open(t testing.TB, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (l *lab) deps(fsys fileop.FS) Deps {
	return Deps{FS: fsys, Records: l.records, Temp: l.temp, Audit: l.audit, MemoryLimit: l.limit}
}

// on gives run a Manager and a resolver over fsys.
func (l *lab) on(fsys fileop.FS) *session {
	l.t.Helper()
	set, err := rootio.NewSet(fsys, l.roots)
	must(l.t, err)
	l.t.Cleanup(func() { set.Close() })
	return &session{lab: l, Manager: New(l.deps(fsys)), set: set}
}

type session struct {
	*lab
	*Manager
	set *rootio.Set
}

func (s *session) target(name string, want rootio.Want) *rootio.Target {
	s.t.Helper()
	t, err := s.set.Resolve(s.w+"/"+name, want)
	must(s.t, err)
	s.t.Cleanup(func() { t.Close() })
	return t
}

func (s *session) overwrite(name, content string) (Change, error) {
	return s.Overwrite(context.Background(), scope, s.target(name, rootio.MayCreate), content, "")
}

func (s *session) patch(name, patch string) (Change, error) {
	return s.Patch(context.Background(), scope, s.target(name, rootio.MayCreate), patch, "")
}

func (s *session) rename(from, to string) (Change, error) {
	return s.Rename(context.Background(), scope, s.target(from, rootio.Existing), s.target(to, rootio.MayCreate), "")
}

func (l *lab) put(name, content string, mode fs.FileMode) {
	l.t.Helper()
	must(l.t, os.WriteFile(l.w+"/"+name, []byte(content), 0o600))
	must(l.t, os.Chmod(l.w+"/"+name, mode))
}

// tree lists everything below the workspace as "name mode content", directories with a slash.
func (l *lab) tree() string {
	l.t.Helper()
	var out []string
	must(l.t, filepath.WalkDir(l.w, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == l.w {
			return err
		}
		name := strings.TrimPrefix(p, l.w+"/")
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			out = append(out, name+"/ "+info.Mode().Perm().String())
			return nil
		}
		b, err := os.ReadFile(p)
		out = append(out, name+" "+info.Mode().Perm().String()+" "+string(b))
		return err
	}))
	return strings.Join(out, "\n")
}

// leftovers lists what is in the instance's directories.
func (l *lab) leftovers() []string {
	l.t.Helper()
	var out []string
	for _, d := range []*os.File{l.records, l.temp} {
		list, err := os.ReadDir(d.Name())
		must(l.t, err)
		for _, e := range list {
			out = append(out, e.Name())
		}
	}
	return out
}

func word(err error) string {
	f := fault.As(err)
	switch {
	case err == nil:
		return ""
	case f == nil:
		return "no fault: " + err.Error()
	case f.Variant != "":
		return string(f.Code) + "." + f.Variant
	}
	return string(f.Code)
}

// failing performs every call but the at-th, which fails with err, and the more calls after it.
type failing struct {
	fileop.FS
	at, n, more int
	err         error
}

func (f *failing) fail() error {
	if f.n++; f.n >= f.at && f.n <= f.at+f.more {
		return f.err
	}
	return nil
}

// meddling runs another program's deed before the first call of one kind.
type meddling struct {
	fileop.FS
	create, mkdir func()
}

func (m *meddling) Create(d *os.File, n string, p fs.FileMode) (*os.File, error) {
	if m.create != nil && strings.HasSuffix(n, suffix) {
		m.create()
		m.create = nil
	}
	return m.FS.Create(d, n, p)
}

func (m *meddling) Mkdir(d *os.File, n string, p fs.FileMode) error {
	if m.mkdir != nil {
		m.mkdir()
		m.mkdir = nil
	}
	return m.FS.Mkdir(d, n, p)
}

func (f *failing) Create(d *os.File, n string, p fs.FileMode) (*os.File, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	return f.FS.Create(d, n, p)
}
func (f *failing) Write(file *os.File, p []byte) error {
	if err := f.fail(); err != nil {
		return errors.Join(f.FS.Write(file, p[:len(p)/2]), err)
	}
	return f.FS.Write(file, p)
}
func (f *failing) Chmod(file *os.File, p fs.FileMode) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.FS.Chmod(file, p)
}
func (f *failing) Sync(file *os.File) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.FS.Sync(file)
}
func (f *failing) Rename(od *os.File, on string, nd *os.File, nn string, r bool) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.FS.Rename(od, on, nd, nn, r)
}
func (f *failing) Unlink(d *os.File, n string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.FS.Unlink(d, n)
}
func (f *failing) Mkdir(d *os.File, n string, p fs.FileMode) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.FS.Mkdir(d, n, p)
}
func (f *failing) Rmdir(d *os.File, n string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.FS.Rmdir(d, n)
}
