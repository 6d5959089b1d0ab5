package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sekisho/internal/audit"
	"sekisho/internal/fileop"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	"sekisho/internal/statedir"
	"sekisho/internal/strictjson"
)

// Abandoned is what recovery of one instance works on: a directory whose server is gone and whose lock we hold.
type Abandoned struct {
	Backend  sandbox.Backend // may be nil where the system has none; then a journalled step cannot be reverted
	Journal  *journal.Store
	Instance *statedir.Instance
	State    *statedir.Dir // as Deps
	Files    fileop.FS
}

// Recover undoes every journal of an abandoned instance and tells what was undone. An error, always recovery.failed with
// the journal's path, means that something may be left: the caller must not serve. A journal that cannot be trusted is
// such an error, and nothing is deleted because of it.
func Recover(ctx context.Context, a Abandoned) ([]audit.Undone, error) {
	txs, err := a.trusted()
	if err != nil {
		return nil, err
	}
	var undone []audit.Undone
	for _, t := range slices.Backward(txs) {
		// A disk that the task filled must not keep it from being removed: the journal names everything in whatever state it is.
		stateErr := t.entry.Update(func(r *journal.Record) { r.State = journal.RecoveryRequired })
		err := t.undo(ctx, func(effect, target string, err error) {
			undone = append(undone, audit.Undone{Effect: effect, Target: target, Verified: err == nil})
		})
		if err != nil {
			return undone, unrecovered(t.entry.Path(), errors.Join(err, stateErr))
		}
	}
	return undone, nil
}

// MakeRoom ends what an abandoned instance left and removes its temporary directories, and keeps the journals for Recover,
// which does it again. It writes nothing: it is for a disk that has no room for the line that announces a recovery.
// Errors are Recover's.
func MakeRoom(ctx context.Context, a Abandoned) error {
	txs, err := a.trusted()
	if err != nil {
		return err
	}
	for _, t := range slices.Backward(txs) {
		if err := t.effects(ctx, func(string, string, error) {}, false); err != nil {
			return unrecovered(t.entry.Path(), err)
		}
	}
	return nil
}

// trusted reads all journals before any is acted on.
func (a Abandoned) trusted() ([]*transaction, error) {
	if err := a.Journal.Sweep(); err != nil {
		return nil, unrecovered(a.Instance.Path(), err)
	}
	entries, err := a.Journal.List()
	if err != nil {
		path := a.Instance.Path()
		if corrupt := (*journal.CorruptError)(nil); errors.As(err, &corrupt) {
			path = corrupt.Path
		}
		return nil, unrecovered(path, err)
	}
	txs := make([]*transaction, len(entries))
	for i, e := range entries {
		txs[i] = &transaction{backend: a.Backend, instance: a.Instance, entry: e, state: a.State, files: a.Files}
		if err := txs[i].trust(); err != nil {
			return nil, unrecovered(e.Path(), err)
		}
	}
	return txs, nil
}

// trust refuses a journal that names something which this program would not have put into it.
func (t *transaction) trust() error {
	r := t.entry.Record()
	if r.TaskID != t.entry.Key() {
		return fmt.Errorf("it belongs to task %q", r.TaskID)
	}
	if r.Sandbox != "" && !spareName(r.Sandbox) {
		return fmt.Errorf("its resources belong to %q, which is no spare", r.Sandbox)
	}
	if len(r.ACLChanges) > 0 || len(r.NetworkRuleIDs) > 0 {
		return errors.New("it names access lists or network rules, which this system does not make")
	}
	for _, p := range r.TempPaths {
		if _, err := t.tempElems(p); err != nil {
			return err
		}
	}
	for i, s := range r.Steps {
		u, err := decode(s.Undo)
		if err == nil && u.Kind == watchKind {
			_, err = watchOf(u.Data)
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func (t *transaction) removeTemp(path string) error {
	elems, err := t.tempElems(path)
	if err != nil {
		return err
	}
	return t.instance.RemoveTree(elems...)
}

// tempElems splits a temporary path below the instance's own temporary directory: nothing else is ever removed. Only the
// part from the instance's name on counts, because a home directory may be reached by another path the next time.
func (t *transaction) tempElems(path string) ([]string, error) {
	own := string(filepath.Separator) + filepath.Join(t.instance.ID(), tempDir) + string(filepath.Separator)
	_, rel, found := strings.Cut(path, own)
	if !found || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("temp path %q is not below this instance", path)
	}
	return append([]string{tempDir}, strings.Split(rel, string(filepath.Separator))...), nil
}

// forget removes the journal of a task whose creation failed half way.
func (b *Broker) forget(task string) {
	entries, err := b.deps.Journal.List()
	if err != nil {
		return // the next start's recovery meets the same file and names it
	}
	for _, e := range entries {
		if e.Key() == task {
			_ = e.Remove() // a journal that announces nothing; recovery removes it as well
		}
	}
}

func decode(data json.RawMessage) (sandbox.Undo, error) {
	var u sandbox.Undo
	if err := strictjson.Unmarshal(data, journal.MaxBytes, &u); err != nil {
		return u, err
	}
	if u.Schema <= 0 || u.Kind == "" {
		return u, errors.New("undo data has no schema or no kind")
	}
	return u, nil
}
