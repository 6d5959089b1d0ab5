package owner

import (
	"sync"

	"sekisho/internal/relay"
)

// Partition holds one T per owner, of which only the active owner's can be reached. There is no way to list or to name
// another owner's: what is not active any more is gone before the next one exists.
//
// It is safe for concurrent use. T itself is reached one caller at a time.
type Partition[T any] struct {
	open  func(relay.Owner) T
	close func(relay.Owner, T)

	mu     sync.Mutex
	owner  relay.Owner
	active bool
	value  T
}

// NewPartition returns a Partition without an active owner. open makes an owner's state; close, which may be nil, ends it:
// it must make every reference that somebody still holds useless.
func NewPartition[T any](open func(relay.Owner) T, end func(relay.Owner, T)) *Partition[T] {
	if end == nil {
		end = func(relay.Owner, T) {}
	}
	return &Partition[T]{open: open, close: end}
}

// Switch makes to the active owner. Another owner's state is closed and forgotten first. It reports whether anything
// changed; the same owner keeps its state.
func (p *Partition[T]) Switch(to relay.Owner) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active && p.owner == to {
		return false
	}
	p.clear()
	p.owner, p.value, p.active = to, p.open(to), true
	return true
}

// Clear closes and forgets the active owner's state; afterwards nobody is active.
func (p *Partition[T]) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *Partition[T]) clear() {
	if !p.active {
		return
	}
	p.close(p.owner, p.value)
	var none T
	p.owner, p.value, p.active = relay.Owner{}, none, false
}

// With calls f with the state of owner o, if o is active, and reports whether it was. f must not keep the value, nor call
// the Partition.
func (p *Partition[T]) With(o relay.Owner, f func(T)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.active || p.owner != o {
		return false
	}
	f(p.value)
	return true
}

// Active returns the active owner.
func (p *Partition[T]) Active() (o relay.Owner, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.owner, p.active
}
