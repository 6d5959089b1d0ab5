package rootio

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The permission bits hold for this server as they hold for the sandbox's processes, also when it runs as root.
//
// proves A-SBX-01, A-POL-02
func TestPermissionBitsHold(t *testing.T) {
	v := newWorld(t)
	must(t, os.Chmod(v.w+"/f", 0))
	must(t, os.Mkdir(v.w+"/closed", 0o755))
	must(t, os.WriteFile(v.w+"/closed/f", nil, 0o644))
	must(t, os.Chmod(v.w+"/closed", 0o400))
	must(t, os.Mkdir(v.w+"/locked", 0o755))
	must(t, os.WriteFile(v.w+"/locked/f", nil, 0o444))
	must(t, os.Chmod(v.w+"/locked", 0o555))
	t.Cleanup(func() { os.Chmod(v.w+"/closed", 0o755); os.Chmod(v.w+"/locked", 0o755) })
	s := newSet(t, v.roots(t)...)
	if _, err := target(t, s, v.w+"/f", Existing).OpenRead(); word(err) != "access" {
		t.Errorf("a file of mode 0: %v", err)
	}
	if _, got := resolve(t, s, v.w+"/closed/f", Existing); got != "access" {
		t.Errorf("below a directory that may not be searched: %q", got)
	}
	locked := target(t, s, v.w+"/locked/f", Existing)
	if err := locked.CheckWrite(); word(err) != "access" {
		t.Errorf("writing a file of mode 0444: %v", err)
	}
	if err := locked.Unlink(); word(err) != "access" {
		t.Errorf("unlink in a directory of mode 0555: %v", err)
	}
	if got := entries(t, v.w+"/locked"); got != "f" {
		t.Errorf("entries %q", got)
	}
}

func TestPermitted(t *testing.T) {
	who := owner{1000, 1000}
	for _, c := range []struct {
		uid, gid int
		mode     fs.FileMode
		want     fs.FileMode
		ok       bool
	}{
		{1000, 1000, 0o700, reading | writing | search, true},
		{1000, 5, 0o700, reading | search, true},
		{1000, 5, 0o700, writing, false},    // another group
		{5, 1000, 0o777, writing, false},    // another user
		{1000, 1000, 0o077, reading, false}, // the owner's class alone counts
		{0, 1000, 0o070, reading, true},
		{0, 1000, 0o707, reading, false},
		{0, 0, 0o004, reading, true},
		{0, 0, 0o004, writing, false},
		{0, 0, 0o770, search, false},
	} {
		err := permitted(Info{UID: c.uid, GID: c.gid, Mode: c.mode}, who, c.want)
		if (err == nil) != c.ok {
			t.Errorf("owner %d:%d mode %v want %v: %v", c.uid, c.gid, c.mode, c.want, err)
		}
	}
	if permitted(Info{UID: 0, Mode: 0o700}, nobody, reading) == nil {
		t.Error("an unmapped root opened a file of its owner")
	}
}

// As root, what another user owns can be read as its bits allow, and neither written nor removed, as on the sandbox's
// mounts. An ordinary user has nothing to test here: the kernel judges him.
//
// proves A-SBX-01
func TestForeignOwnersFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	v := newWorld(t)
	must(t, os.Chmod(v.w+"/f", 0o666))
	must(t, os.Chown(v.w+"/f", 12345, 12345))
	s := newSet(t, v.roots(t)...)
	f := target(t, s, v.w+"/f", Existing)
	if got := content(t, f); got != "inside\n" {
		t.Errorf("content %q", got)
	}
	got := []string{word(f.CheckWrite()), word(f.Unlink()), word(f.MoveTo(target(t, s, v.w+"/g", MayCreate)))}
	if diff := cmp.Diff([]string{"access", "access", "access"}, got); diff != "" {
		t.Errorf("write check, unlink, move (-want +got):\n%s", diff)
	}
	if got := entries(t, v.w); got != "d f" {
		t.Errorf("entries %q", got)
	}
}

// As root the server's files must belong to whom the sandbox's processes are.
//
// proves A-SBX-01
func TestNewFilesBelongToTheRootsOwner(t *testing.T) {
	v := newWorld(t)
	uid := os.Geteuid()
	if uid == 0 {
		uid = 12345
		must(t, os.Chown(v.w, uid, 54321))
	}
	s := newSet(t, v.roots(t)...)
	n := target(t, s, v.w+"/new", MayCreate)
	f, err := n.CreateBeside("new")
	must(t, err)
	must(t, n.Finish(f, Info{}))
	must(t, f.Close())
	d, err := target(t, s, v.w+"/newdir", MayCreate).Mkdir(Info{})
	must(t, err)
	defer d.Close()
	for _, name := range []string{"/new", "/newdir"} {
		st, err := os.Stat(v.w + name)
		must(t, err)
		if got := int(st.Sys().(*syscall.Stat_t).Uid); got != uid {
			t.Errorf("%s belongs to %s, want %d", name, strconv.Itoa(got), uid)
		}
	}
	if st, _ := os.Stat(v.w + "/new"); st.Mode() != 0o644 {
		t.Errorf("mode %v", st.Mode())
	}
}
