package filetx

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
)

// Recovered is one transaction that Recover ended.
type Recovered struct {
	Task, Operation, Path string
	// Outcome is Undone, Kept, Nothing or Foreign.
	Outcome string
}

// Recover ends the transactions that an ended instance left in its records directory: call it before serving, with the
// instance's directories and its lock. It needs none of the roots of the present configuration. It verifies every result;
// an error means that something could not be restored or read, and its record is kept. A change that is kept is audited
// (again), because the process may have ended before it was.
func Recover(ctx context.Context, deps Deps) ([]Recovered, error) {
	store := openStore(deps.FS, deps.Records)
	if err := store.Sweep(); err != nil {
		return nil, unrestored(deps.Records.Name(), err)
	}
	entries, err := store.List()
	if err != nil {
		return nil, unrestored(deps.Records.Name(), err)
	}
	var out []Recovered
	var errs []error
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return out, errors.Join(append(errs, unrestored(e.Path(), err))...)
		}
		finder := &locator{fsys: deps.FS}
		r := e.Record()
		tx := &transaction{deps: &deps, entry: e, find: finder.find}
		tx.onKept = func(r record) error { return deps.Audit.Write(keptEvent(r)) }
		outcome, err := tx.undo()
		finder.close()
		if err != nil {
			errs = append(errs, unrestored(e.Path(), err))
			continue
		}
		out = append(out, Recovered{Task: r.TaskID, Operation: r.Operation, Path: r.Places[0].Path, Outcome: outcome})
	}
	if len(errs) == 0 {
		errs = append(errs, sweep(deps))
	}
	return out, errors.Join(errs...)
}

func keptEvent(r record) audit.Event {
	e := audit.Event{Event: audit.FileWrite, SessionID: r.SessionID, TaskID: r.TaskID, Operation: r.Operation, Path: r.Places[0].Path,
		BeforeSHA256: r.Before.SHA256, AfterSHA256: r.After}
	if r.Operation == opDelete {
		e.Event = audit.FileDelete
	}
	return e
}

// sweep removes backups whose record is gone already.
func sweep(deps Deps) error {
	list, err := os.ReadDir(deps.Temp.Name())
	if err != nil {
		return unrestored(deps.Temp.Name(), err)
	}
	for _, d := range list {
		if !strings.HasSuffix(d.Name(), suffix) {
			continue
		}
		if err := ignoreMissing(deps.FS.Unlink(deps.Temp, d.Name())); err != nil {
			return unrestored(path.Join(deps.Temp.Name(), d.Name()), err)
		}
	}
	return nil
}

// locator finds the places of a record again, by their root's and their directory's identity.
type locator struct {
	fsys fileop.FS
	sets []*rootio.Set
	held []*rootio.Target
}

// find returns a Target that stands on the place's name, or nil when its root or directory is not the recorded one any
// more: nothing of ours is left to be found there.
func (l *locator) find(_ int, p place) (*rootio.Target, error) {
	set, err := rootio.NewSet(l.fsys, []sandbox.Root{p.Root})
	if fault.CodeOf(err) == fault.SandboxResolutionChanged {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l.sets = append(l.sets, set)
	dir, err := set.Resolve(path.Dir(p.Path), rootio.Existing)
	switch {
	case fault.CodeOf(err) == fault.PolicyDenied, errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("looking for %s: %w", p.Path, err)
	}
	l.held = append(l.held, dir)
	if dir.Info().Kind != rootio.Dir || dir.Info().ID != p.Parent {
		return nil, nil
	}
	t, err := dir.Slot(path.Base(p.Path))
	if err != nil {
		return nil, err
	}
	l.held = append(l.held, t)
	return t, nil
}

func (l *locator) close() {
	for _, t := range l.held {
		t.Close()
	}
	for _, s := range l.sets {
		s.Close()
	}
}
