package statedir

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"sekisho/internal/fileop"
)

// locksDir holds a file for each lock that is held or waited for.
const locksDir = "locks"

// Waiting begins with short pauses; a lock that is held longer is asked for less often.
const (
	claimPause    = 20 * time.Millisecond
	claimPauseMax = 250 * time.Millisecond
)

// Lock is one name that servers of this user exclude each other by. Several may hold it at once when all of them share it.
type Lock struct {
	Name   string // one path element
	Shared bool
}

// Claim is a set of locks that is held.
type Claim struct {
	dir  *Dir
	in   *os.File
	held []held
	once sync.Once
}

type held struct {
	name string
	f    *os.File
}

// Claim takes all locks, one after another in the order of their names, so that no two claims wait for each other. waiting is
// told each lock that is not free. The locks end with Release, or with this process.
//
// Who waits holds a second lock of the same name, its turn: a server that has just given a lock back cannot take it again
// before the one that waits for it.
func (d *Dir) Claim(ctx context.Context, locks []Lock, waiting func(Lock)) (*Claim, error) {
	in, err := d.Sub(locksDir)
	if err != nil {
		return nil, err
	}
	c := &Claim{dir: d, in: in}
	locks = slices.Clone(locks)
	slices.SortFunc(locks, func(a, b Lock) int { return strings.Compare(a.Name, b.Name) })
	for _, l := range locks {
		if err := c.take(ctx, l, func() { waiting(l) }); err != nil {
			return nil, errors.Join(err, c.Release())
		}
	}
	return c, nil
}

// take waits for its turn, then for the lock, and gives the turn on.
func (c *Claim) take(ctx context.Context, l Lock, waiting func()) error {
	told := sync.OnceFunc(waiting)
	turn, err := c.wait(ctx, l.Name+".turn", false, told)
	if err != nil {
		return err
	}
	f, err := c.wait(ctx, l.Name, l.Shared, told)
	if err == nil {
		c.held = append(c.held, held{l.Name, f})
	}
	return errors.Join(err, c.give(held{l.Name + ".turn", turn}))
}

func (c *Claim) wait(ctx context.Context, name string, shared bool, told func()) (*os.File, error) {
	for pause := claimPause; ; pause = min(2*pause, claimPauseMax) {
		f, err := c.try(name, shared)
		if err != nil || f != nil {
			return f, err
		}
		told()
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// try returns nil when the lock is not free. A file that its last holder removed meanwhile is no lock any more.
func (c *Claim) try(name string, shared bool) (*os.File, error) {
	f, err := c.dir.fsys.OpenAppend(c.in, name, 0o600)
	if err != nil {
		return nil, unusable(c.in.Name(), err)
	}
	lock := fileop.TryLock
	if shared {
		lock = fileop.TryLockShared
	}
	ok, err := lock(f)
	if err == nil && ok {
		ok, err = alive(f)
	}
	if err != nil || !ok {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// give removes the lock's file, unless somebody shares it, and ends the lock.
func (c *Claim) give(h held) error {
	ok, err := fileop.TryLock(h.f)
	if err == nil && ok {
		err = c.dir.fsys.Unlink(c.in, h.name)
	}
	return errors.Join(err, h.f.Close())
}

// Release gives every lock back. It is repeatable.
func (c *Claim) Release() error {
	var errs []error
	c.once.Do(func() {
		for _, h := range slices.Backward(c.held) {
			errs = append(errs, c.give(h))
		}
		errs = append(errs, c.in.Close())
	})
	return errors.Join(errs...)
}
