package rootio

import (
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/sandbox"
)

func target(t *testing.T, s *Set, path string, want Want) *Target {
	t.Helper()
	got, err := s.Resolve(path, want)
	must(t, err)
	t.Cleanup(func() { got.Close() })
	return got
}

// proves A-TX-02, A-TOOL-03
func TestReplaceKeepsModeAndOwner(t *testing.T) {
	v := newWorld(t)
	must(t, os.Chmod(v.w+"/f", 0o751))
	s := newSet(t, v.roots(t)...)
	old := target(t, s, v.w+"/f", Existing)
	f, err := old.CreateBeside(".new")
	must(t, err)
	must(t, old.Write(f, []byte("replaced\n")))
	must(t, old.Finish(f, old.Info()))
	must(t, f.Close())
	must(t, old.Replace(".new"))
	must(t, old.SyncParent())
	now := target(t, s, v.w+"/f", Existing)
	if got := content(t, now); got != "replaced\n" {
		t.Errorf("content %q", got)
	}
	if now.Info().Mode != 0o751 || now.Info().UID != old.Info().UID {
		t.Errorf("mode %v owner %d, want those of the replaced file", now.Info().Mode, now.Info().UID)
	}
	if got := content(t, old); got != "inside\n" {
		t.Errorf("the held object changed: %q", got)
	}
	if got := entries(t, v.w); got != "d f" {
		t.Errorf("entries %q", got)
	}
}

// proves A-TOOL-03
func TestReplacedProgramRunsAsNobodyElse(t *testing.T) {
	v := newWorld(t)
	must(t, os.Chmod(v.w+"/f", fs.ModeSetuid|fs.ModeSetgid|0o755))
	s := newSet(t, v.roots(t)...)
	old := target(t, s, v.w+"/f", Existing)
	if want := fs.ModeSetuid | fs.ModeSetgid | 0o755; old.Info().Mode != want {
		t.Fatalf("control: mode %v, want %v", old.Info().Mode, want)
	}
	f, err := old.CreateBeside(".new")
	must(t, err)
	must(t, old.Finish(f, old.Info()))
	must(t, f.Close())
	must(t, old.Replace(".new"))
	st, err := os.Lstat(v.w + "/f")
	must(t, err)
	if st.Mode() != 0o755 {
		t.Errorf("the new content has mode %v", st.Mode())
	}
	now := target(t, s, v.w+"/f", Existing)
	f, err = now.CreateBeside(".old")
	must(t, err)
	defer f.Close()
	must(t, now.FinishOld(f, old.Info()))
	if st, err := f.Stat(); err != nil || st.Mode() != fs.ModeSetuid|fs.ModeSetgid|0o755 {
		t.Errorf("the old content came back with mode %v, %v", st.Mode(), err)
	}
}

// proves A-POL-02
func TestEffectsRefuseASwappedName(t *testing.T) {
	v := newWorld(t)
	s := newSet(t, v.roots(t)...)
	file, dir := target(t, s, v.w+"/f", Existing), target(t, s, v.w+"/d", Existing)
	dst := target(t, s, v.w+"/dst", MayCreate)
	fresh := target(t, s, v.w+"/fresh", MayCreate)
	must(t, os.Remove(v.w+"/f"))
	must(t, os.Symlink(v.out+"/s", v.w+"/f"))
	must(t, os.Rename(v.w+"/d", v.w+"/d2"))
	must(t, os.Mkdir(v.w+"/d", 0o755))
	must(t, os.Symlink(v.out+"/made", v.w+"/fresh"))
	f, err := file.CreateBeside(".new")
	must(t, err)
	must(t, f.Close())
	_, mkdir := fresh.Mkdir(Info{})
	got := map[string]string{
		"replace": word(file.Replace(".new")), "unlink": word(file.Unlink()), "move": word(file.MoveTo(dst)),
		"rmdir": word(dir.Rmdir()), "publish": word(fresh.Publish(".new")), "mkdir": word(mkdir),
	}
	want := map[string]string{"replace": "swapped", "unlink": "swapped", "move": "swapped", "rmdir": "swapped", "publish": "exists", "mkdir": "exists"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if b, err := os.ReadFile(v.out + "/s"); err != nil || string(b) != secret {
		t.Errorf("the secret's file: %q, %v", b, err)
	}
	if got := entries(t, v.out); got != "s" {
		t.Errorf("outside now holds %q", got)
	}
}

// proves A-TOOL-03, A-TX-03
func TestMoveRefusesAnExistingTargetAndAnotherVolume(t *testing.T) {
	v := newWorld(t)
	shm, err := os.MkdirTemp("/dev/shm", "")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(shm) })
	s := newSet(t, append(v.roots(t), root(t, shm, rwdx, sandbox.OriginWorkspace))...)
	from, to := target(t, s, v.w+"/f", Existing), target(t, s, v.w+"/d/g", MayCreate)
	far := target(t, s, shm+"/f", MayCreate)
	if err := from.MoveTo(far); !isErrno(err, syscall.EXDEV) {
		t.Errorf("across volumes: %v", err)
	}
	must(t, os.WriteFile(v.w+"/d/g", []byte("kept\n"), 0o644))
	if err := from.MoveTo(to); word(err) != "exists" {
		t.Errorf("onto an existing file: %v", err)
	}
	must(t, os.Remove(v.w+"/d/g"))
	must(t, from.MoveTo(to))
	if got := entries(t, v.w) + " / " + entries(t, v.w+"/d"); got != "d / f g" {
		t.Errorf("entries %q", got)
	}
}

