package broker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
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
		if !slices.Equal(k.making.guards, guards) {
			k.next = m
		}
		return
	}
	if k.have != nil && slices.Equal(k.have.policy.Task.Guards, guards) && k.have.alive() {
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
	if fault.CodeOf(err) == fault.RecoveryFailed {
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
		if m == nil || k.closed || !slices.Equal(m.guards, guards) {
			defer k.mu.Unlock()
			if k.have == nil || !k.have.alive() || !slices.Equal(k.have.policy.Task.Guards, guards) {
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
