package statedir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"sekisho/internal/fileop"
)

// outside is what a removal must never touch: a directory with a file, next to the tree.
func outside(t interface{ Fatal(...any) }, dir string) (path string, check func() error) {
	path = filepath.Join(dir, "outside")
	if err := errors.Join(os.Mkdir(path, 0o755), os.WriteFile(filepath.Join(path, "kept"), []byte("kept"), 0o444)); err != nil {
		t.Fatal(err)
	}
	return path, func() error {
		data, err := os.ReadFile(filepath.Join(path, "kept"))
		if err == nil && string(data) != "kept" {
			err = fmt.Errorf("content is now %q", data)
		}
		if st, statErr := os.Stat(path); statErr == nil && st.Mode().Perm() != 0o755 {
			err = errors.Join(err, fmt.Errorf("mode is now %v", st.Mode()))
		}
		return err
	}
}

// proves A-TX-01, A-TX-05
func TestRemoveTreeTakesHostileContent(t *testing.T) {
	d := openState(t)
	i := newInstance(t, d)
	tree, err := i.MakeTree("temp", "task")
	if err != nil {
		t.Fatal(err)
	}
	out, check := outside(t, t.TempDir())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink(out, filepath.Join(tree, "link-to-directory")))
	must(os.Symlink(filepath.Join(out, "kept"), filepath.Join(tree, "link-to-file")))
	must(os.Symlink("link-to-directory/..", filepath.Join(tree, "link-chain")))
	must(os.Link(filepath.Join(out, "kept"), filepath.Join(tree, "hard-link")))
	must(unix.Mkfifo(filepath.Join(tree, "fifo"), 0o600))
	must(os.WriteFile(filepath.Join(tree, "new\nline\xff"), nil, 0))
	for n := range 3 * batch {
		must(os.WriteFile(filepath.Join(tree, fmt.Sprint("many-", n)), nil, 0o600))
	}
	must(os.MkdirAll(filepath.Join(tree, "closed", "inner", "more"), 0o700))
	must(os.Symlink(out, filepath.Join(tree, "closed", "inner", "more", "link")))
	must(os.Chmod(filepath.Join(tree, "closed", "inner"), 0))
	must(os.Chmod(filepath.Join(tree, "closed"), 0))
	deep(t, tree, 3000, out)
	must(os.Chmod(tree, 0))

	must(i.RemoveTree("temp", "task"))
	if _, err := os.Lstat(tree); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the tree is still there: %v", err)
	}
	if err := check(); err != nil {
		t.Errorf("something outside was touched: %v", err)
	}
	must(i.RemoveTree("temp", "task"))
	must(i.RemoveTree("never", "existed"))
}

// deep nests directories far beyond PATH_MAX, with a link to out at the bottom.
func deep(t *testing.T, tree string, levels int, out string) {
	t.Helper()
	fd := nest(t, tree, "a-rather-long-name", levels)
	defer unix.Close(fd)
	if err := unix.Symlinkat(out, fd, "link"); err != nil {
		t.Fatal(err)
	}
}

