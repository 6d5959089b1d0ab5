package filetx

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"sekisho/internal/sandbox/rootio"
)

// Mkdir makes the missing directories of t (resolved with rootio.MayCreateParents), each journalled before it is made; an
// existing directory is no error.
func (m *Manager) Mkdir(ctx context.Context, s Scope, t *rootio.Target) (Change, error) {
	return m.exclusively(ctx, t.Path(), func() (Change, error) {
		switch t.Info().Kind {
		case rootio.File:
			return Change{}, fs.ErrExist
		case rootio.Dir:
			return Change{Path: t.Path()}, nil
		}
		if err := t.CheckChange(); err != nil {
			return Change{}, err
		}
		tx, err := m.begin(s, record{Operation: opMkdir}, t)
		if err != nil {
			return Change{}, err
		}
		chain := &directories{tx: tx, held: []*rootio.Target{t}}
		defer chain.close()
		tx.find = chain.find
		err = m.finish(tx, func() error { return chain.make(ctx) }, nil)
		return Change{Path: t.Path(), Created: chain.made}, err
	})
}

// directories is a chain of directories in the making; held stands on each of them, the one to be made last.
type directories struct {
	tx   *transaction
	held []*rootio.Target
	made []string
	// foreign is true when somebody else made the last one meanwhile.
	foreign bool
}

func (d *directories) make(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		last := d.held[len(d.held)-1]
		next, err := last.Mkdir(rootio.Info{})
		if err != nil {
			d.foreign = errors.Is(err, fs.ErrExist)
			return err
		}
		d.made = append(d.made, last.NamePath())
		if len(next.Missing()) == 0 {
			return next.Close()
		}
		if err := d.tx.entry.Update(func(r *record) { r.Places = append(r.Places, placeOf(next)) }); err != nil {
			return errors.Join(err, next.Close())
		}
		d.held = append(d.held, next)
	}
}

func (d *directories) find(i int, _ place) (*rootio.Target, error) {
	if i >= len(d.held) || d.foreign && i == len(d.held)-1 {
		return nil, nil
	}
	return d.held[i], nil
}

// close releases all but the first, which is the caller's.
func (d *directories) close() {
	for _, t := range d.held[1:] {
		t.Close()
	}
}

// Rmdir removes the empty directory.
func (m *Manager) Rmdir(ctx context.Context, s Scope, t *rootio.Target) (Change, error) {
	return m.exclusively(ctx, t.Path(), func() (Change, error) {
		switch t.Info().Kind {
		case rootio.Missing:
			return Change{}, fs.ErrNotExist
		case rootio.File:
			return Change{}, syscall.ENOTDIR
		}
		if err := t.CheckChange(); err != nil {
			return Change{}, err
		}
		if list, _, err := t.List(1); err != nil {
			return Change{}, err
		} else if len(list) > 0 {
			return Change{}, syscall.ENOTEMPTY
		}
		tx, err := m.begin(s, record{Operation: opRmdir, Before: versionOf(t.Info(), ""), Restore: randomName()}, t)
		if err != nil {
			return Change{}, err
		}
		return Change{Path: t.Path()}, m.finish(tx, func() error {
			if err := t.Rmdir(); err != nil {
				return err
			}
			return gone(t)
		}, nil)
	})
}
