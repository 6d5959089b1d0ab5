//go:build linux

package seen

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// proves A-POL-04
func TestReachedByAnyName(t *testing.T) {
	const info = `1 0 8:1 / / rw - ext4 /dev/sda rw
2 1 8:1 /srv/tools /opt/tools rw - ext4 /dev/sda rw
3 1 8:2 /@home /home rw - btrfs /dev/sdb rw
4 1 8:2 /@ /top rw - btrfs /dev/sdb rw
5 1 8:1 /gone//deleted /odd rw - ext4 /dev/sda rw
6 1 8:1 /opt /home/me/work/bound\040here rw - ext4 /dev/sda rw
7 1 0:4 net:[4026531840] /run/ns rw - nsfs nsfs rw
`
	holders := map[string]string{"/usr/bin/x": "1", "/srv/tools/x": "1", "/opt/tools/x": "2", "/opt/x": "1", "/srv/tools": "1", "/srv/tool": "1", "/srv": "1", "/opt/tools": "2",
		"/home/me/x": "3", "/home/me": "3", "/home": "3", "/top": "4", "/home/me/work": "3", "/odd": "5", "/": "1", "/home/m": "3", "/run/ns": "7", "/unlisted": "9", "/other": "1"}
	holder := func(name string) (string, bool) { id, ok := holders[name]; return id, ok }
	for _, c := range []struct {
		program, dir string
		want         bool
	}{
		{"/usr/bin/x", "/srv/tools", false},
		{"/srv/tools/x", "/srv/tools", true},
		{"/srv/tools/x", "/srv/tool", false},
		{"/opt/tools/x", "/srv/tools", true},   // its other name
		{"/opt/tools/x", "/srv", true},         // a directory around that
		{"/srv/tools/x", "/opt/tools", true},   // the other way round
		{"/opt/tools/x", "/other", false},      // control
		{"/home/me/x", "/home/me", true},       // one device, two mounts of it
		{"/home/me/x", "/top", false},          // beside each other on the device
		{"/home/me/x", "/home/m", false},       // by element
		{"/opt/x", "/home/me/work", true},      // mounted below the directory
		{"/usr/bin/x", "/home/me/work", false}, // control
		{"/usr/bin/x", "/", true},              // a mount that shows something removed lies below
		{"/home/me/x", "/odd", true},           // what it shows is not known
		{"/usr/bin/x", "/run/ns", true},        // no directory
		{"/usr/bin/x", "/unlisted", true},      // a mount that is not listed
		{"/usr/bin/x", "/gone", true},          // no such file
		{"/gone", "/srv", true},                // nor such program
	} {
		if got := reached(info, c.program, []string{c.dir}, holder); got != c.want {
			t.Errorf("%s below %s: %v", c.program, c.dir, got)
		}
	}
	if !reached("1 0 8:1 /\n", "/usr/bin/x", nil, holder) || reached(info, "/usr/bin/x", nil, holder) {
		t.Error("what cannot be read is a doubt, and no directory reaches nothing")
	}
}

// proves A-POL-04
func TestReachedOnThisMachine(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, d := range []string{"/programs", "/work", "/other"} {
		must(t, os.Mkdir(dir+d, 0o755))
	}
	must(t, os.Mkdir(dir+"/work/bound", 0o755))
	must(t, os.WriteFile(dir+"/programs/x", nil, 0o755))
	x := dir + "/programs/x"
	if Reached(x, []string{dir + "/work", dir + "/other"}) || !Reached(x, []string{dir + "/other", dir + "/programs"}) || !Reached(x, []string{dir}) {
		t.Error("wrong without a bind mount")
	}
	if os.Geteuid() != 0 {
		return // only root can bind a directory
	}
	must(t, unix.Mount(dir+"/programs", dir+"/work/bound", "", unix.MS_BIND, ""))
	defer unix.Unmount(dir+"/work/bound", unix.MNT_DETACH)
	if !Reached(x, []string{dir + "/work"}) || Reached(x, []string{dir + "/other"}) {
		t.Error("its other name was not found")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
