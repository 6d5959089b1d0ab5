package rootio

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
)

const (
	rwdx   = sandbox.Read | sandbox.Write | sandbox.Delete | sandbox.Execute
	secret = "the secret\n"
)

// world is a temporary directory with a workspace w, a read-only root r, and a directory outside that holds the secret.
type world struct{ dir, w, r, out string }

func newWorld(t testing.TB) world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	v := world{dir, dir + "/w", dir + "/r", dir + "/out"}
	for _, d := range []string{v.w, v.r, v.out, v.w + "/d"} {
		must(t, os.Mkdir(d, 0o755))
	}
	must(t, os.WriteFile(v.w+"/f", []byte("inside\n"), 0o644))
	must(t, os.WriteFile(v.w+"/d/f", []byte("deeper\n"), 0o644))
	must(t, os.WriteFile(v.r+"/f", []byte("readable\n"), 0o644))
	must(t, os.WriteFile(v.out+"/s", []byte(secret), 0o644))
	return v
}

func (v world) roots(t testing.TB) []sandbox.Root {
	return []sandbox.Root{root(t, v.w, rwdx, sandbox.OriginWorkspace), root(t, v.r, sandbox.Read, sandbox.OriginMount)}
}

func root(t testing.TB, path string, rights sandbox.Rights, origin sandbox.Origin) sandbox.Root {
	t.Helper()
	st, err := os.Lstat(path)
	must(t, err)
	s := st.Sys().(*syscall.Stat_t)
	return sandbox.Root{Path: path, File: st.Mode().IsRegular(), Rights: rights, Origins: []sandbox.Origin{origin}, ID: sandbox.FileID{Dev: s.Dev, Ino: s.Ino}}
}

func newSet(t testing.TB, roots ...sandbox.Root) *Set { return newLinkedSet(t, nil, roots...) }

func newLinkedSet(t testing.TB, links []sandbox.Link, roots ...sandbox.Root) *Set {
	t.Helper()
	s, err := NewSet(fileop.OS(), roots, links)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// resolve returns the resolved path, or the error as a short word.
func resolve(t testing.TB, s *Set, path string, want Want) (string, string) {
	t.Helper()
	target, err := s.Resolve(path, want)
	if err != nil {
		return "", word(err)
	}
	defer target.Close()
	if target.object != nil {
		real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(target.object.Fd())))
		must(t, err)
		if real != target.Path() {
			t.Errorf("Resolve(%q) says %q but holds %q", path, target.Path(), real)
		}
	}
	return target.Path(), ""
}

func word(err error) string {
	if err == nil {
		return "no error"
	}
	if f := fault.As(err); f != nil {
		if f.Variant != "" {
			return f.Variant
		}
		return string(f.Code)
	}
	for _, c := range []struct {
		err  error
		word string
	}{
		{syscall.ENOTEMPTY, "not empty"}, // before ErrExist, which it also is
		{fs.ErrNotExist, "missing"}, {fs.ErrExist, "exists"}, {syscall.ENOTDIR, "not a directory"}, {syscall.EINVAL, "invalid"}, {syscall.EBUSY, "busy"},
		{syscall.EACCES, "access"}, {syscall.EPERM, "not permitted"}, {ErrSwapped, "swapped"}, {ErrLink, "link"}, {syscall.ENAMETOOLONG, "too long"},
	} {
		if errors.Is(err, c.err) {
			return c.word
		}
	}
	return err.Error()
}

func content(t testing.TB, target *Target) string {
	t.Helper()
	f, err := target.OpenRead()
	must(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	must(t, err)
	return string(b)
}

func entries(t testing.TB, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}
