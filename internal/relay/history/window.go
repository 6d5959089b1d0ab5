package history

import (
	"slices"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

// Window is the displayed part of one thread. It is not safe for concurrent use.
type Window struct {
	owner   relay.Owner
	thread  relay.ThreadID
	gen     relay.Generation
	entries map[Key]*entry
	order   []Key // oldest first
	turns   map[relay.TurnID]*TurnInfo
	text    int // bytes
	version uint64
	stale   bool
	evicted bool
	items   pager
	turnsP  pager
}

// New returns an empty Window, bound to generation gen (0: no connection yet).
func New(owner relay.Owner, thread relay.ThreadID, gen relay.Generation) *Window {
	w := &Window{owner: owner, thread: thread, gen: gen}
	w.Clear()
	return w
}

// Owner and Thread tell what the window is on.
func (w *Window) Owner() relay.Owner { return w.owner }

// Thread is the thread of the window.
func (w *Window) Thread() relay.ThreadID { return w.thread }

// Clear forgets everything.
func (w *Window) Clear() {
	w.entries, w.order, w.turns = map[Key]*entry{}, nil, map[relay.TurnID]*TurnInfo{}
	w.text, w.stale, w.evicted = 0, false, false
	w.items, w.turnsP = newPager(), newPager()
	w.version++
}

// Rebind binds the window to a new generation. What was in progress is severed; the newest pages must be read again.
func (w *Window) Rebind(gen relay.Generation) {
	if gen == w.gen {
		return
	}
	w.gen = gen
	w.sever(true)
}

// Lost says that events of this generation did not arrive (R-REC-11): the newest pages must be read again.
func (w *Window) Lost() { w.sever(false) }

func (w *Window) sever(ended bool) {
	w.stale = true
	w.version++
	for _, e := range w.entries {
		e.fresh = false
		if e.Rank < Done {
			e.Partial = true
			e.Severed = e.Severed || ended
			e.Version = w.version
		}
	}
}

// Stale reports whether the newest page must be read before the window is complete at its end.
func (w *Window) Stale() bool { return w.stale }

// Version grows with every change.
func (w *Window) Version() uint64 { return w.version }

// Text is how many bytes the window holds.
func (w *Window) Text() int { return w.text }

// Entries returns the window, oldest first. Bodies are shared: do not change them.
func (w *Window) Entries() []Entry {
	list := make([]Entry, 0, len(w.order))
	for _, k := range w.order {
		list = append(list, w.entries[k].view())
	}
	return list
}

// Since returns the entries that changed after version.
func (w *Window) Since(version uint64) []Entry {
	var list []Entry
	for _, k := range w.order {
		if e := w.entries[k]; e.Version > version {
			list = append(list, e.view())
		}
	}
	return list
}

// Entry returns one entry.
func (w *Window) Entry(k Key) (Entry, bool) {
	e, ok := w.entries[k]
	if !ok {
		return Entry{}, false
	}
	return e.view(), true
}

// Turn returns what is known about a turn as a whole.
func (w *Window) Turn(id relay.TurnID) (TurnInfo, bool) {
	t, ok := w.turns[id]
	if !ok {
		return TurnInfo{}, false
	}
	return *t, true
}

// put raises what is known of an item. New entries are not in the order yet: the caller places them.
func (w *Window) put(k Key, i codex.Item, rank Rank, startedAt, doneAt int64) (e *entry, isNew bool) {
	e, ok := w.entries[k]
	if !ok {
		e = &entry{Entry: Entry{Key: k}}
		w.entries[k] = e
	}
	if e.StartedAtMs == 0 {
		e.StartedAtMs = startedAt
	}
	if e.DoneAtMs == 0 {
		e.DoneAtMs = doneAt
	}
	switch {
	case ok && (e.Rank == Done || e.Rank == Started && rank == Started):
		return e, false
	case rank == Done:
		item, size, cut := shrink(i)
		e.Item, e.Rank, e.Cut = item, Done, cut
		e.parts, e.Changes, e.Note, e.Partial, e.Severed = nil, nil, "", false, false
		e.changesSize, e.changesCut = 0, 0
		w.resize(e, size)
	default:
		item, size, cut := shrink(i)
		e.Item, e.Rank, e.Cut = item, Started, e.Cut+cut
		w.resize(e, e.size+size)
	}
	w.touch(e)
	return e, !ok
}

func (w *Window) resize(e *entry, size int) {
	w.text += size - e.size
	e.size = size
}

func (w *Window) touch(e *entry) {
	w.version++
	e.Version = w.version
}

// place puts a new live entry behind the last one of its turn, or at the end.
func (w *Window) place(k Key) {
	at := len(w.order)
	for i, o := range slices.Backward(w.order) {
		if o.Turn == k.Turn {
			at = i + 1
			break
		}
	}
	w.order = slices.Insert(w.order, at, k)
}

// bound forgets the texts of turns without entries and then the oldest entries until the limits hold.
func (w *Window) bound() {
	for len(w.order) > MaxItems || w.text > MaxText {
		if len(w.order) <= MaxItems {
			if w.lighten() {
				continue
			}
			if len(w.order) <= 1 {
				return
			}
		}
		w.drop(w.order[0])
		w.order = w.order[1:]
		w.evicted = true
	}
}

// lighten forgets the texts of the turn without entries whose texts are the oldest, and reports whether there is one.
func (w *Window) lighten() bool {
	here := map[relay.TurnID]bool{}
	for _, k := range w.order {
		here[k.Turn] = true
	}
	var oldest *TurnInfo
	for id, t := range w.turns {
		if !here[id] && t.size > 0 && (oldest == nil || t.version < oldest.version) {
			oldest = t
		}
	}
	if oldest == nil {
		return false
	}
	oldest.DiffCut += len(oldest.Diff)
	oldest.Diff, oldest.Explanation, oldest.Plan, oldest.Err = "", "", nil, nil
	w.version++
	w.weigh(oldest)
	return true
}

func (w *Window) drop(k Key) {
	w.resize(w.entries[k], 0)
	delete(w.entries, k)
	if !slices.ContainsFunc(w.order, func(o Key) bool { return o != k && o.Turn == k.Turn }) {
		if t := w.turns[k.Turn]; t != nil {
			w.text -= t.size
			delete(w.turns, k.Turn)
		}
	}
	w.version++
}
