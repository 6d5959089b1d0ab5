package filetx

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"sekisho/internal/audit"
	"sekisho/internal/sandbox/rootio"
)

var (
	errStillThere = errors.New("the name is still there after the change")
	errNotMoved   = errors.New("the file is not at its new name with its old bytes after the change")
)

// Delete removes the file. expected is as for Overwrite.
func (m *Manager) Delete(ctx context.Context, s Scope, t *rootio.Target, expected string) (Change, error) {
	return m.exclusively(ctx, t.Path(), func() (Change, error) {
		old, err := m.existing(ctx, t, expected)
		if err != nil {
			return Change{}, err
		}
		r := record{Operation: opDelete, Before: versionOf(old.info, old.sum), Backup: m.backupName(old.info.Size), Restore: randomName()}
		tx, err := m.begin(s, r, t)
		if err != nil {
			return Change{}, err
		}
		c := Change{Path: t.Path(), Before: old.sum}
		return c, m.finish(tx, func() error { return m.unlink(ctx, tx, t, old) }, s.event(audit.FileDelete, "delete", c))
	})
}

// existing takes the snapshot of a file that must be there. Only its directory must be writable: removing or renaming a
// name asks nothing of the file.
func (m *Manager) existing(ctx context.Context, t *rootio.Target, expected string) (snapshot, error) {
	switch t.Info().Kind {
	case rootio.Missing:
		return snapshot{}, fs.ErrNotExist
	case rootio.Dir:
		return snapshot{}, syscall.EISDIR
	}
	if err := t.CheckChange(); err != nil {
		return snapshot{}, err
	}
	return m.take(ctx, t, expected)
}

func (m *Manager) unlink(ctx context.Context, tx *transaction, t *rootio.Target, old snapshot) error {
	if err := m.keep(ctx, tx, t, old); err != nil {
		return err
	}
	if err := errors.Join(ctx.Err(), unchanged(t, old.info)); err != nil {
		return err
	}
	if err := t.Unlink(); err != nil {
		return err
	}
	return gone(t)
}

// gone flushes the directory and verifies that the name is absent.
func gone(t *rootio.Target) error {
	if err := t.SyncParent(); err != nil {
		return err
	}
	now, err := t.Now()
	if err == nil && now.Kind != rootio.Missing {
		err = errStillThere
	}
	return err
}

// Rename moves the file from to the missing name to (resolved with rootio.MayCreate). expected is the SHA-256 of from, or
// "".
func (m *Manager) Rename(ctx context.Context, s Scope, from, to *rootio.Target, expected string) (Change, error) {
	return m.exclusively(ctx, from.Path(), func() (Change, error) {
		old, err := m.existing(ctx, from, expected)
		if err != nil {
			return Change{}, err
		}
		switch {
		case to.Info().Kind != rootio.Missing:
			return Change{}, failed(to.Path(), fs.ErrExist)
		case len(to.Missing()) > 1:
			return Change{}, failed(to.Path(), fs.ErrNotExist)
		}
		if err := to.CheckChange(); err != nil {
			return Change{}, failed(to.Path(), err)
		}
		tx, err := m.begin(s, record{Operation: opRename, Before: versionOf(old.info, old.sum)}, from, to)
		if err != nil {
			return Change{}, err
		}
		c := Change{Path: from.Path(), Destination: to.Path(), Before: old.sum, After: old.sum}
		return c, m.finish(tx, func() error { return move(ctx, from, to, old) }, s.event(audit.FileWrite, "rename", c))
	})
}

// move is the sequence of A-TX-03: move, then source absent, destination present, hash equal.
func move(ctx context.Context, from, to *rootio.Target, old snapshot) error {
	if err := errors.Join(ctx.Err(), unchanged(from, old.info)); err != nil {
		return err
	}
	if err := from.MoveTo(to); err != nil {
		return failed(to.Path(), err)
	}
	if err := to.SyncParent(); err != nil {
		return err
	}
	if err := gone(from); err != nil {
		return err
	}
	sum, _, err := digestNow(to)
	if err == nil && sum != old.sum {
		err = errNotMoved
	}
	return err
}
