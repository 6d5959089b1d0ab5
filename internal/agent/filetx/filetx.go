// Package filetx changes files of a task as transactions: a file has its old or its new bytes, whatever fails (A-TX-02,
// A-TX-03).
//
// Each call is one transaction. Its record is on the device before its first effect; an effect that fails is undone at once,
// and one that a crash interrupted is undone, or found complete, by Recover. The caller resolved every Target and asked the
// policy; everything here acts on those held objects.
//
// Undone after a crash: a file whose old bytes went to a task file, a rename, created directories (only while empty), a
// removed directory. A file whose old bytes were only in memory keeps the complete new ones, or stays deleted.
package filetx

import (
	"context"
	"os"
	"sync"

	"sekisho/internal/audit"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox/rootio"
)

// Auditor receives file.write and file.delete events; *audit.Writer is one. An event that cannot be written undoes the
// change.
type Auditor interface {
	Write(audit.Event) error
}

// Deps are what a Manager works with. All are required.
type Deps struct {
	FS fileop.FS
	// Records is the directory of the records: recovery/ of the instance. Temp holds old bytes of large files while a
	// transaction is open: a private directory of the instance. Both stay the caller's.
	Records, Temp *os.File
	Audit         Auditor
	// MemoryLimit is the largest old content, in bytes, that is kept in memory (file_edit.memory_backup_limit_mb).
	MemoryLimit int64
}

// Scope names whose change it is, for record and audit.
type Scope struct {
	Session, Task, PlannerTask, CallID string
}

// Change tells what a transaction did. Digests are lower-case hex; "" means that no file was there.
type Change struct {
	// Path is the resolved path; Destination the new one of a rename.
	Path, Destination string
	Before, After     string
	// Created lists the directories that Mkdir made, outermost first.
	Created []string
}

// Manager carries out one transaction at a time; it is safe for concurrent use.
//
// Errors of its methods are *fault.Error: tool.failed with a variant (patch_malformed, patch_no_match, patch_ambiguous,
// hash_mismatch, not_found, is_directory, not_directory, target_exists, cross_volume, encoding, too_large, invalid_syntax,
// access, swapped), tool.arguments_invalid variant directory_not_empty, agent.cancelled, or recovery.failed when the old
// state could not be restored: the record is kept then, and the server must stop.
type Manager struct {
	deps Deps

	mu   sync.Mutex
	open *transaction
}

// New returns a Manager.
func New(deps Deps) *Manager { return &Manager{deps: deps} }

// Overwrite gives the file exactly content, creating it if missing (its parent directory exists). Byte order mark,
// encoding and line endings of an existing file are kept. expected is the SHA-256 the caller believes the file has, or "".
func (m *Manager) Overwrite(ctx context.Context, s Scope, t *rootio.Target, content, expected string) (Change, error) {
	return Change{}, nil
}

// AtomicReplace is Overwrite for a file that must exist.
func (m *Manager) AtomicReplace(ctx context.Context, s Scope, t *rootio.Target, content, expected string) (Change, error) {
	return Change{}, nil
}

// Patch replaces the one place where old_text stands; patch is A-TOOL-10's JSON text.
func (m *Manager) Patch(ctx context.Context, s Scope, t *rootio.Target, patch, expected string) (Change, error) {
	return Change{}, nil
}

// Delete removes the file.
func (m *Manager) Delete(ctx context.Context, s Scope, t *rootio.Target, expected string) (Change, error) {
	return Change{}, nil
}

// Rename moves the file from to the missing name to (resolved with rootio.MayCreate).
func (m *Manager) Rename(ctx context.Context, s Scope, from, to *rootio.Target, expected string) (Change, error) {
	return Change{}, nil
}

// Mkdir makes the missing directories of t (resolved with rootio.MayCreateParents); an existing directory is no error.
func (m *Manager) Mkdir(ctx context.Context, s Scope, t *rootio.Target) (Change, error) {
	return Change{}, nil
}

// Rmdir removes the empty directory.
func (m *Manager) Rmdir(ctx context.Context, s Scope, t *rootio.Target) (Change, error) {
	return Change{}, nil
}

// Rollback undoes the open transaction, if one is left, and verifies the result (A-STOP-01). It waits for a running call,
// whose context the caller has cancelled.
func (m *Manager) Rollback(ctx context.Context) error { return nil }

// Recovered is one transaction that Recover ended.
type Recovered struct {
	Task, Operation, Path string
	// Outcome is "undone", "kept" (complete new bytes), "nothing" (no effect had happened) or "foreign" (another object is
	// there by now, or its root is gone: left alone).
	Outcome string
}

// Recover ends the transactions that an ended instance left in its records directory: call it before serving, with the
// instance's directories and its lock. It verifies every result; an error means that something could not be restored, and
// its record is kept.
func Recover(ctx context.Context, deps Deps) ([]Recovered, error) { return nil, nil }

type transaction struct{}
