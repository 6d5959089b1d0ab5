// Package crashfs stops a program at its k-th durable effect (A-TX-04).
//
// It wraps a fileop.FS. In a test of one process, Stop marks the moment and every later call fails without an effect, as
// if the process had died there; in a test of a whole program, Stop kills the process and never returns. Running a
// scenario with k = 1, 2, ... until Stopped stays false visits every point between two effects.
package crashfs

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"sekisho/internal/fileop"
)

// ErrStopped is what every call answers after the stop.
var ErrStopped = errors.New("the process has stopped here")

// Op names one durable call.
type Op struct {
	Name string // create, append, write, chmod, sync, rename, unlink, mkdir, rmdir
	Path string // of the object or, for a rename, of the new name
}

// FS counts durable calls and stops at one of them.
type FS struct {
	base fileop.FS
	at   int
	stop func(Op)
	// tears decides which stopping writes leave half of their bytes; nil means none.
	tears func(Op) bool
	// counts decides which calls count; nil means all.
	counts func(Op) bool

	mu      sync.Mutex
	n       int
	stopped bool
	trace   []Op
}

var _ fileop.FS = (*FS)(nil)

// Option changes an FS under construction.
type Option func(*FS)

// Torn lets a stopping write leave the first half of its bytes, where tears is true for it; nil means for every write. It
// must be false for a kernel's control file, which takes all or nothing: half a process id is another process.
func Torn(tears func(Op) bool) Option {
	if tears == nil {
		tears = func(Op) bool { return true }
	}
	return func(f *FS) { f.tears = tears }
}

// Counting limits the count to the calls for which counts is true.
func Counting(counts func(Op) bool) Option { return func(f *FS) { f.counts = counts } }

// New returns a wrapper of base that stops instead of performing the at-th call (from 1; 0 never stops). stop may be nil.
func New(base fileop.FS, at int, stop func(Op), opts ...Option) *FS {
	f := &FS{base: base, at: at, stop: stop}
	for _, o := range opts {
		o(f)
	}
	return f
}

// Stopped reports whether the stop was reached.
func (f *FS) Stopped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stopped
}

// Count is the number of counted calls so far.
func (f *FS) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// Trace lists the counted calls so far.
func (f *FS) Trace() []Op {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Op(nil), f.trace...)
}

// before counts one call; an error means that it must not be performed. With half, the caller performs half of it and stops.
func (f *FS) before(op Op) (half bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return false, ErrStopped
	}
	if f.counts != nil && !f.counts(op) {
		return false, nil
	}
	f.n++
	f.trace = append(f.trace, op)
	if f.n != f.at {
		return false, nil
	}
	f.stopped = true
	if op.Name == "write" && f.tears != nil && f.tears(op) {
		return true, ErrStopped
	}
	if f.stop != nil {
		f.stop(op)
	}
	return false, ErrStopped
}

func below(dir *os.File, name string) string { return dir.Name() + "/" + name }

// Create implements fileop.FS.
func (f *FS) Create(dir *os.File, name string, perm fs.FileMode) (*os.File, error) {
	if _, err := f.before(Op{"create", below(dir, name)}); err != nil {
		return nil, err
	}
	return f.base.Create(dir, name, perm)
}

// OpenAppend implements fileop.FS.
func (f *FS) OpenAppend(dir *os.File, name string, perm fs.FileMode) (*os.File, error) {
	if _, err := f.before(Op{"append", below(dir, name)}); err != nil {
		return nil, err
	}
	return f.base.OpenAppend(dir, name, perm)
}

// Write implements fileop.FS.
func (f *FS) Write(file *os.File, p []byte) error {
	op := Op{"write", file.Name()}
	half, err := f.before(op)
	if half {
		f.base.Write(file, p[:len(p)/2])
		if f.stop != nil {
			f.stop(op)
		}
	}
	if err != nil {
		return err
	}
	return f.base.Write(file, p)
}

// Chmod implements fileop.FS.
func (f *FS) Chmod(file *os.File, perm fs.FileMode) error {
	if _, err := f.before(Op{"chmod", file.Name()}); err != nil {
		return err
	}
	return f.base.Chmod(file, perm)
}

// Sync implements fileop.FS.
func (f *FS) Sync(file *os.File) error {
	if _, err := f.before(Op{"sync", file.Name()}); err != nil {
		return err
	}
	return f.base.Sync(file)
}

// Rename implements fileop.FS.
func (f *FS) Rename(oldDir *os.File, oldName string, newDir *os.File, newName string, replace bool) error {
	if _, err := f.before(Op{"rename", below(newDir, newName)}); err != nil {
		return err
	}
	return f.base.Rename(oldDir, oldName, newDir, newName, replace)
}

// Unlink implements fileop.FS.
func (f *FS) Unlink(dir *os.File, name string) error {
	if _, err := f.before(Op{"unlink", below(dir, name)}); err != nil {
		return err
	}
	return f.base.Unlink(dir, name)
}

// Mkdir implements fileop.FS.
func (f *FS) Mkdir(dir *os.File, name string, perm fs.FileMode) error {
	if _, err := f.before(Op{"mkdir", below(dir, name)}); err != nil {
		return err
	}
	return f.base.Mkdir(dir, name, perm)
}

// Rmdir implements fileop.FS.
func (f *FS) Rmdir(dir *os.File, name string) error {
	if _, err := f.before(Op{"rmdir", below(dir, name)}); err != nil {
		return err
	}
	return f.base.Rmdir(dir, name)
}
