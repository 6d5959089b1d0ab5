package statedir

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"sekisho/internal/fileop"
)

// Instance is one locked instance directory: this server's own, or an abandoned one that is being recovered.
type Instance struct {
	dir  *Dir
	id   string
	f    *os.File
	lock *os.File

	close sync.Once
}

// NewInstance makes and locks a directory of our own. It waits while another server makes or recovers one.
func (d *Dir) NewInstance(ctx context.Context) (*Instance, error) {
	if err := fileop.Lock(ctx, d.lock); err != nil {
		return nil, fmt.Errorf("waiting for another starting server: %w", err)
	}
	defer fileop.Unlock(d.lock)
	parent, err := d.Sub(instancesDir)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	id := newID()
	path := filepath.Join(parent.Name(), id)
	if err := d.fsys.Mkdir(parent, id, 0o700); err != nil {
		return nil, unusable(path, err)
	}
	if err := d.fsys.Sync(parent); err != nil {
		return nil, unusable(path, err)
	}
	i, err := d.lockIn(parent, id)
	if err == nil && i == nil {
		err = errors.New("somebody else locked the new directory")
	}
	if err != nil {
		return nil, unusable(path, err)
	}
	return i, nil
}

// lockIn opens and locks an instance directory; nil means that its server lives or that it is gone.
func (d *Dir) lockIn(parent *os.File, id string) (*Instance, error) {
	f, err := openDir(parent, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lock, ok, err := lockInstance(d.fsys, f)
	if err == nil && ok {
		ok, err = alive(f)
	}
	if err != nil || !ok {
		return nil, errors.Join(err, f.Close())
	}
	return &Instance{dir: d, id: id, f: f, lock: lock}, nil
}

// ID is unique among the instances of a state root, also over time: 16 hexadecimal digits.
func (i *Instance) ID() string { return i.id }

// Path is the directory's path.
func (i *Instance) Path() string { return i.f.Name() }

// lockName is the file that is locked where a directory cannot be.
const lockName = "instance.lock"

// Names lists what is in the directory, without the lock. A directory that is gone has nothing.
func (i *Instance) Names() ([]string, error) {
	entries, err := os.ReadDir(i.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.Name() != lockName {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Sub opens the directory name directly below the instance directory, creating it with mode 0700. The caller closes it.
func (i *Instance) Sub(name string) (*os.File, error) {
	f, err := openSub(i.dir.fsys, i.f, name)
	if err != nil {
		return nil, unusable(filepath.Join(i.Path(), name), err)
	}
	return f, nil
}

// Close gives the lock back, after removing the directory and its empty subdirectories. What still holds a file (a
// journal that could not be cleaned, a task record) stays for the next server's recovery. It is repeatable.
func (i *Instance) Close() error {
	var err error
	i.close.Do(func() { err = i.remove() })
	return err
}

func (i *Instance) remove() error {
	entries, err := os.ReadDir(i.Path())
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, ignoreFull(i.dir.fsys.Rmdir(i.f, e.Name())))
		}
	}
	err = errors.Join(err, unlockInstance(i.dir.fsys, i.f, i.lock))
	parent, openErr := os.Open(filepath.Dir(i.Path()))
	if openErr != nil {
		return errors.Join(err, openErr, i.f.Close())
	}
	defer parent.Close()
	if rmErr := ignoreFull(i.dir.fsys.Rmdir(parent, i.id)); rmErr != nil {
		err = errors.Join(err, rmErr)
	}
	return errors.Join(err, i.dir.fsys.Sync(parent), i.f.Close())
}

// Recovery is the state root under the recovery lock, with every abandoned instance locked.
type Recovery struct {
	dir       *Dir
	Instances []*Instance
}

// Recover waits until no other server starts, then locks every instance whose own lock is free (A-TX-06). The caller
// cleans them and calls Close, which lets the next server in.
func (d *Dir) Recover(ctx context.Context) (*Recovery, error) {
	if err := fileop.Lock(ctx, d.lock); err != nil {
		return nil, fmt.Errorf("waiting for another starting server: %w", err)
	}
	r := &Recovery{dir: d}
	if err := r.collect(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Recovery) collect() error {
	parent, err := r.dir.Sub(instancesDir)
	if err != nil {
		return err
	}
	defer parent.Close()
	entries, err := parent.ReadDir(-1)
	if err != nil {
		return unusable(parent.Name(), err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			return unusable(filepath.Join(parent.Name(), e.Name()), errors.New("not an instance directory"))
		}
		i, err := r.dir.lockIn(parent, e.Name())
		if err != nil {
			return unusable(filepath.Join(parent.Name(), e.Name()), err)
		}
		if i != nil {
			r.Instances = append(r.Instances, i)
		}
	}
	return nil
}

// Close closes the instances, removing those that are clean, and gives the recovery lock back.
func (r *Recovery) Close() error {
	var errs []error
	for _, i := range r.Instances {
		errs = append(errs, i.Close())
	}
	return errors.Join(append(errs, fileop.Unlock(r.dir.lock))...)
}

func newID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand documentation)
	return hex.EncodeToString(b[:])
}
