// Package turn knows which turns run, from messages that may arrive in any order, twice, late, or not at all (R-CONN-03,
// R-CONN-08). It is pure.
//
// What is known about a turn or an item only grows: its status is the highest of those that were reported, in the order
// of Status. So the end of a turn cannot be undone by its late start, and every causally valid order of the same messages
// leads to the same state. Nothing is concluded from time passing.
//
// A State belongs to one generation. Messages of another one are ignored; a new generation starts with a new State, filled
// by what is read from the server (Known).
package turn

import (
	"cmp"
	"maps"
	"slices"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

// Status is how far a turn is.
type Status int

// The statuses, in the order in which one replaces another.
const (
	// Unseen: something of the turn was seen, such as a delta after joining mid-stream, but neither start nor end. It
	// does not count as running: it may be over for long.
	Unseen Status = iota
	Running
	// Over: the server said that the turn is not active any more, without saying how it ended.
	Over
	Interrupted
	Failed
	Completed
)

// String is for display keys and logs.
func (s Status) String() string {
	return [...]string{"unseen", "running", "over", "interrupted", "failed", "completed"}[s]
}

// Ended reports whether the turn cannot run any more.
func (s Status) Ended() bool { return s >= Over }

func statusOf(s codex.TurnStatus) Status {
	switch s {
	case codex.TurnCompleted:
		return Completed
	case codex.TurnFailed:
		return Failed
	case codex.TurnInterrupted:
		return Interrupted
	}
	return Running
}

// Limits of one generation. What is dropped first is what nothing can change any more; the end of a turn is remembered
// longer than its items.
const (
	MaxThreads       = 1024
	MaxTurns         = 4096 // per thread
	MaxDetailedTurns = 64   // ended turns per thread that keep their items and error
	MaxItems         = 10_000
)

// State is the reducer. It is not safe for concurrent use.
type State struct {
	gen     relay.Generation
	threads map[relay.ThreadID]*thread
	order   []relay.ThreadID
	starts  map[relay.OperationID]*start
	seq     uint64
}

type thread struct {
	status   codex.ThreadStatus
	turns    map[relay.TurnID]*turn
	order    []relay.TurnID // of first sight
	requests map[relay.Key]codex.Scope
}

type turn struct {
	status Status
	err    *codex.TurnError
	items  map[relay.ItemID]*item
}

type item struct {
	kind               string
	started, completed bool
}

// start is a turn/start or turn/steer of ours.
type start struct {
	seq     uint64
	thread  relay.ThreadID
	running []relay.TurnID // when it left
	turn    relay.TurnID
	settled bool
}

// New returns the empty state of a generation.
func New(gen relay.Generation) *State {
	return &State{gen: gen, threads: map[relay.ThreadID]*thread{}, starts: map[relay.OperationID]*start{}}
}

// Generation is the connection that this state is about.
func (s *State) Generation() relay.Generation { return s.gen }

func (s *State) thread(id relay.ThreadID) *thread {
	if t, ok := s.threads[id]; ok {
		return t
	}
	if len(s.threads) >= MaxThreads {
		s.dropThread()
	}
	t := &thread{turns: map[relay.TurnID]*turn{}, requests: map[relay.Key]codex.Scope{}}
	s.threads[id] = t
	s.order = append(s.order, id)
	return t
}

// dropThread forgets the oldest thread on which nothing happens, or the oldest one.
func (s *State) dropThread() {
	at := max(0, slices.IndexFunc(s.order, func(id relay.ThreadID) bool {
		t := s.threads[id]
		return len(t.running()) == 0 && len(t.requests) == 0
	}))
	delete(s.threads, s.order[at])
	s.order = slices.Delete(s.order, at, at+1)
}

func (t *thread) turn(id relay.TurnID) *turn {
	if u, ok := t.turns[id]; ok {
		return u
	}
	u := &turn{items: map[relay.ItemID]*item{}}
	t.turns[id] = u
	t.order = append(t.order, id)
	t.bound()
	return u
}

// bound drops the items and the errors of old ended turns, and the oldest ended turns.
func (t *thread) bound() {
	detailed := 0
	for _, id := range slices.Backward(t.order) {
		if u := t.turns[id]; u.status.Ended() && (len(u.items) > 0 || u.err != nil) {
			if detailed++; detailed > MaxDetailedTurns {
				u.items, u.err = map[relay.ItemID]*item{}, nil
			}
		}
	}
	for len(t.order) > MaxTurns {
		at := max(0, slices.IndexFunc(t.order, func(id relay.TurnID) bool { return t.turns[id].status != Running }))
		delete(t.turns, t.order[at])
		t.order = slices.Delete(t.order, at, at+1)
	}
}

// advance raises the status of a turn; the error is the one that came with it, whichever message told it.
func (u *turn) advance(to Status, err *codex.TurnError) bool {
	switch {
	case to > u.status:
		u.status, u.err = to, err
	case to == u.status && u.err == nil && err != nil:
		u.err = err
	default:
		return false
	}
	return true
}

func (t *thread) running() []relay.TurnID {
	var ids []relay.TurnID
	for id, u := range t.turns {
		if u.status == Running {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Turn is what is known about one turn.
type Turn struct {
	ID     relay.TurnID
	Status Status
	Err    *codex.TurnError
	Items  []Item // by id
}

// Item is what is known about one item. An item that is Open in an ended turn was cut off by an interrupt, or is a
// command that still runs: it may complete later.
type Item struct {
	ID   relay.ItemID
	Kind string // the item's type, "" while only deltas were seen
	Open bool
}

// Turn returns one turn.
func (s *State) Turn(thread relay.ThreadID, id relay.TurnID) (Turn, bool) {
	t, ok := s.threads[thread]
	if !ok || t.turns[id] == nil {
		return Turn{}, false
	}
	return t.turns[id].view(id), true
}

func (u *turn) view(id relay.TurnID) Turn {
	v := Turn{ID: id, Status: u.status, Err: u.err}
	for _, itemID := range slices.Sorted(maps.Keys(u.items)) {
		i := u.items[itemID]
		v.Items = append(v.Items, Item{itemID, i.kind, !i.completed})
	}
	return v
}

// Thread is what is known about one thread.
type Thread struct {
	ID       relay.ThreadID
	Status   codex.ThreadStatus
	Turns    []Turn      // by id
	Requests []relay.Key // open ones
}

// Thread returns one thread; ok is false when nothing was ever seen of it.
func (s *State) Thread(id relay.ThreadID) (Thread, bool) {
	t, ok := s.threads[id]
	if !ok {
		return Thread{}, false
	}
	v := Thread{ID: id, Status: t.status}
	for _, turnID := range slices.Sorted(maps.Keys(t.turns)) {
		v.Turns = append(v.Turns, t.turns[turnID].view(turnID))
	}
	v.Requests = slices.SortedFunc(maps.Keys(t.requests), func(a, b relay.Key) int { return cmp.Compare(a.Request.String(), b.Request.String()) })
	return v, true
}

// Running returns the turn that runs on a thread: the one to steer or to interrupt. The server runs one at a time; should
// it report several, it is the last by id.
func (s *State) Running(thread relay.ThreadID) (relay.TurnID, bool) {
	t, ok := s.threads[thread]
	if !ok {
		return "", false
	}
	ids := t.running()
	if len(ids) == 0 {
		return "", false
	}
	return ids[len(ids)-1], true
}

// WaitsUnseen reports whether the server says that a thread waits for a person although no request is here: it is to be
// answered elsewhere, or by joining (R-REC-08).
func (s *State) WaitsUnseen(thread relay.ThreadID) bool {
	t, ok := s.threads[thread]
	return ok && len(t.requests) == 0 && (slices.Contains(t.status.ActiveFlags, codex.FlagWaitApproval) || slices.Contains(t.status.ActiveFlags, codex.FlagWaitsUserInput))
}

// Starting reports whether a message of ours to this thread has no response yet: another one would race with it.
func (s *State) Starting(thread relay.ThreadID) bool {
	for _, st := range s.starts {
		if st.thread == thread && !st.settled {
			return true
		}
	}
	return false
}

// StartedTurn is the turn that operation op went to, and whether it was running already: the server steers it then.
func (s *State) StartedTurn(op relay.OperationID) (turn relay.TurnID, steered, ok bool) {
	st, found := s.starts[op]
	if !found || st.turn == "" {
		return "", false, false
	}
	steered = slices.Contains(st.running, st.turn)
	for _, other := range s.starts {
		steered = steered || other.thread == st.thread && other.turn == st.turn && other.seq < st.seq
	}
	return st.turn, steered, true
}
