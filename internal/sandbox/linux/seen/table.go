//go:build linux

package seen

import (
	"sync"

	"sekisho/internal/sandbox"
)

// most bounds the table. A program more forgets one of the others.
const most = 64

// Clock tells the time that file systems stamp changes with.
type Clock interface {
	// Now is nanoseconds of CLOCK_REALTIME.
	Now() int64
	// Stepped reports whether the clock was set, in whatever direction, since the last call; a doubt is a yes.
	Stepped() bool
}

// Table remembers full hashes. It is safe for concurrent use.
type Table struct {
	clock Clock

	mu    sync.Mutex
	known map[sandbox.FileID]record
}

// record is a full hash of a program in one state, and the writable roots under which nothing could reach it.
type record struct {
	state State
	sum   string
	scope string
}

// New returns an empty table.
func New(c Clock) *Table { return &Table{clock: c, known: map[sandbox.FileID]record{}} }

// Now is when a hash begins.
func (t *Table) Now() int64 { return t.clock.Now() }

// Unchanged reports whether a program that is in this state now has the digest sum because it had it at the last full hash.
// scope is as it was given to Keep. The state must have been read before the call.
func (t *Table) Unchanged(now State, sum, scope string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget()
	r, ok := t.known[now.ID]
	return ok && r.state == now && r.sum == sum && r.scope == scope
}

// Keep remembers that a program which was in state before and after a full hash, begun at begun, has the digest sum. It must
// have stood at an exec stop all the time. What cannot be known again is not remembered, and forgotten if it was.
func (t *Table) Keep(before, after State, begun int64, sum, scope string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget()
	delete(t.known, before.ID)
	if before != after || !before.lasting(begun) || t.clock.Now() < begun {
		return
	}
	if len(t.known) >= most {
		for id := range t.known {
			delete(t.known, id)
			break
		}
	}
	t.known[before.ID] = record{before, sum, scope}
}

// forget empties the table when the clock was set: stamps from before and after cannot be compared. The caller holds mu.
func (t *Table) forget() {
	if t.clock.Stepped() {
		clear(t.known)
	}
}
