// Package statedir owns the state root (A-CFG-07) and the instance directories in it (A-TX-06).
//
//	<state root>/            0700, this user's
//	  recovery.lock          held while instances are born and while abandoned ones are recovered
//	  instances/<id>/        one per running server, locked by it as long as it lives
//	  applied-configurations/, logs/
//
// Threat: another local user. Directories that belong to somebody else or that others can enter are refused, never
// repaired. Processes of the same user are trusted with these files.
//
// Lock order: Dir.asking, recovery lock, then an instance lock.
package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
)

const (
	instancesDir = "instances"
	recoveryLock = "recovery.lock"
)

// Dir is the open state root.
type Dir struct {
	fsys fileop.FS
	root *os.File
	lock *os.File

	asking sync.Mutex // orders this process's callers of Ended
}

// Open opens the state root, creating it and missing parents with mode 0700. A root that is not a private directory of
// this user is a state.unusable fault.
func Open(fsys fileop.FS, root string) (*Dir, error) {
	f, err := openPath(fsys, root)
	if err != nil {
		return nil, unusable(root, err)
	}
	lock, err := fsys.OpenAppend(f, recoveryLock, 0o600)
	if err != nil {
		return nil, errors.Join(unusable(root, err), f.Close())
	}
	return &Dir{fsys: fsys, root: f, lock: lock}, nil
}

// Path is the state root's path.
func (d *Dir) Path() string { return d.root.Name() }

// Sub opens the directory name directly below the root, creating it with mode 0700. The caller closes it.
func (d *Dir) Sub(name string) (*os.File, error) {
	f, err := openSub(d.fsys, d.root, name)
	if err != nil {
		return nil, unusable(filepath.Join(d.Path(), name), err)
	}
	return f, nil
}

// Close closes the descriptors. Instances stay locked until they are closed themselves.
func (d *Dir) Close() error { return errors.Join(d.lock.Close(), d.root.Close()) }

// OpenPrivate opens the directory at path as Open does the root: for a directory that configuration names (the logs).
func OpenPrivate(fsys fileop.FS, path string) (*os.File, error) {
	f, err := openPath(fsys, path)
	if err != nil {
		return nil, unusable(path, err)
	}
	return f, nil
}

// openPath opens a private directory, making it and its missing parents.
func openPath(fsys fileop.FS, path string) (*os.File, error) {
	if !filepath.IsAbs(path) {
		return nil, errors.New("the path is not absolute")
	}
	path = filepath.Clean(path)
	if parent := filepath.Dir(path); parent != path {
		dir, err := openParent(fsys, parent)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		return openSub(fsys, dir, filepath.Base(path))
	}
	return nil, errors.New("the file system's root cannot hold it")
}

// openParent opens a directory that need not be private, making it and its missing parents.
func openParent(fsys fileop.FS, path string) (*os.File, error) {
	f, err := os.Open(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	parent, err := openParent(fsys, filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	if err := makeDir(fsys, parent, filepath.Base(path)); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// openSub opens a private directory below an open one, making it if missing.
func openSub(fsys fileop.FS, parent *os.File, name string) (*os.File, error) {
	if err := fileop.CheckName(name); err != nil {
		return nil, err
	}
	if err := makeDir(fsys, parent, name); err != nil {
		return nil, err
	}
	return openDir(parent, name)
}

// makeDir makes a directory and flushes its name; one that exists is left as it is.
func makeDir(fsys fileop.FS, parent *os.File, name string) error {
	if _, err := os.Lstat(filepath.Join(parent.Name(), name)); err == nil {
		return nil
	}
	if err := fsys.Mkdir(parent, name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return fsys.Sync(parent)
}

// openDir opens an existing private directory without following a link.
func openDir(parent *os.File, name string) (*os.File, error) {
	f, err := openNoFollow(parent, name)
	if err != nil {
		return nil, err
	}
	if err := checkPrivate(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func unusable(path string, err error) error {
	if fault.As(err) != nil {
		return err
	}
	return fault.New(fault.StateUnusable, fault.Variant("reason"), fault.Target(path), fault.Arg("reason", reason(err)), fault.Cause(err))
}

// reason is the cause without the path, which the sentence names already.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Sprintf("%s: %v", pe.Op, pe.Err)
	}
	return err.Error()
}
