package rootio

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
)

// proves A-POL-02, A-TOOL-02, A-SBX-01
func TestResolve(t *testing.T) {
	v := newWorld(t)
	must(t, os.Mkdir(v.dir+"/w-evil", 0o755))
	must(t, os.WriteFile(v.dir+"/w-evil/s", []byte(secret), 0o644))
	must(t, os.Mkdir(v.w+"/nested", 0o755))
	must(t, os.WriteFile(v.w+"/nested/f", nil, 0o644))
	must(t, syscall.Mkfifo(v.w+"/fifo", 0o644))
	must(t, os.WriteFile(v.dir+"/entry", nil, 0o755))
	for name, to := range map[string]string{
		"rel": "d/f", "dirlink": "d", "abs": v.w + "/d/f", "up": "../r/f", "absother": v.r + "/f", "out": v.out + "/s", "outrel": "../out/s",
		"outdir": v.out, "dangling": "d/new", "danglingout": v.out + "/new", "x": "y", "y": "x", "self": "self", "tonested": "nested/f",
		"toentry": v.dir + "/entry", "tofifo": "fifo", "slash": "/", "through": "f/..", "above": "..", "empty": "d//./f", "d/back": "../f",
	} {
		must(t, os.Symlink(to, v.w+"/"+name))
	}
	for i := range 42 {
		to := fmt.Sprintf("c%d", i+1)
		if i == 41 {
			to = "f"
		}
		must(t, os.Symlink(to, fmt.Sprintf("%s/c%d", v.w, i)))
	}
	s := newSet(t, append(v.roots(t), root(t, v.w+"/nested", rwdx, sandbox.OriginWorkspace), root(t, v.dir+"/entry", sandbox.Read|sandbox.Execute, sandbox.OriginApprovedEntry))...)

	deep := strings.Repeat("/d", 300)
	for _, c := range []struct {
		path string
		want Want
		got  string // resolved path below v.dir, or the error
	}{
		{"/w/f", Existing, "/w/f"},
		{"/w", Existing, "/w"},
		{"/w/", Existing, "/w"},
		{"/w/d/", Existing, "/w/d"},
		{"/w/f/", Existing, "not a directory"},
		{"/w/f/.", Existing, "not a directory"},
		{"/w/f/x", Existing, "not a directory"},
		{"/w//d/.//f", Existing, "/w/d/f"},
		{"/w/d/../f", Existing, "/w/f"},
		{"/w/missing/../f", Existing, "missing"},
		{"/w/../w/f", Existing, "/w/f"},
		{"/w/../r/f", Existing, "/r/f"},
		{"/w/../../../../../../../../.." + v.w + "/f", Existing, "/w/f"},
		{"/w/../out/s", Existing, "outside_roots"},
		{"/w/..", Existing, "outside_roots"},
		{"/out/s", Existing, "outside_roots"},
		{"/out/no-such-file", Existing, "outside_roots"},
		{"/out/new", MayCreate, "outside_roots"},
		{"", Existing, "outside_roots"},
		{"/w-evil/s", Existing, "outside_roots"},
		{"/w/rel", Existing, "/w/d/f"},
		{"/w/dirlink/f", Existing, "/w/d/f"},
		{"/w/dirlink/..", Existing, "/w"},
		{"/w/d/back", Existing, "/w/f"},
		{"/w/abs", Existing, "/w/d/f"},
		{"/w/up", Existing, "/r/f"},
		{"/w/absother", Existing, "/r/f"},
		{"/w/empty", Existing, "/w/d/f"},
		{"/w/out", Existing, "outside_roots"},
		{"/w/outrel", Existing, "outside_roots"},
		{"/w/outdir/s", Existing, "outside_roots"},
		{"/w/outdir/new", MayCreate, "outside_roots"},
		{"/w/slash", Existing, "outside_roots"},
		{"/w/slash" + v.w + "/f", Existing, "/w/f"},
		{"/w/above/w/f", Existing, "/w/f"},
		{"/w/above/out/s", Existing, "outside_roots"},
		{"/w/through", Existing, "not a directory"},
		{"/w/dangling", Existing, "missing"},
		{"/w/dangling", MayCreate, "/w/d/new"},
		{"/w/danglingout", MayCreate, "outside_roots"},
		{"/w/x", Existing, "link_cycle"},
		{"/w/self/f", Existing, "link_cycle"},
		{"/w/c2", Existing, "/w/f"},
		{"/w/c1", Existing, "link_cycle"},
		{"/w/fifo", Existing, "special_file"},
		{"/w/tofifo", Existing, "special_file"},
		{"/w/nested/f", Existing, "/w/nested/f"},
		{"/w/tonested", Existing, "/w/nested/f"},
		{"/w/nested/../f", Existing, "/w/f"},
		{"/entry", Existing, "/entry"},
		{"/w/toentry", Existing, "/entry"},
		{"/entry/x", Existing, "not a directory"},
		{"/w/no", Existing, "missing"},
		{"/w/no", MayCreate, "/w/no"},
		{"/w/no/", MayCreate, "/w/no"},
		{"/w/no/no", MayCreate, "missing"},
		{"/w/no/a/./b", MayCreateParents, "/w/no/a/b"},
		{"/w/no/../b", MayCreateParents, "missing"},
		{"/w/a\x00b", MayCreate, "invalid"},
		{"/w/" + strings.Repeat("n", 256), MayCreate, "too long"},
		{"/w" + strings.Repeat("/x", 3000), MayCreateParents, "invalid"},
		{"/w" + deep, Existing, "missing"},
	} {
		path, problem := resolve(t, s, v.dir+c.path, c.want)
		got := problem
		if problem == "" {
			got = strings.TrimPrefix(path, v.dir)
		}
		if got != c.got {
			t.Errorf("Resolve(%q, %d) = %q, want %q", c.path, c.want, got, c.got)
		}
	}
	if _, problem := resolve(t, s, "w/f", Existing); problem != "invalid" {
		t.Errorf("a relative path: %q", problem)
	}
	target, err := s.Resolve(v.w+"/tonested", Existing)
	must(t, err)
	defer target.Close()
	if target.Root().Path != v.w+"/nested" {
		t.Errorf("root of a file in a nested root = %s, want the nested one", target.Root().Path)
	}
}

