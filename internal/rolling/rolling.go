// Package rolling writes log files of bounded size (A-LOG-01): when the active file would grow past its limit it becomes
// name.1, the older ones move up, and the oldest goes.
//
// Several processes may share a file. A line is one append; every append happens under an advisory lock on
// ".name.lock", which rotation also holds, so no line lands in a file that was just rotated away and no two processes
// rotate at once. Lock order: Writer.mu, then the file lock.
package rolling

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"sekisho/internal/fileop"
)

// Writer is an io.Writer whose every Write is one or several whole lines. It is safe for concurrent use.
type Writer struct {
	fsys     fileop.FS
	dir      *os.File
	name     string
	maxBytes int64
	retained int

	mu   sync.Mutex
	lock *os.File
	f    *os.File // the active file as this process knows it
}

// Open opens or creates name in dir (which stays the caller's) with permission 0600. A file grows to at most maxBytes,
// unless a single Write is larger; besides the active file, retained older ones are kept. Both numbers are positive.
func Open(fsys fileop.FS, dir *os.File, name string, maxBytes int64, retained int) (*Writer, error) {
	if maxBytes <= 0 || retained <= 0 {
		return nil, fmt.Errorf("opening log %s: size %d and retained files %d must be positive", name, maxBytes, retained)
	}
	lock, err := fsys.OpenAppend(dir, "."+name+".lock", 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening log %s: %w", name, err)
	}
	f, err := fsys.OpenAppend(dir, name, 0o600)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening log %s: %w", name, err), lock.Close())
	}
	return &Writer{fsys: fsys, dir: dir, name: name, maxBytes: maxBytes, retained: retained, lock: lock, f: f}, nil
}

// Write appends p, which must end with a newline, with one append. After an error p may be missing or cut short.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f == nil {
		return 0, fs.ErrClosed
	}
	if err := fileop.Lock(context.Background(), w.lock); err != nil {
		return 0, fmt.Errorf("locking log %s: %w", w.name, err)
	}
	err := w.append(p)
	if err := errors.Join(err, fileop.Unlock(w.lock)); err != nil {
		return 0, fmt.Errorf("writing log %s: %w", w.name, err)
	}
	return len(p), nil
}

// Close flushes and closes the active file.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f == nil {
		return nil
	}
	err := errors.Join(w.fsys.Sync(w.f), w.f.Close(), w.lock.Close())
	w.f = nil
	return err
}

// append runs under the file lock.
func (w *Writer) append(p []byte) error {
	st, err := w.active()
	if err != nil {
		return err
	}
	if st.Size() > 0 && st.Size()+int64(len(p)) > w.maxBytes {
		if err := w.rotate(); err != nil {
			return err
		}
	}
	return w.fsys.Write(w.f, p)
}

// active returns the state of the active file, opening it anew when another process has rotated it.
func (w *Writer) active() (fs.FileInfo, error) {
	st, err := w.f.Stat()
	if err != nil {
		return nil, err
	}
	named, err := os.Lstat(w.path(0))
	if err == nil && os.SameFile(st, named) {
		return st, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := w.reopen(); err != nil {
		return nil, err
	}
	return w.f.Stat()
}

func (w *Writer) reopen() error {
	f, err := w.fsys.OpenAppend(w.dir, w.name, 0o600)
	if err != nil {
		return err
	}
	old := w.f
	w.f = f
	return old.Close()
}

// rotate moves every file up by one. Stopped anywhere it leaves a gap in the numbers, which the next rotation closes, and
// never a lost file but the oldest.
func (w *Writer) rotate() error {
	from := w.retained
	for i := 1; i < w.retained; i++ {
		if _, err := os.Lstat(w.path(i)); errors.Is(err, fs.ErrNotExist) {
			from = i // a free number: nothing above it needs to move
			break
		}
	}
	for i := from; i > 0; i-- {
		err := w.fsys.Rename(w.dir, w.numbered(i-1), w.dir, w.numbered(i), true)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return w.reopen()
}

func (w *Writer) numbered(i int) string {
	if i == 0 {
		return w.name
	}
	return w.name + "." + strconv.Itoa(i)
}

func (w *Writer) path(i int) string { return filepath.Join(w.dir.Name(), w.numbered(i)) }
