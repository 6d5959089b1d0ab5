package statedir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sekisho/internal/fileop"
)

// Ended calls f with each instance that holds elems[0]/elems[1]/... and whose server has ended, locked as recovery locks it.
// It waits while a server starts or recovers, but only if there is such an instance. Instances of living servers, this one
// included, are passed over. What f leaves empty is removed (Instance.Close).
func (d *Dir) Ended(ctx context.Context, f func(*Instance) error, elems ...string) error {
	ids, err := d.holders(elems)
	if err != nil || len(ids) == 0 {
		return err
	}
	// The recovery lock belongs to the open file, so two callers of one process need their own order before it.
	d.asking.Lock()
	defer d.asking.Unlock()
	if err := fileop.Lock(ctx, d.lock); err != nil {
		return fmt.Errorf("waiting for a starting server: %w", err)
	}
	defer fileop.Unlock(d.lock)
	parent, err := d.Sub(instancesDir)
	if err != nil {
		return err
	}
	defer parent.Close()
	for _, id := range ids {
		i, err := d.lockIn(parent, id)
		if err != nil {
			return unusable(filepath.Join(parent.Name(), id), err)
		}
		if i == nil {
			continue
		}
		if err := errors.Join(f(i), i.Close()); err != nil {
			return err
		}
	}
	return nil
}

// holders are the instances that have something by that name, living ones included.
func (d *Dir) holders(elems []string) ([]string, error) {
	for _, e := range elems {
		if err := fileop.CheckName(e); err != nil {
			return nil, err
		}
	}
	parent, all, err := instancesOf(d.Path())
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, id := range all {
		if _, err := os.Lstat(filepath.Join(append([]string{parent, id}, elems...)...)); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// instancesOf names the instances below a state root, living and ended ones, and the directory that they lie in.
func instancesOf(root string) (parent string, ids []string, err error) {
	parent = filepath.Join(root, instancesDir)
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", nil, unusable(parent, err)
	}
	for _, e := range entries {
		if e.IsDir() {
			ids = append(ids, e.Name())
		}
	}
	return parent, ids, nil
}
