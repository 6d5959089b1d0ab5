package rootio

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
)

// swapping exchanges the names of each pair, as fast as it can, until stop, which waits for it.
func swapping(t *testing.T, pairs ...[2]string) (stop func()) {
	end := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
			}
			for _, p := range pairs {
				if err := unix.Renameat2(unix.AT_FDCWD, p[0], unix.AT_FDCWD, p[1], unix.RENAME_EXCHANGE); err != nil {
					t.Errorf("exchanging %q: %v", p, err)
					return
				}
			}
		}
	})
	return func() { close(end); swapper.Wait() }
}

// A second program swaps a directory of the workspace with a link to the secret's directory, as fast as it can, while
// files are read, listed and written below that name. Control: a check on the path followed by a use of the path lets
// the secret out in the same race.
//
// proves A-POL-02, A-TOOL-02, A-TOOL-06
func TestSwappedLinkRace(t *testing.T) {
	v := newWorld(t)
	must(t, os.WriteFile(v.w+"/d/s", []byte("harmless\n"), 0o644))
	must(t, os.Symlink(v.out, v.w+"/l"))
	s := newSet(t, v.roots(t)...)
	stop := swapping(t, [2]string{v.w + "/d", v.w + "/l"})
	var read, refused, leaks, control, made int
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); {
		target, err := s.Resolve(v.w+"/d/s", Existing)
		switch {
		case err == nil:
			read++
			if !bytes.Equal([]byte(content(t, target)), []byte("harmless\n")) {
				leaks++
			}
			target.Close()
		case errors.Is(err, fault.New(fault.PolicyDenied)):
			refused++
		default:
			t.Fatal(err)
		}
		if target, err := s.Resolve(v.w+"/d", Existing); err == nil {
			list, _, err := target.List(10)
			must(t, err)
			if len(list) != 2 {
				t.Fatalf("listed %v", list)
			}
			target.Close()
		}
		if target, err := s.Resolve(v.w+"/d/new", MayCreate); err == nil {
			if f, err := target.CreateBeside("new"); err == nil {
				f.Close()
				must(t, target.Discard("new"))
				made++
			}
			target.Close()
		}
		if st, err := os.Lstat(v.w + "/d"); err == nil && st.IsDir() { // the careless way
			if b, err := os.ReadFile(v.w + "/d/s"); err == nil && string(b) == secret {
				control++
			}
		}
	}
	stop()
	if leaks != 0 {
		t.Errorf("the secret was read %d times", leaks)
	}
	if got := entries(t, v.out); got != "s" {
		t.Errorf("outside now holds %q", got)
	}
	if control == 0 || read == 0 || refused == 0 || made == 0 {
		t.Errorf("the race did not happen: control %d, read %d, refused %d, created %d", control, read, refused, made)
	}
	t.Logf("read %d, refused %d, created %d, careless leaks %d", read, refused, made, control)
}

// Somebody on the host exchanges a directory with a link and a file while the tree is walked, as a sweep at the end of a task does: the walk goes on with
// what the name has become, and says Leave for every directory that it entered.
//
// proves A-POL-13
func TestWalkOfNamesThatChange(t *testing.T) {
	v := newWorld(t)
	must(t, os.WriteFile(v.w+"/d/s", []byte("x"), 0o644))
	must(t, os.Symlink(v.out, v.w+"/l"))
	must(t, os.WriteFile(v.w+"/file", []byte("x"), 0o644))
	must(t, os.Mkdir(v.w+"/z", 0o755))
	stop := swapping(t, [2]string{v.w + "/d", v.w + "/l"}, [2]string{v.w + "/z", v.w + "/file"})
	root, err := Exact(v.w)
	must(t, err)
	defer root.Close()
	var seen counting
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); {
		if err := root.Walk(t.Context(), &seen); err != nil {
			t.Fatalf("after %d names: %v", seen.visited, err)
		}
		if seen.deep != 0 {
			t.Fatalf("%d directories were entered and not left", seen.deep)
		}
	}
	stop()
	if seen.links == 0 || seen.entered == 0 || seen.left != seen.entered {
		t.Errorf("%+v", seen)
	}
}

// Right between the look at a name and its opening the name becomes another object: the walk visits what it has become, if
// anything, and goes on.
//
// proves A-POL-13
func TestANameBecomesAnotherObjectDuringAWalk(t *testing.T) {
	for name, tt := range map[string]struct {
		become func(v world)
		want   []string
	}{
		"nothing":           {func(world) {}, []string{"/d directory", "/d/f file", "/d left"}},
		"gone":              {func(world) {}, []string{"/d directory", "/d left"}},
		"a file":            {func(v world) { must(t, os.WriteFile(v.w+"/d", nil, 0o644)) }, []string{"/d directory", "/d left", "/d file"}},
		"a link":            {func(v world) { must(t, os.Symlink(v.out, v.w+"/d")) }, []string{"/d directory", "/d left", "/d link"}},
		"a dangling link":   {func(v world) { must(t, os.Symlink("none", v.w+"/d")) }, []string{"/d directory", "/d left", "/d link"}},
		"a pipe":            {func(v world) { must(t, unix.Mkfifo(v.w+"/d", 0o644)) }, []string{"/d directory", "/d left", "/d other"}},
		"another directory": {func(v world) { must(t, os.Mkdir(v.w+"/d", 0o755)) }, []string{"/d directory", "/d left"}},
	} {
		v := newWorld(t)
		root, err := Exact(v.w)
		must(t, err)
		defer root.Close()
		w := &becoming{root: v.w}
		if name != "nothing" {
			w.once = func() { must(t, os.Rename(v.w+"/d", v.dir+"/away")); tt.become(v) }
		}
		must(t, root.Walk(t.Context(), w))
		if want := append(tt.want, "/f file"); !slices.Equal(w.told, want) {
			t.Errorf("%s: %q, want %q", name, w.told, want)
		}
	}
}

// becoming is a Walker that enters everything, and on whose first visit something happens.
type becoming struct {
	counting
	root string
	once func()
	told []string
}

func (b *becoming) Visit(v *Visit) (bool, error) {
	kind := "other"
	switch {
	case v.Link:
		kind = "link"
	case v.Info.Kind == Dir:
		kind = "directory"
	case v.Info.Kind == File:
		kind = "file"
	}
	b.told = append(b.told, v.Path[len(b.root):]+" "+kind)
	if once := b.once; once != nil {
		b.once = nil
		once()
	}
	return b.counting.Visit(v)
}

func (b *becoming) Leave(path string) error {
	b.told = append(b.told, path[len(b.root):]+" left")
	return b.counting.Leave(path)
}

// counting is a Walker that enters everything.
type counting struct{ visited, links, entered, left, deep int }

func (c *counting) Visit(v *Visit) (bool, error) {
	c.visited++
	if v.Link {
		c.links++
	}
	if v.Info.Kind != Dir {
		return false, nil
	}
	c.entered++
	c.deep++
	return true, nil
}

func (c *counting) Leave(string) error { c.left++; c.deep--; return nil }

func (c *counting) Unreadable(*Visit, error) (func() (func() error, error), error) {
	return nil, errors.New("unreadable")
}
