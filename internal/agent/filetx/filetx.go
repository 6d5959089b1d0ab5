// Package filetx changes files of a task as transactions: a file has its old or its new bytes, whatever fails (A-TX-02,
// A-TX-03).
//
// Each call is one transaction. Its record is on the device before its first effect; an effect that fails is undone at once,
// and one that a crash interrupted is undone, or found complete, by Recover. The caller resolved every Target and asked the
// policy; everything here acts on those held objects.
//
// Undone after a crash: a file whose old bytes went to a task file, a new file, a rename, created directories (only while
// empty), a removed directory. A file whose old bytes were only in memory keeps the complete new ones, or stays deleted.
// What is no longer the object of the record is left alone.
package filetx

import (
	"context"
	"fmt"
	"os"

	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/journal"
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
// access, swapped) or without one (input/output errors), tool.arguments_invalid variant directory_not_empty,
// agent.cancelled, or recovery.failed when the old state could not be restored: the record is kept then, every further call
// fails the same way, and the server must stop.
type Manager struct {
	deps  Deps
	store *journal.Records[record]
	// turn holds one token; who has it may use open.
	turn chan struct{}
	// open is the transaction that could not be undone, or nil.
	open *transaction
}

// New returns a Manager.
func New(deps Deps) *Manager {
	return &Manager{deps: deps, store: openStore(deps.FS, deps.Records), turn: make(chan struct{}, 1)}
}

// exclusively runs one call after the other, and none after one that could not be undone.
func (m *Manager) exclusively(ctx context.Context, path string, call func() (Change, error)) (Change, error) {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return Change{}, failed(path, ctx.Err())
	}
	if m.open != nil {
		return Change{}, unrestored(m.open.entry.Path(), fmt.Errorf("an earlier change is not undone"))
	}
	if err := ctx.Err(); err != nil {
		return Change{}, failed(path, err)
	}
	c, err := call()
	if err != nil {
		return Change{}, failed(path, err)
	}
	return c, nil
}

// Rollback undoes the transaction that could not be undone, if there is one, and verifies the result (A-STOP-01). It waits
// for a running call, whose context the caller has cancelled; that call undoes itself.
func (m *Manager) Rollback(ctx context.Context) error {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return fault.New(fault.RecoveryFailed, fault.Target(m.deps.Records.Name()), fault.Cause(ctx.Err()))
	}
	if m.open == nil {
		return nil
	}
	finder := &locator{fsys: m.deps.FS}
	defer finder.close()
	tx := m.open
	tx.find = finder.find
	if _, err := tx.undo(); err != nil {
		return unrestored(tx.entry.Path(), err)
	}
	m.open = nil
	return nil
}
