//go:build linux

package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/fileop"
)

// proves A-SBX-02
//
// Freezing and killing of version 2 need no controller, so a real kernel shows them wherever version 2 is mounted.
func TestVersion2KillsOnThisMachine(t *testing.T) {
	m, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	u, ok := m.unified()
	own := u.dir(m.own[""])
	if !ok || own == "" || writable(own) != nil {
		t.Logf("version 2 is not mounted here, or not for this user: %v %q", ok, own)
		return
	}
	path := filepath.Join(own, fmt.Sprintf("sekisho-test-%d", os.Getpid()))
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := openDir(unix.AT_FDCWD, path)
	if err != nil {
		t.Fatal(err)
	}
	k := killer{files: fileop.OS(), procs: dir, unified: dir}
	t.Cleanup(func() {
		defer dir.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := k.kill(ctx); err != nil {
			t.Error(err)
		}
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	})
	for name, end := range map[string]func() error{
		"one after the other, frozen": func() error {
			left, err := procs(dir)
			return errors.Join(err, k.each(left, true))
		},
		"cgroup.kill": func() error { return k.kill(t.Context()) },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		tree, _ := launch(t, "/bin/sh", "-c", "cat & cat & cat; wait")
		if err := set2(k, tree.Process.Pid); err != nil {
			t.Fatal(err)
		}
		if err := end(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for now, err := procs(dir); len(now) != 0; now, err = procs(dir) { // killed, and not yet gone
			if err == nil {
				err = pause(ctx)
			}
			if err != nil {
				t.Fatalf("%s: left: %v, %v", name, now, err)
			}
		}
		if frozen, err := read(dir, "cgroup.freeze"); frozen != "0" || err != nil {
			t.Errorf("%s: cgroup.freeze is %q, %v", name, frozen, err)
		}
	}
}

func set2(k killer, pid int) error {
	return write(k.files, k.unified, "cgroup.procs", fmt.Sprint(pid))
}
