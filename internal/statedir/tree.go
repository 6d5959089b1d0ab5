package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sekisho/internal/fileop"
)

// MakeTree makes the private directory elems[0]/elems[1]/... below the instance and returns its path. The parents may
// exist, the last one must not. It is not flushed: what is lost with the machine needs no removal.
func (i *Instance) MakeTree(elems ...string) (string, error) {
	parent, err := i.walk(elems[:len(elems)-1], true)
	if err != nil {
		return "", err
	}
	defer parent.Close()
	last := elems[len(elems)-1]
	path := filepath.Join(parent.Name(), last)
	if err := i.dir.fsys.Mkdir(parent, last, 0o700); err != nil {
		return "", fmt.Errorf("making a private directory: %w", err)
	}
	return path, nil
}

// TreePath is the path that MakeTree would make.
func (i *Instance) TreePath(elems ...string) string {
	return filepath.Join(append([]string{i.Path()}, elems...)...)
}

// RemoveTree removes the directory elems[0]/elems[1]/... below the instance with everything in it and proves that it is
// gone; what is missing already is no error. The content is hostile: links are removed and never followed, a mount is
// an error and never entered, directories without permissions are opened up first, and depth does not matter.
func (i *Instance) RemoveTree(elems ...string) error {
	parent, err := i.walk(elems[:len(elems)-1], false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	last := elems[len(elems)-1]
	path := filepath.Join(parent.Name(), last)
	if err := removeTree(i.dir.fsys, parent, last); err != nil {
		return fmt.Errorf("removing %s: %w", path, err)
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("removing %s: it is still there", path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %s: its absence is not certain: %w", path, err)
	}
	return i.dir.fsys.Sync(parent)
}

// EmptyTree removes everything in the directory elems[0]/elems[1]/... below the instance, which stays the same object.
func (i *Instance) EmptyTree(elems ...string) error {
	parent, err := i.walk(elems[:len(elems)-1], false)
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := emptyTree(i.dir.fsys, parent, elems[len(elems)-1]); err != nil {
		return fmt.Errorf("emptying %s: %w", filepath.Join(parent.Name(), elems[len(elems)-1]), err)
	}
	return nil
}

// walk opens a private directory below the instance, element by element.
func (i *Instance) walk(elems []string, create bool) (*os.File, error) {
	open := func(parent *os.File, name string) (*os.File, error) { return openDir(parent, name) }
	if create {
		open = func(parent *os.File, name string) (*os.File, error) {
			if err := i.dir.fsys.Mkdir(parent, name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, err
			}
			return openDir(parent, name)
		}
	}
	at, err := os.Open(i.Path())
	for _, name := range elems {
		if err != nil {
			return nil, err
		}
		if err := fileop.CheckName(name); err != nil {
			return nil, errors.Join(err, at.Close())
		}
		next, openErr := open(at, name)
		at.Close()
		at, err = next, openErr
	}
	return at, err
}
