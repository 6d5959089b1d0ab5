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
	"sync"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/guard"
	"sekisho/internal/statedir"
)

const (
	// settleTime passes after a start, or after a task, before a spare is built: a server that ends soon builds none, and a
	// task that comes sooner has one built while it is planned.
	settleTime = 5 * time.Second
	// idleTime is how long a spare waits for a task.
	idleTime = 10 * time.Minute
	// replaceTime is the least time between two replacements of spares that died: whatever kills them may go on.
	replaceTime = time.Minute
	// buildTime bounds the making of a spare.
	buildTime = 30 * time.Second
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

// spares keeps at most one spare. It is built in the background, for what the last survey found; handed out once; replaced when
// it died; ended when nobody came for it.
type spares struct {
	b     *Broker
	maker sandbox.Sparer // nil: there is never one

	mu       sync.Mutex
	have     *spared     // nil: none is ready
	making   *making     // nil: none is being built
	next     *making     // to be built afterwards, because it must be another one
	timer    *time.Timer // of settleTime, or of idleTime
	replaced time.Time   // when one that died was replaced last
	err      error       // what could not be undone: fatal
	closed   bool
	work     sync.WaitGroup
}

type making struct {
	guards []sandbox.Guard
	done   chan struct{}
}

func newSpares(b *Broker) *spares {
	k := &spares{b: b}
	// A spare with a network would listen before there is a task that its rules belong to.
	if maker, ok := b.deps.Backend.(sandbox.Sparer); ok && b.deps.Spares && b.deps.Policy.Network.Access == sandbox.NetworkNone {
		k.maker = maker
	}
	return k
}

// Prepare has a spare built soon, for roots in which the given objects are guarded. It returns at once.
func (b *Broker) Prepare(guards []sandbox.Guard) { b.spares.later(guards) }

// Ready returns when no spare is being built; whether there is one then is not told.
func (b *Broker) Ready(ctx context.Context) error {
	k := b.spares
	for {
		k.mu.Lock()
		m := k.making
		k.mu.Unlock()
		if m == nil {
			return nil
		}
		select {
		case <-m.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close ends the spare and returns when nothing of it is left. No task may be opened any more. Errors are recovery.failed.
func (b *Broker) Close(ctx context.Context) error { return b.spares.close(ctx) }

// later builds a spare when nothing else has happened for a while.
func (k *spares) later(guards []sandbox.Guard) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.maker == nil || k.closed || k.have != nil || k.making != nil {
		return
	}
	k.plan(settleTime, func() { k.want(guards) })
}

// plan has do called after a while, unless something else is planned before. The caller holds mu.
func (k *spares) plan(after time.Duration, do func()) {
	if k.timer != nil {
		k.timer.Stop()
	}
	if k.closed {
		return
	}
	var mine *time.Timer
	mine = time.AfterFunc(after, func() {
		k.mu.Lock()
		still := k.timer == mine && !k.closed
		if still {
			k.work.Add(1)
		}
		k.mu.Unlock()
		if still {
			defer k.work.Done()
			do()
		}
	})
	k.timer = mine
}

// want builds a spare for roots in which the given objects are guarded, unless there is one. It does not wait.
func (k *spares) want(guards []sandbox.Guard) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.maker == nil || k.closed {
		return
	}
	m := &making{guards, make(chan struct{})}
	if k.making != nil {
		k.next = nil
		if !sameGuards(k.making.guards, guards) {
			k.next = m
		}
		return
	}
	if k.have != nil && sameGuards(k.have.policy.Task.Guards, guards) && k.have.alive() {
		k.plan(idleTime, k.idle)
		return
	}
	old := k.leave()
	k.making = m
	k.work.Go(func() { k.make(m, old) })
}

// make builds what is wanted, and again while something else is wanted by then.
func (k *spares) make(m *making, old *spared) {
	for m != nil {
		k.undo(old)
		ctx, cancel := context.WithTimeout(context.Background(), buildTime)
		s, err := k.b.spare(ctx, k.maker, m.guards)
		cancel()
		k.mu.Lock()
		k.have, k.making, k.next = s, k.next, nil
		old = nil
		switch {
		case err != nil:
			k.fail(err)
		case k.making != nil:
			old = k.leave()
		default:
			k.plan(idleTime, k.idle)
			k.work.Go(func() { k.watch(s) })
		}
		close(m.done)
		m = k.making
		k.mu.Unlock()
	}
}

// fail notes why there is no spare. What could not be undone counts as any failure to clean; everything else costs time only.
// The caller holds mu.
func (k *spares) fail(err error) {
	if recoveryFailure(err) {
		k.err = errors.Join(k.err, err)
	}
	if log := k.b.deps.Log; log != nil && !errors.Is(err, sandbox.ErrNoSpare) {
		log.Warn("no spare sandbox", "error", err)
	}
}

// leave takes the ready spare out, if there is one. The caller holds mu.
func (k *spares) leave() *spared {
	s := k.have
	k.have = nil
	if s != nil {
		close(s.taken)
	}
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	return s
}

// take hands the spare to a task, after waiting for one that is being built for the same guards: to begin anew would take longer.
// Nil means that there is none. Nobody else gets it again.
func (k *spares) take(ctx context.Context, guards []sandbox.Guard) *spared {
	for {
		k.mu.Lock()
		m := k.making
		if m == nil || k.closed || !sameGuards(m.guards, guards) {
			defer k.mu.Unlock()
			if k.have == nil || !k.have.alive() || !sameGuards(k.have.policy.Task.Guards, guards) {
				return nil
			}
			return k.leave()
		}
		k.mu.Unlock()
		select {
		case <-m.done:
		case <-ctx.Done():
			return nil
		}
	}
}

// watch notices the death of a spare that nobody has taken.
func (k *spares) watch(s *spared) {
	select {
	case <-s.taken:
		return
	case <-s.job.Lost():
	}
	k.mu.Lock()
	if k.have != s {
		k.mu.Unlock()
		return
	}
	k.leave()
	now := k.b.deps.Now()
	again := k.replaced.IsZero() || now.Sub(k.replaced) >= replaceTime
	if again {
		k.replaced = now
	}
	k.mu.Unlock()
	k.undo(s)
	if again {
		k.want(s.policy.Task.Guards)
	}
}

// idle ends a spare that nobody came for.
func (k *spares) idle() {
	k.mu.Lock()
	s := k.leave()
	k.mu.Unlock()
	k.undo(s)
}

// retire ends a spare that was taken, in the background.
func (k *spares) retire(s *spared) {
	if s != nil {
		k.work.Go(func() { k.undo(s) })
	}
}

// undo ends a spare and reverts everything of it.
func (k *spares) undo(s *spared) {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
	defer cancel()
	err := s.job.Close(ctx)
	if err == nil {
		err = s.tx.undo(ctx, nil)
	}
	if err != nil {
		k.mu.Lock()
		k.fail(unrecovered(s.tx.entry.Path(), err))
		k.mu.Unlock()
	}
}

// failure is what could not be undone.
func (k *spares) failure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

func (k *spares) close(ctx context.Context) error {
	k.mu.Lock()
	k.closed, k.next = true, nil
	m := k.making
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	k.mu.Unlock()
	if m != nil {
		select {
		case <-m.done: // what was begun is completed, because it can be undone then
		case <-ctx.Done():
			return unrecovered(k.b.deps.Instance.Path(), ctx.Err())
		}
	}
	k.mu.Lock()
	s := k.leave()
	k.mu.Unlock()
	k.undo(s)
	k.work.Wait()
	return k.failure()
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

func sameGuards(a, b []sandbox.Guard) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func recoveryFailure(err error) bool {
	return fault.CodeOf(err) == fault.RecoveryFailed
}
