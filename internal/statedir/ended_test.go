//go:build linux

package statedir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sekisho/internal/fileop"
)

// put makes note/x in an instance.
func put(t *testing.T, i *Instance) {
	t.Helper()
	dir, err := i.Sub("note")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := os.WriteFile(filepath.Join(dir.Name(), "x"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// visited lists the instances that Ended shows.
func visited(t *testing.T, d *Dir) []string {
	t.Helper()
	var ids []string
	if err := d.Ended(t.Context(), func(i *Instance) error { ids = append(ids, i.ID()); return nil }, "note", "x"); err != nil {
		t.Fatal(err)
	}
	return ids
}

// proves A-TX-06
func TestEndedPassesLivingInstancesOver(t *testing.T) {
	d := openState(t)
	living, ended, bare := newInstance(t, d), newInstance(t, d), newInstance(t, d)
	put(t, living)
	put(t, ended)
	if got := visited(t, d); got != nil {
		t.Fatalf("living instances were shown: %v", got)
	}
	if err := errors.Join(ended.Close(), bare.Close()); err != nil {
		t.Fatal(err)
	}
	if got := visited(t, d); len(got) != 1 || got[0] != ended.ID() {
		t.Fatalf("shown %v, want the ended instance %s", got, ended.ID())
	}
	err := d.Ended(t.Context(), func(i *Instance) error { return os.Remove(i.TreePath("note", "x")) }, "note", "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(ended.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an instance left empty is still there: %v", err)
	}
	if err := d.Ended(t.Context(), func(*Instance) error { return nil }, "note", "../x"); !errors.Is(err, fileop.ErrName) {
		t.Errorf("a path for a name: %v", err)
	}
}

// While a server starts, an ended instance is not touched; many callers at once take turns.
//
// proves A-TX-06
func TestEndedWaitsForAStartingServer(t *testing.T) {
	d := openState(t)
	ended := newInstance(t, d)
	put(t, ended)
	if err := ended.Close(); err != nil {
		t.Fatal(err)
	}
	other, err := Open(fileop.OS(), d.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	r, err := other.Recover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	short, stop := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer stop()
	err = d.Ended(short, func(*Instance) error { t.Error("touched while it is recovered"); return nil }, "note", "x")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another server recovers: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	inside := make(chan struct{}, 1)
	for range 20 {
		callers.Go(func() {
			err := d.Ended(context.Background(), func(*Instance) error {
				select {
				case inside <- struct{}{}:
					<-inside
				default:
					t.Error("two callers hold one instance")
				}
				return nil
			}, "note", "x")
			if err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if got := visited(t, d); len(got) != 1 {
		t.Errorf("shown %v afterwards", got)
	}
}
