//go:build linux

package mounts

import (
	"errors"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/opcode/opcodetest"
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
		fd, err := placed(root, c.path, c.file, c.create)
		if (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
		unix.Close(fd)
	}
	// The last element may be a link for a file: what is opened then is the link itself, which is no mount point.
	fd, err := placed(root, "/dangling", true, true)
	if err == nil {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
			t.Errorf("opened something behind the link: %v", err)
		}
		unix.Close(fd)
	}
	if left, err := os.ReadDir(dir + "/outside"); err != nil || len(left) != 0 {
		t.Errorf("made outside: %v %v", left, err)
	}
}

// placed opens a mount point as PID 1 does, on this thread.
func placed(root *os.File, path string, file, create bool) (int, error) {
	b := &builder{Builder: &opcode.Builder{}}
	b.empty = b.Text("")
	b.For(wire.StageMount, path)
	b.root = b.Slot()
	b.Call(unix.SYS_FCNTL, opcode.Int(root.Fd()), opcode.Int(unix.F_DUPFD_CLOEXEC), opcode.Int(3)).Into(b.root)
	var at opcode.Ref
	if create {
		at = b.made(b.root, path, file)
	} else {
		_, at = b.place(b.root, path, file)
	}
	b.close(b.root)
	got, err := opcodetest.Run(b.Builder, strconv.Itoa, at)
	if err != nil {
		return -1, err
	}
	return got[0], nil
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
		for _, err := range []error{onlyError(OpenSource(path, c.id, c.file)), sourced(path, c.id, c.file)} {
			var stage *wire.Failed
			if !errors.As(err, &stage) || stage.Stage != wire.StageSource || stage.Target != path {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
	if err := sourced(path, id, false); err != nil {
		t.Error(err)
	}
}

func onlyError(f *os.File, err error) error {
	f.Close()
	return err
}

// sourced opens a source as PID 1 does.
func sourced(path string, id sandbox.FileID, file bool) error {
	b := &builder{Builder: &opcode.Builder{}}
	b.empty = b.Text("")
	b.close(b.source(wire.Bind{Source: path, ID: id, File: file}))
	_, err := opcodetest.Run(b.Builder, strconv.Itoa)
	return err
}
