package filetx

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"sekisho/internal/audit"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox/rootio"
)

// suffix marks every name that a transaction makes for itself.
const suffix = ".agent-mcp.tmp"

func randomName() string {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand documentation)
	return "." + hex.EncodeToString(b[:]) + suffix
}

// transaction is one record and what undoing it needs in this process.
type transaction struct {
	deps  *Deps
	entry *journal.RecordEntry[record]
	// memory holds the old bytes of a file without a backup; nil when they are gone (after a crash).
	memory []byte
	// find returns the target that stands on a place of the record, or nil when that place is gone.
	find func(i int, p place) (*rootio.Target, error)
	// onKept is called before the record of a change that stays is removed.
	onKept func(record) error
}

// begin writes the record of a transaction on the held targets, one for each place.
func (m *Manager) begin(s Scope, r record, held ...*rootio.Target) (*transaction, error) {
	r.SchemaVersion, r.TaskID, r.SessionID, r.CreatedAt = 1, s.Task, s.Session, time.Now().UTC()
	for _, t := range held {
		r.Places = append(r.Places, placeOf(t))
	}
	entry, err := m.store.Create(s.Task, r)
	if err != nil {
		return nil, fmt.Errorf("announcing the change: %w", err)
	}
	tx := &transaction{deps: &m.deps, entry: entry}
	tx.find = func(i int, _ place) (*rootio.Target, error) {
		if i >= len(held) {
			return nil, nil
		}
		return held[i], nil
	}
	return tx, nil
}

// finish ends a transaction: with its audit event when effect succeeded, else, or when the event cannot be written, by
// undoing it.
func (m *Manager) finish(tx *transaction, effect func() error, event *audit.Event) error {
	err := effect()
	if err == nil && event != nil {
		err = m.deps.Audit.Write(*event)
	}
	if err == nil {
		err = tx.close()
	}
	if err == nil {
		return nil
	}
	if _, undo := tx.undo(); undo != nil {
		m.open = tx
		return unrestored(tx.entry.Path(), fmt.Errorf("%w; undoing it: %w", err, undo))
	}
	return err
}

// close removes the record, which commits the transaction, and then the backup.
func (tx *transaction) close() error {
	backup := tx.entry.Record().Backup
	if err := tx.entry.Remove(); err != nil {
		return err
	}
	if backup == "" {
		return nil
	}
	if err := ignoreMissing(tx.deps.FS.Unlink(tx.deps.Temp, backup)); err != nil {
		return fmt.Errorf("removing the backup: %w", err)
	}
	return nil
}

func (s Scope) event(name, operation string, c Change) *audit.Event {
	return &audit.Event{Event: name, SessionID: s.Session, TaskID: s.Task, PlannerTask: s.PlannerTask, CallID: s.CallID, Operation: operation,
		Path: c.Path, Destination: c.Destination, BeforeSHA256: c.Before, AfterSHA256: c.After}
}