func isErrno(err error, want syscall.Errno) bool {
	e, ok := err.(*fs.PathError)
	return ok && e.Err == want
}

// proves A-TOOL-06
func TestMkdirRmdirList(t *testing.T) {
	v := newWorld(t)
	s := newSet(t, v.roots(t)...)
	for t2 := target(t, s, v.w+"/a/b/c", MayCreateParents); len(t2.Missing()) > 0; {
		next, err := t2.Mkdir(Info{})
		must(t, err)
		t.Cleanup(func() { next.Close() })
		t2 = next
	}
	for _, d := range []string{"/a", "/a/b", "/a/b/c"} {
		st, err := os.Stat(v.w + d)
		must(t, err)
		if st.Mode() != fs.ModeDir|0o755 {
			t.Errorf("%s has mode %v", d, st.Mode())
		}
	}
	if err := target(t, s, v.w+"/a/b", Existing).Rmdir(); word(err) != "not empty" {
		t.Errorf("rmdir of a non-empty directory: %v", err)
	}
	must(t, target(t, s, v.w+"/a/b/c", Existing).Rmdir())
	if got := entries(t, v.w+"/a/b"); got != "" {
		t.Errorf("entries %q", got)
	}
	must(t, syscall.Mkfifo(v.w+"/pipe", 0o644))
	must(t, os.Symlink("f", v.w+"/z"))
	w := target(t, s, v.w, Existing)
	list, more, err := w.List(100)
	must(t, err)
	var got []string
	for _, e := range list {
		got = append(got, e.Name+":"+e.Type)
	}
	want := []string{"a:directory", "d:directory", "f:file", "pipe:special file", "z:link"}
	if diff := cmp.Diff(want, got); diff != "" || more {
		t.Errorf("List (-want +got), more %v:\n%s", more, diff)
	}
	if list, more, err := w.List(2); err != nil || len(list) != 2 || !more {
		t.Errorf("List(2) = %v, %v, %v", list, more, err)
	}
}

// proves A-TOOL-01, A-POL-02
func TestChildFollowsNoLink(t *testing.T) {
	v := newWorld(t)
	must(t, os.Symlink("f", v.w+"/l"))
	must(t, syscall.Mkfifo(v.w+"/pipe", 0o644))
	s := newSet(t, append(v.roots(t), root(t, v.w+"/d", rwdx, sandbox.OriginRuntimeRoot))...)
	w := target(t, s, v.w, Existing)
	got := map[string]string{}
	for _, name := range []string{"f", "d", "l", "pipe", "no", "..", ".", "", "d/f"} {
		c, err := w.Child(name)
		if err != nil {
			got[name] = word(err)
			continue
		}
		got[name] = c.Path() + " in " + c.Root().Path
		c.Close()
	}
	want := map[string]string{
		"f": v.w + "/f in " + v.w, "d": v.w + "/d in " + v.w + "/d", "l": "link", "pipe": "special_file", "no": "missing",
		"..": "invalid", ".": "invalid", "": "invalid", "d/f": "invalid",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// proves A-POL-02
func TestRootsThemselvesStay(t *testing.T) {
	v := newWorld(t)
	must(t, os.WriteFile(v.dir+"/entry", nil, 0o755))
	must(t, os.Mkdir(v.w+"/nested", 0o755))
	s := newSet(t, append(v.roots(t), root(t, v.w+"/nested", rwdx, sandbox.OriginWorkspace), root(t, v.dir+"/entry", sandbox.Read, sandbox.OriginApprovedEntry))...)
	dst := target(t, s, v.w+"/dst", MayCreate)
	for name, err := range map[string]error{
		"rmdir of a root":          target(t, s, v.w, Existing).Rmdir(),
		"rmdir of a nested root":   target(t, s, v.w+"/nested", Existing).Rmdir(),
		"unlink of an entry":       target(t, s, v.dir+"/entry", Existing).Unlink(),
		"move of an entry":         target(t, s, v.dir+"/entry", Existing).MoveTo(dst),
		"write check of an entry":  target(t, s, v.dir+"/entry", Existing).CheckWrite(),
		"write check of a new one": nil,
	} {
		if want := "busy"; err != nil && word(err) != want || err == nil && name != "write check of a new one" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := dst.CheckWrite(); err != nil {
		t.Errorf("write check of a new file: %v", err)
	}
}