// proves A-POL-02, A-POL-14
func TestMountPointsAndProcessLinks(t *testing.T) {
	slash := root(t, "/", sandbox.Read, sandbox.OriginMount)
	outer := newSet(t, slash)
	if _, got := resolve(t, outer, "/proc/version", Existing); got != "mount_point" {
		t.Errorf("a mount point below a root: %q, want mount_point", got)
	}
	both := newSet(t, slash, root(t, "/proc", sandbox.Read, sandbox.OriginMount))
	target, err := both.Resolve("/proc/version", Existing)
	must(t, err)
	defer target.Close()
	if target.Root().Path != "/proc" {
		t.Errorf("a mount point that is a root itself belongs to root %s", target.Root().Path)
	}
	if _, got := resolve(t, both, "/proc/thread-self/root/etc/passwd", Existing); got != "magic_link" {
		t.Errorf("a process file system's link: %q, want magic_link", got)
	}
}

// proves A-POL-02, A-POL-14
func TestRootsAreVerified(t *testing.T) {
	v := newWorld(t)
	roots := v.roots(t)
	must(t, os.Rename(v.w, v.dir+"/old"))
	must(t, os.Mkdir(v.w, 0o755))
	if _, err := NewSet(fileop.OS(), roots, nil); word(err) != "sandbox.resolution_changed" {
		t.Errorf("a replaced root: %v", err)
	}
	must(t, os.Remove(v.w))
	must(t, os.Symlink("old", v.w))
	if _, err := NewSet(fileop.OS(), roots, nil); word(err) != "sandbox.resolution_changed" {
		t.Errorf("a root replaced by a link to itself: %v", err)
	}
	must(t, os.Symlink(".", v.dir+"/l"))
	if _, err := Open(v.dir+"/l/r", roots[1].ID); word(err) != "sandbox.resolution_changed" {
		t.Errorf("a root through a link: %v", err)
	}
	if _, err := Open(v.dir+"/out/../r", roots[1].ID); word(err) != "sandbox.resolution_changed" {
		t.Errorf("a root whose path is not clean: %v", err)
	}
	if _, err := Open(v.dir+"/gone", roots[1].ID); word(err) != "sandbox.resolution_changed" {
		t.Errorf("a missing root: %v", err)
	}
	file := roots[1]
	file.File = true
	if _, err := NewSet(fileop.OS(), []sandbox.Root{file}, nil); word(err) != "sandbox.resolution_changed" {
		t.Errorf("a directory where a file was: %v", err)
	}
}

