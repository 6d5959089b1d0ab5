//go:build linux

package cgroup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
		if err := k.kill(ctx, nil); err != nil {
			t.Error(err)
		}
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	})
	keep, _ := launch(t, "/bin/cat")
	tree, _ := launch(t, "/bin/sh", "-c", "cat & cat & cat; wait")
	for _, pid := range []int{keep.Process.Pid, tree.Process.Pid} {
		if err := set2(k, pid); err != nil {
			t.Fatal(err)
		}
	}
	except := []int{keep.Process.Pid}
	left, err := k.left(except)
	if err != nil || len(left) == 0 {
		t.Fatalf("before: %v, %v", left, err)
	}
	if err := k.round(left, except, true); err != nil { // frozen while it kills
		t.Fatal(err)
	}
	if err := k.kill(t.Context(), except); err != nil {
		t.Fatal(err)
	}
	now, err := procs(dir)
	if diff := cmp.Diff(except, now); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if frozen, err := read(dir, "cgroup.freeze"); frozen != "0" || err != nil {
		t.Errorf("cgroup.freeze is %q, %v", frozen, err)
	}
	if err := k.kill(t.Context(), nil); err != nil { // cgroup.kill
		t.Fatal(err)
	}
	if now, err := procs(dir); len(now) != 0 || err != nil {
		t.Errorf("left: %v, %v", now, err)
	}
}

func set2(k killer, pid int) error {
	return write(k.files, k.unified, "cgroup.procs", fmt.Sprint(pid))
}
