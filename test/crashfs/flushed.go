package crashfs

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"

	"sekisho/internal/fileop"
)

// Flushed watches that what a change relies on is on the device before the change: no name is made, replaced or removed
// while the bytes of a file, or the names of another directory, are not flushed. A power failure would otherwise keep the
// change and lose what it stands on. Problem is called with each breach.
type Flushed struct {
	fileop.FS
	Problem func(string)

	mu    sync.Mutex
	files map[string]bool // with bytes or modes that may be lost
	dirs  map[string]bool // with names that may be lost
}

// NewFlushed returns a watcher over base.
func NewFlushed(base fileop.FS, problem func(string)) *Flushed {
	return &Flushed{FS: base, Problem: problem, files: map[string]bool{}, dirs: map[string]bool{}}
}

// Pending lists what is not flushed.
func (f *Flushed) Pending() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.pending()))
}

func (f *Flushed) pending() map[string]bool {
	all := maps.Clone(f.files)
	maps.Copy(all, f.dirs)
	return all
}

// names is a change of the names in dir; the file gone, if any, needs no flushing any more.
func (f *Flushed) names(op string, dir *os.File, name, gone string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.files, gone)
	for path := range f.pending() {
		if path != dir.Name() {
			f.Problem(fmt.Sprintf("%s %s while %s is not flushed", op, below(dir, name), path))
		}
	}
	f.dirs[dir.Name()] = true
}

func (f *Flushed) changed(file *os.File) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[file.Name()] = true
}

// Create implements fileop.FS.
func (f *Flushed) Create(dir *os.File, name string, perm fs.FileMode) (*os.File, error) {
	f.names("create", dir, name, "")
	return f.FS.Create(dir, name, perm)
}

// Write implements fileop.FS.
func (f *Flushed) Write(file *os.File, p []byte) error {
	f.changed(file)
	return f.FS.Write(file, p)
}

// Chmod implements fileop.FS.
func (f *Flushed) Chmod(file *os.File, perm fs.FileMode) error {
	f.changed(file)
	return f.FS.Chmod(file, perm)
}

// Sync implements fileop.FS.
func (f *Flushed) Sync(file *os.File) error {
	f.mu.Lock()
	delete(f.files, file.Name())
	delete(f.dirs, file.Name())
	f.mu.Unlock()
	return f.FS.Sync(file)
}

// Rename implements fileop.FS.
func (f *Flushed) Rename(oldDir *os.File, oldName string, newDir *os.File, newName string, replace bool) error {
	f.names("rename", newDir, newName, "")
	if oldDir.Name() != newDir.Name() {
		f.mu.Lock()
		f.dirs[oldDir.Name()] = true
		f.mu.Unlock()
	}
	return f.FS.Rename(oldDir, oldName, newDir, newName, replace)
}

// Unlink implements fileop.FS.
func (f *Flushed) Unlink(dir *os.File, name string) error {
	f.names("unlink", dir, name, below(dir, name))
	return f.FS.Unlink(dir, name)
}

// Mkdir implements fileop.FS.
func (f *Flushed) Mkdir(dir *os.File, name string, perm fs.FileMode) error {
	f.names("mkdir", dir, name, "")
	return f.FS.Mkdir(dir, name, perm)
}

// Rmdir implements fileop.FS.
func (f *Flushed) Rmdir(dir *os.File, name string) error {
	f.names("rmdir", dir, name, "")
	return f.FS.Rmdir(dir, name)
}