// proves A-POL-02, A-POL-03
func TestNestedRootReplaced(t *testing.T) {
	v := newWorld(t)
	s := newSet(t, append(v.roots(t), root(t, v.w+"/d", rwdx, sandbox.OriginRuntimeRoot))...)
	must(t, os.Rename(v.w+"/d", v.w+"/moved"))
	for _, want := range []Want{Existing, MayCreate, MayCreateParents} {
		if _, got := resolve(t, s, v.w+"/d/f", want); got != "sandbox.resolution_changed" {
			t.Errorf("below a nested root that is gone: %q", got)
		}
	}
	must(t, os.MkdirAll(v.w+"/p/q", 0o755))
	deep := newSet(t, append(v.roots(t), root(t, v.w+"/p/q", rwdx, sandbox.OriginRuntimeRoot))...)
	must(t, os.Rename(v.w+"/p", v.w+"/moved2"))
	if _, got := resolve(t, deep, v.w+"/p/q/new", MayCreateParents); got != "sandbox.resolution_changed" {
		t.Errorf("making a nested root that is gone: %q", got)
	}
	must(t, os.Symlink(v.out, v.w+"/d"))
	if _, got := resolve(t, s, v.w+"/d/s", Existing); got != "sandbox.resolution_changed" {
		t.Errorf("below a nested root replaced by a link: %q", got)
	}
}

// proves A-POL-02
func TestSystemLinksLeadIntoTheRuntimeRoot(t *testing.T) {
	usr := root(t, "/usr", sandbox.Read|sandbox.Execute, sandbox.OriginOSRuntimeRoot)
	s := newSet(t, usr)
	st, err := os.Lstat("/bin")
	must(t, err)
	path, problem := resolve(t, s, "/bin/ls", Existing)
	switch {
	case st.Mode()&os.ModeSymlink != 0 && (problem != "" || !strings.HasPrefix(path, "/usr/")):
		t.Errorf("Resolve(/bin/ls) = %q, %q; want it below /usr", path, problem)
	case st.IsDir() && problem != "outside_roots":
		t.Errorf("Resolve(/bin/ls) = %q, %q; want outside_roots where /bin is a directory of its own", path, problem)
	}
	if _, got := resolve(t, s, "/etc/passwd", Existing); got != "outside_roots" {
		t.Errorf("/etc/passwd: %q", got)
	}
}

// proves A-POL-02
func TestEntryInsideAWorkspaceIsCoveredByIt(t *testing.T) {
	v := newWorld(t)
	s := newSet(t, append(v.roots(t), root(t, v.w+"/f", rwdx, sandbox.OriginApprovedEntry))...)
	must(t, os.WriteFile(v.w+"/f.new", []byte("other"), 0o755))
	must(t, os.Rename(v.w+"/f.new", v.w+"/f"))
	if _, got := resolve(t, s, v.w+"/f", Existing); got != "" {
		t.Errorf("a replaced entry inside a workspace that may write it: %q", got)
	}
}

// FuzzResolve: whatever the path, the object held lies inside a root, and the path told is that object's.
func FuzzResolve(f *testing.F) {
	v := newWorld(f)
	for name, to := range map[string]string{"l": "d", "o": v.out, "u": "..", "s": "/", "c": "c"} {
		must(f, os.Symlink(to, v.w+"/"+name))
	}
	must(f, os.Symlink(v.dir+"/k/../w/d", v.w+"/k"))
	s := newLinkedSet(f, []sandbox.Link{{Path: v.dir + "/k", Target: v.r}}, v.roots(f)...)
	for _, p := range []string{"f", "l/f", "o/s", "u/r/f", "u/out/s", "s/etc/passwd", "c", "d/../../out/s", "\x00", "u/w/u/w/l/.//f", "d/x/y", "k/f", "../k/f", "u/k/../k/f"} {
		f.Add(p, byte(0))
		f.Add(p, byte(2))
	}
	f.Fuzz(func(t *testing.T, tail string, want byte) {
		target, err := s.Resolve(v.w+"/"+tail, Want(want%3))
		if err != nil {
			return
		}
		defer target.Close()
		if p := target.Path(); p != filepath.Clean(p) || !within(v.w, p) && !within(v.r, p) {
			t.Fatalf("resolved to %q", p)
		}
		held := target.object
		if held == nil {
			held = target.parent
		}
		real, err := os.Readlink(selfPath(held))
		must(t, err)
		if !within(v.w, real) && !within(v.r, real) {
			t.Fatalf("%q holds %q", tail, real)
		}
	})
}
