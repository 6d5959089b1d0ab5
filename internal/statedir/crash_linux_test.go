package statedir

import (
	"os"
	"path/filepath"
	"testing"

	"sekisho/internal/fileop"
	"sekisho/test/crashfs"
)

// proves A-TX-04, A-TX-06
func TestAStopWhileAnInstanceIsBornIsRecovered(t *testing.T) {
	for k := 1; ; k++ {
		root := filepath.Join(t.TempDir(), "agent-mcp")
		fsys := crashfs.New(fileop.OS(), k, nil)
		start := func(fsys fileop.FS) error {
			d, err := Open(fsys, root)
			if err != nil {
				return err
			}
			defer d.Close()
			i, err := d.NewInstance(t.Context())
			if err != nil {
				return err
			}
			defer i.f.Close() // what the death of the process does: the lock is free
			if _, err := i.MakeTree("temp", "task", "tmp"); err != nil {
				return err
			}
			if err := i.RemoveTree("temp", "task"); err != nil {
				return err
			}
			return i.Close()
		}
		err := start(fsys)
		if !fsys.Stopped() {
			if err != nil || k < 8 {
				t.Fatalf("k=%d: undisturbed start: %v", k, err)
			}
			return
		}
		d, err := Open(fileop.OS(), root)
		if err != nil {
			t.Fatalf("k=%d: %v", k, err)
		}
		r, err := d.Recover(t.Context())
		if err != nil {
			t.Fatalf("k=%d: %v", k, err)
		}
		for _, i := range r.Instances {
			if err := i.RemoveTree("temp"); err != nil {
				t.Errorf("k=%d: %v", k, err)
			}
		}
		if err := r.Close(); err != nil {
			t.Errorf("k=%d: %v", k, err)
		}
		if left, _ := os.ReadDir(filepath.Join(root, "instances")); len(left) != 0 {
			t.Errorf("k=%d: instances left: %v", k, left)
		}
		d.Close()
	}
}
