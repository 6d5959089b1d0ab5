package rootio

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"sekisho/internal/sandbox"
)

// Each restriction of openat2 by itself. The walk never asks for such names; what is opened by name elsewhere must not either.
//
// proves A-POL-02
func TestAChildIsBelowItsDirectory(t *testing.T) {
	v := newWorld(t)
	must(t, os.Symlink(v.dir, v.w+"/up"))
	dir, err := os.Open(v.w)
	must(t, err)
	defer dir.Close()
	for _, name := range []string{"..", "../out", "d/../..", "/", "/etc", "up", "up/out", "../" + v.w[1:]} {
		if f, info, err := openChild(dir, name, true); err == nil && info.Kind != link {
			f.Close()
			t.Errorf("%q leads out of its directory", name)
		} else {
			closeAll(f)
		}
		// The control: without the restriction the same name leads somewhere.
		if _, err := os.Stat(v.w + "/" + name); err != nil && name[0] != '/' && name != "../"+v.w[1:] {
			t.Errorf("the control: %v", err)
		}
	}
	f, info, err := openChild(dir, "f", false)
	must(t, err)
	defer f.Close()
	if info.Kind != File {
		t.Errorf("a file of the directory is %v", info.Kind)
	}
}

// What is opened below a directory for its names is a directory of the same mount.
//
// proves A-POL-02, A-POL-14
func TestADirectoryBelowIsOfTheSameMount(t *testing.T) {
	v := newWorld(t)
	must(t, os.Symlink("d", v.w+"/tod"))
	slash, err := os.Open("/")
	must(t, err)
	defer slash.Close()
	dir, err := os.Open(v.w)
	must(t, err)
	defer dir.Close()
	for name, want := range map[string]error{"d": nil, "tod": syscall.ENOTDIR, "f": syscall.ENOTDIR, "..": syscall.EXDEV, "../out": syscall.EXDEV} {
		f, err := openBelow(dir, name)
		closeAll(f)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	f, err := openBelow(slash, "proc")
	closeAll(f)
	if !errors.Is(err, syscall.EXDEV) {
		t.Errorf("another mount is entered: %v", err)
	}
	control, err := os.Open("/proc") // it is there
	must(t, err)
	closeAll(control)
}

// A link of a process file system is no path: it leads to whatever object the process has.
//
// proves A-POL-02
func TestMagicLinksAreNoPaths(t *testing.T) {
	v := newWorld(t)
	held, err := os.Open(v.out)
	must(t, err)
	defer held.Close()
	for _, name := range []string{selfPath(held), "/proc/self/cwd", "/proc/self/root", "/proc/self/root" + v.out, "/proc/thread-self/cwd"} {
		if _, err := os.Stat(name); err != nil {
			t.Fatalf("the control: %v", err)
		}
		if o, err := Follow(name); err == nil {
			o.Close()
			t.Errorf("Follow(%s) leads to %s", name, o.Path())
		}
		if r, err := Exact(name); err == nil {
			r.Close()
			t.Errorf("Exact opens %s", name)
		}
	}
	o, err := Follow(v.out)
	must(t, err)
	must(t, o.Close())
}

// proves A-POL-02: a link is no root, wherever it leads and whoever knows its identity.
func TestALinkIsNoRoot(t *testing.T) {
	v := newWorld(t)
	for _, to := range []string{v.w, ".", "nowhere"} {
		name := v.dir + "/link"
		must(t, os.Symlink(to, name))
		st, err := os.Lstat(name)
		must(t, err)
		sys := st.Sys().(*syscall.Stat_t)
		if r, err := Exact(name); word(err) != "sandbox.resolution_changed" {
			closeRoot(r)
			t.Errorf("Exact of a link to %s: %v", to, err)
		}
		id := sandbox.FileID{Dev: sys.Dev, Ino: sys.Ino}
		if r, err := Open(name, id); word(err) != "sandbox.resolution_changed" {
			closeRoot(r)
			t.Errorf("Open of a link to %s by its own identity: %v", to, err)
		}
		must(t, os.Remove(name))
	}
}

func closeRoot(r *Root) {
	if r != nil {
		r.Close()
	}
}