// proves A-TX-01
func TestRemoveTreeRemovesAnyTree(t *testing.T) {
	base := t.TempDir()
	out, check := outside(t, base)
	d, err := Open(fileop.OS(), filepath.Join(base, "agent-mcp"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	i := newInstance(t, d)
	rapid.Check(t, func(r *rapid.T) {
		tree, err := i.MakeTree("temp", "task")
		if err != nil {
			r.Fatal(err)
		}
		dirs := []string{tree}
		for n := range rapid.IntRange(0, 30).Draw(r, "entries") {
			path := filepath.Join(rapid.SampledFrom(dirs).Draw(r, "parent"), fmt.Sprint(n))
			switch rapid.IntRange(0, 2).Draw(r, "kind") {
			case 0:
				dirs = append(dirs, path)
				err = os.Mkdir(path, 0o700)
			case 1:
				err = os.WriteFile(path, nil, 0)
			case 2:
				err = os.Symlink(rapid.SampledFrom([]string{out, "..", ".", tree}).Draw(r, "target"), path)
			}
			if err != nil {
				r.Fatal(err)
			}
		}
		for n := len(dirs) - 1; n >= 0; n-- {
			os.Chmod(dirs[n], os.FileMode(rapid.SampledFrom([]int{0, 0o300, 0o500, 0o700}).Draw(r, "mode")))
		}
		if err := i.RemoveTree("temp", "task"); err != nil {
			r.Fatal(err)
		}
		if err := check(); err != nil {
			r.Fatal(err)
		}
	})
}

// proves A-TX-01
func TestRemoveTreeRefusesAnythingElseInItsPlace(t *testing.T) {
	i := newInstance(t, openState(t))
	out, check := outside(t, t.TempDir())
	if _, err := i.MakeTree("temp"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, i.TreePath("temp", "task")); err != nil {
		t.Fatal(err)
	}
	if err := i.RemoveTree("temp", "task"); err != nil {
		t.Errorf("a link in the tree's place: %v", err)
	}
	if err := os.Remove(i.TreePath("temp")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, i.TreePath("temp")); err != nil {
		t.Fatal(err)
	}
	if err := i.RemoveTree("temp", "kept"); err == nil {
		t.Error("a link in a parent's place was followed")
	}
	for _, name := range []string{"..", ".", "a/b", ""} {
		if err := i.RemoveTree(name); err == nil {
			t.Errorf("RemoveTree(%q) was accepted", name)
		}
		if err := i.RemoveTree(name, "x"); err == nil {
			t.Errorf("RemoveTree(%q, x) was accepted", name)
		}
	}
	if err := check(); err != nil {
		t.Errorf("something outside was touched: %v", err)
	}
}

// TestRemoveTreeAsAnotherUserAndAcrossMounts runs removeAsOther in a process of its own: modes mean something there
// although this test may run as root, and a mount can be made without touching the machine's.
// proves A-TX-01
func TestRemoveTreeAsAnotherUserAndAcrossMounts(t *testing.T) {
	for _, role := range []string{"modes", "mount"} {
		base, err := os.MkdirTemp("", "statedir")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(base) })
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "STATEDIR_ROLE=remove", "STATEDIR_CASE="+role, "STATEDIR_ROOT="+filepath.Join(base, "agent-mcp"))
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		if role == "mount" {
			cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		} else if os.Getuid() == 0 {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 54321, Gid: 54321}
			if err := os.Chown(base, 54321, 54321); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "ok" {
			t.Errorf("%s: %v\n%s", role, err, out)
		}
	}
}

func removeAsOther() {
	fail := func(err error) {
		if err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
	}
	d, err := Open(fileop.OS(), os.Getenv("STATEDIR_ROOT"))
	fail(err)
	i, err := d.NewInstance(context.Background())
	fail(err)
	tree, err := i.MakeTree("temp", "task")
	fail(err)
	inner := filepath.Join(tree, "a", "b", "c")
	fail(os.MkdirAll(inner, 0o700))
	fail(os.WriteFile(filepath.Join(inner, "f"), nil, 0))
	if os.Getenv("STATEDIR_CASE") == "mount" {
		kept := filepath.Join(d.Path(), "kept")
		fail(os.Mkdir(kept, 0o700))
		fail(os.WriteFile(filepath.Join(kept, "f"), nil, 0o600))
		fail(unix.Mount(kept, inner, "", unix.MS_BIND, ""))
		if err := i.RemoveTree("temp", "task"); err == nil || !strings.Contains(err.Error(), "mount") {
			fail(fmt.Errorf("a mount inside the tree: error %v", err))
		}
		if _, err := os.Stat(filepath.Join(kept, "f")); err != nil {
			fail(fmt.Errorf("the mounted directory was emptied: %w", err))
		}
		fail(nil)
	} else {
		for _, p := range []string{inner, filepath.Dir(inner), filepath.Dir(filepath.Dir(inner)), tree} {
			fail(os.Chmod(p, 0))
		}
		if _, err := os.ReadDir(tree); err == nil {
			fail(errors.New("the control failed: this user can read a 0000 directory"))
		}
		fail(i.RemoveTree("temp", "task"))
	}
	os.Stdout.WriteString("ok")
	os.Exit(0)
}
