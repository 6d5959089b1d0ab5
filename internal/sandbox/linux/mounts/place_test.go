//go:build linux

package mounts

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/wire"
)

// proves A-POL-02
func TestPlaceFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"/root", "/root/a", "/outside"} {
		if err := os.Mkdir(dir+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../outside", dir+"/root/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../outside/file", dir+"/root/dangling"); err != nil {
		t.Fatal(err)
	}
	root, err := os.Open(dir + "/root")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, c := range []struct {
		path         string
		file, create bool
		ok           bool
	}{
		{"/a", false, false, true},
		{"/", false, false, true},
		{"/a/b/c", false, false, false},
		{"/a/b/c", false, true, true},
		{"/a/b/f", true, true, true},
		{"/a/b/f", true, true, true},
		{"/link", false, true, false},
		{"/link/x", false, true, false},
		{"/link/x", true, true, false},
	} {
		f, err := place(root, c.path, c.file, c.create)
		if (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
		f.Close()
	}
	// The last element may be a link for a file: what is opened then is the link itself, which is no mount point.
	f, err := place(root, "/dangling", true, true)
	if err == nil {
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
			t.Errorf("opened something behind the link: %v", err)
		}
		f.Close()
	}
	if left, err := os.ReadDir(dir + "/outside"); err != nil || len(left) != 0 {
		t.Errorf("made outside: %v %v", left, err)
	}
}

// proves A-POL-02
func TestOpenSourceTakesTheCheckedObject(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/x"
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	id := sandbox.FileID{Dev: uint64(st.Dev), Ino: st.Ino}
	f, err := OpenSource(path, id, false)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for name, c := range map[string]struct {
		id   sandbox.FileID
		file bool
	}{
		"another object": {sandbox.FileID{Dev: id.Dev, Ino: id.Ino + 1}, false},
		"another kind":   {id, true},
		"another device": {sandbox.FileID{Dev: id.Dev + 1, Ino: id.Ino}, false},
	} {
		f, err := OpenSource(path, c.id, c.file)
		var stage *wire.Failed
		if !errors.As(err, &stage) || stage.Stage != wire.StageSource || stage.Target != path {
			t.Errorf("%s: got %v", name, err)
		}
		f.Close()
	}
}
