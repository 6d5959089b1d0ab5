// Package journal keeps the records that make temporary effects undoable after a crash (A-TX-01): each is one JSON file in
// a private directory, replaced as a whole and flushed before the effect that it announces.
//
// Records is the store for any record type; Store is the one of task resources. Both may share a directory: a file's name
// is "<key><suffix>", and a store sees only its own suffix. The caller holds the lock of the instance directory, so a
// store has one writer process; inside it, an Entry is safe for concurrent use.
package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sekisho/internal/atomicfile"
	"sekisho/internal/fileop"
	"sekisho/internal/strictjson"
)

// MaxBytes bounds a journal file. A larger one is never written, and one found on disk is corrupt.
const MaxBytes = 4 << 20

// Records is a directory of records of one type.
type Records[T any] struct {
	fsys   fileop.FS
	dir    *os.File
	suffix string
	check  func(old, new *T) error
}

// OpenRecords returns the store of the files with the given suffix (such as ".files.json") in dir, which stays the
// caller's. check judges every record before it is written and after it is read; old is nil for a new or a read one.
func OpenRecords[T any](fsys fileop.FS, dir *os.File, suffix string, check func(old, new *T) error) *Records[T] {
	return &Records[T]{fsys: fsys, dir: dir, suffix: suffix, check: check}
}

// CorruptError reports a journal file that cannot be trusted. Nothing was changed or deleted because of it.
type CorruptError struct {
	Path string
	Err  error
}

// Error names the file.
func (e *CorruptError) Error() string { return fmt.Sprintf("journal %s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// Create writes the first version of a record and returns when it is on the device. A record with that key must not
// exist. A key is 1 to 64 of the characters A-Z, a-z, 0-9, "-" and "_".
func (r *Records[T]) Create(key string, value T) (*RecordEntry[T], error) {
	if !validKey(key) {
		return nil, fmt.Errorf("journal key %q is not usable as a file name", key)
	}
	e := &RecordEntry[T]{store: r, key: key}
	if _, err := os.Lstat(e.Path()); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fs.ErrExist
		}
		return nil, fmt.Errorf("creating journal %s: %w", e.Path(), err)
	}
	if err := e.write(nil, &value); err != nil {
		return nil, err
	}
	e.value = value
	return e, nil
}

// List reads every record, in order of key. One that is oversized, not strict JSON, or refused by the check is a
// *CorruptError; no entry is returned then.
func (r *Records[T]) List() ([]*RecordEntry[T], error) {
	names, err := os.ReadDir(r.dir.Name())
	if err != nil {
		return nil, fmt.Errorf("reading journals: %w", err)
	}
	var entries []*RecordEntry[T]
	for _, n := range names {
		key, mine := strings.CutSuffix(n.Name(), r.suffix)
		if !mine || !validKey(key) {
			continue
		}
		e := &RecordEntry[T]{store: r, key: key}
		if err := e.read(n); errors.Is(err, fs.ErrNotExist) {
			continue // removed since the names were read: a spare's journal goes while a task's is made
		} else if err != nil {
			return nil, &CorruptError{Path: e.Path(), Err: err}
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b *RecordEntry[T]) int { return strings.Compare(a.key, b.key) })
	return entries, nil
}

// Sweep removes what interrupted writes left beside the records. Recovery calls it before List.
func (r *Records[T]) Sweep() error { return atomicfile.Sweep(r.fsys, r.dir) }

// RecordEntry is one record on disk.
type RecordEntry[T any] struct {
	store *Records[T]
	key   string

	mu    sync.Mutex
	value T
}

// Key is the file name without the suffix.
func (e *RecordEntry[T]) Key() string { return e.key }

// Path is the file's path, for messages.
func (e *RecordEntry[T]) Path() string {
	return filepath.Join(e.store.dir.Name(), e.key+e.store.suffix)
}

// Record returns the record as it is on disk. Slices in it are shared: change them only inside Update, by appending or
// by replacing.
func (e *RecordEntry[T]) Record() T {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.value
}

// Update applies change to a deep copy of the record, checks it, and replaces the file; it returns when the new version is
// on the device. After an error the file may hold either version and Record still returns the old one: the caller must
// not perform the effect that it wanted to announce.
func (e *RecordEntry[T]) Update(change func(*T)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	next, err := clone(&e.value)
	if err != nil {
		return fmt.Errorf("copying journal %s: %w", e.Path(), err)
	}
	change(next)
	if err := e.write(&e.value, next); err != nil {
		return err
	}
	e.value = *next
	return nil
}

// Remove deletes the record and returns when that is on the device. It is repeatable.
func (e *RecordEntry[T]) Remove() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := atomicfile.Remove(e.store.fsys, e.store.dir, e.key+e.store.suffix); err != nil {
		return fmt.Errorf("removing journal %s: %w", e.Path(), err)
	}
	return nil
}

func (e *RecordEntry[T]) write(old, next *T) error {
	if err := e.store.check(old, next); err != nil {
		return fmt.Errorf("journal %s: %w", e.Path(), err)
	}
	data, err := strictjson.Marshal(next)
	if err != nil {
		return fmt.Errorf("encoding journal %s: %w", e.Path(), err)
	}
	if len(data) > MaxBytes {
		return fmt.Errorf("journal %s: %w", e.Path(), strictjson.ErrTooLarge)
	}
	if err := atomicfile.Write(e.store.fsys, e.store.dir, e.key+e.store.suffix, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing journal: %w", err)
	}
	return nil
}

func (e *RecordEntry[T]) read(d fs.DirEntry) error {
	if !d.Type().IsRegular() {
		return fmt.Errorf("not a regular file (%s)", d.Type())
	}
	data, err := atomicfile.Read(e.Path(), MaxBytes)
	if err != nil {
		return err
	}
	value, err := decode(data, e.store.check)
	if err != nil {
		return err
	}
	e.value = *value
	return nil
}

func decode[T any](data []byte, check func(old, new *T) error) (*T, error) {
	value := new(T)
	if err := strictjson.Unmarshal(data, MaxBytes, value); err != nil {
		return nil, err
	}
	if err := check(nil, value); err != nil {
		return nil, err
	}
	return value, nil
}

func clone[T any](v *T) (*T, error) {
	data, err := strictjson.Marshal(v)
	if err != nil {
		return nil, err
	}
	c := new(T)
	return c, strictjson.Unmarshal(data, MaxBytes, c)
}

func validKey(key string) bool {
	if len(key) == 0 || len(key) > 64 {
		return false
	}
	for _, c := range []byte(key) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}
