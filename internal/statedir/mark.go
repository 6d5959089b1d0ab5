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

// Mark tells the user's other programs something about a living server by its name. It is an empty, locked directory below
// the instance directory: it counts as long as its lock is held, so that a killed server's mark means nothing at once, and it
// goes with the instance.
type Mark struct{ f *os.File }

// Mark makes a mark; it is seen by Marks when this returns.
func (i *Instance) Mark(ctx context.Context, name string) (*Mark, error) {
	f, err := i.Sub(name)
	if err != nil {
		return nil, err
	}
	if err := fileop.Lock(ctx, f); err != nil { // whoever looks holds it for a moment
		return nil, errors.Join(fmt.Errorf("marking the instance: %w", err), f.Close())
	}
	return &Mark{f}, nil
}

// Close ends the mark. Its directory stays for Instance.Close.
func (m *Mark) Close() error { return m.f.Close() }

// Marks returns the names of the living instances' marks below a state root that want accepts, in no order. It takes no lock
// of an instance, so that a starting server never takes an ended one for a living one.
func Marks(root string, want func(name string) bool) ([]string, error) {
	parent, ids, err := instancesOf(root)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, id := range ids {
		dir := filepath.Join(parent, id)
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may end just now
			return nil, unusable(dir, err)
		}
		for _, e := range entries {
			if !e.IsDir() || !want(e.Name()) {
				continue
			}
			held, err := marked(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, unusable(filepath.Join(dir, e.Name()), err)
			}
			if held {
				found = append(found, e.Name())
			}
		}
	}
	return found, nil
}

// marked reports whether somebody holds the mark at path.
func marked(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	free, err := fileop.TryLockShared(f)
	return !free, err
}
