package broker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/guard"
	"sekisho/internal/statedir"
)

// sparePrefix begins the names of spares, which are no task's: a task's id is a UUID.
const sparePrefix = "spare-"

func newSpareName() string {
	var b [8]byte
	rand.Read(b[:])
	return sparePrefix + hex.EncodeToString(b[:])
}

// spareName tells whether name is one that newSpareName makes.
func spareName(name string) bool {
	id, ok := strings.CutPrefix(name, sparePrefix)
	if b, err := hex.DecodeString(id); !ok || err != nil || len(b) != 8 || strings.ToLower(id) != id {
		return false
	}
	return true
}

// spared is one spare: a transaction of its own, in its own journal, until a task adopts it or it is retired.
type spared struct {
	tx     *transaction
	job    sandbox.Spare
	policy sandbox.EffectivePolicy
	taken  chan struct{} // closed when nobody but its taker may use it any more
}

// name is the spare's in the names of its resources.
func (s *spared) name() string { return s.policy.Task.Task }

// alive tells whether its confinement has not died yet.
func (s *spared) alive() bool {
	select {
	case <-s.job.Lost():
		return false
	default:
		return true
	}
}

// spare builds one: journalled, with its own empty directories, under a name of its own.
func (b *Broker) spare(ctx context.Context, maker sandbox.Sparer, guards []sandbox.Guard) (*spared, error) {
	p := b.deps.Policy
	p.Task = b.binding(newSpareName(), guards)
	if label, identity := p.HomeIdentity(); identity != "" && b.deps.Homes != nil {
		home, err := b.deps.Homes.Open(ctx, statedir.HomeName(label, identity))
		if err != nil {
			return nil, err
		}
		p.Task.Home = home.Path()
		if err := home.Close(); err != nil { // whoever takes the spare locks it
			return nil, err
		}
	}
	s := &spared{policy: p, taken: make(chan struct{})}
	var err error
	s.tx, _, err = b.build(ctx, p, guard.Watch{}, func(ctx context.Context, p sandbox.EffectivePolicy, applied []sandbox.Undo) (sandbox.Job, error) {
		var err error
		s.job, err = maker.Spare(ctx, p, applied)
		return s.job, err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// adopt makes the spare the task's. No job and no error mean that it is not what a new one would be; it is ended then.
func (b *Broker) adopt(ctx context.Context, p sandbox.EffectivePolicy, watch guard.Watch, storage *storage, s *spared) (*brokerJob, error) {
	storage.own(b.deps.Instance, &p, s.name())
	err := emptyDirs(storage)
	if err == nil {
		err = s.job.Take(ctx, p)
	}
	if err != nil {
		if log := b.deps.Log; log != nil {
			log.Info("the spare sandbox is not used", "reason", err)
		}
		b.spares.retire(s)
		storage.own(b.deps.Instance, &p, p.Task.Task)
		return nil, nil
	}
	steps, err := watchSteps(watch)
	if err != nil {
		b.spares.retire(s)
		return nil, failed(err)
	}
	record := s.tx.entry.Record()
	entry, err := journal.AdoptTask(b.deps.Journal, p.Task.Task, s.name(), b.deps.Now(), record.TempPaths, append(steps, record.Steps...)...)
	if err != nil {
		if !errors.Is(err, os.ErrExist) {
			b.forget(p.Task.Task)
		}
		b.spares.retire(s)
		return nil, failed(fmt.Errorf("journalling task %s: %w", p.Task.Task, err))
	}
	// Both journals name the same resources until the task ends and the spare's goes first; undoing twice would be harmless.
	return &brokerJob{inner: s.job, tx: b.transaction(entry), guards: p.Task.Guards, storage: storage, adopted: s, ended: b.spares.later}, nil
}

// emptyDirs proves that the private directories of a task hold nothing.
func emptyDirs(s *storage) error {
	for i, c := range s.dirs {
		if i > 0 && s.home != nil {
			break // the workspace's HOME is kept from task to task
		}
		dir, err := os.Open(c.path)
		if err != nil {
			return err
		}
		names, err := dir.Readdirnames(1)
		dir.Close()
		if err != io.EOF || len(names) > 0 {
			return fmt.Errorf("%w: %s holds %q (%v)", sandbox.ErrStale, c.path, names, err)
		}
	}
	return nil
}
