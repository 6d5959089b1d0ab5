package history

import (
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

// maxTurnInfo bounds the turns whose whole is remembered beside those that have entries.
const maxTurnInfo = MaxItems

// Note takes a notification of generation gen. found is set when it shows a user message with its sender's id. Events of
// other generations and threads change nothing.
func (w *Window) Note(gen relay.Generation, n codex.Notification) (changed bool, found []Delivery) {
	scope := n.Scope()
	if gen != w.gen || scope.Thread != w.thread {
		return false, nil
	}
	before := w.version
	k := Key{scope.Turn, scope.Item}
	switch n := n.(type) {
	case *codex.ItemStarted:
		found = w.live(k, n.Item, Started, n.StartedAtMs, 0)
	case *codex.ItemCompleted:
		found = w.live(k, n.Item, Done, 0, n.CompletedAtMs)
	case *codex.ItemDelta:
		w.delta(k, partKinds[n.Name], n.Index, n.Delta)
	case *codex.PatchUpdated:
		w.edit(k, func(e *entry) {
			changes, size, cut := cutChanges(n.Changes)
			w.resize(e, e.size-e.changesSize+size)
			e.Cut += cut - e.changesCut
			e.Changes, e.changesSize, e.changesCut = changes, size, cut
		})
	case *codex.McpProgress:
		w.edit(k, func(e *entry) {
			note, _ := codex.Bound(n.Text, MaxItemText/64)
			w.resize(e, e.size-len(e.Note)+len(note))
			e.Note = note
		})
	case *codex.TurnStarted:
		w.whole(n.Turn)
	case *codex.TurnDone:
		w.whole(n.Turn)
		for _, i := range n.Turn.Items {
			found = append(found, w.live(Key{n.Turn.ID, i.ID}, i, Done, 0, 0)...)
		}
	case *codex.TurnPlan:
		w.info(n.TurnID, func(t *TurnInfo) {
			t.Plan = cutPlan(n.Plan)
			t.Explanation, _ = codex.Bound(n.Explanation, MaxPlan)
		})
	case *codex.TurnDiff:
		w.info(n.TurnID, func(t *TurnInfo) {
			t.Diff, t.DiffCut = codex.Bound(n.Diff, MaxItemText)
		})
	}
	w.bound()
	return w.version != before, found
}

// live takes an item of an event.
func (w *Window) live(k Key, i codex.Item, rank Rank, startedAt, doneAt int64) []Delivery {
	if k.Turn == "" || k.Item == "" {
		return nil
	}
	e, isNew := w.put(k, i, rank, startedAt, doneAt)
	if isNew {
		e.fresh = true
		w.place(k)
	}
	return deliveries(k, i)
}

func deliveries(k Key, i codex.Item) []Delivery {
	if m, ok := i.Body.(*codex.UserMessage); ok && m.ClientID != "" {
		return []Delivery{{m.ClientID, k.Turn, k.Item}}
	}
	return nil
}

// delta takes streamed text. For an item that was never seen to start, its beginning is missing.
func (w *Window) delta(k Key, kind string, index int, text string) {
	if k.Turn == "" || k.Item == "" || kind == "" {
		return
	}
	e, ok := w.entries[k]
	switch {
	case !ok:
		e = &entry{Entry: Entry{Key: k, Rank: Streaming, Item: codex.Item{ID: k.Item}, Partial: true}, fresh: true}
		w.entries[k] = e
		w.place(k)
	case e.Rank == Done:
		return
	}
	e.Severed = false
	w.resize(e, e.size+e.delta(kind, index, text))
	w.touch(e)
}

// edit changes an item in progress.
func (w *Window) edit(k Key, f func(*entry)) {
	if e, ok := w.entries[k]; ok && e.Rank < Done {
		f(e)
		w.touch(e)
	}
}

// whole takes a turn's own data; an end is final.
func (w *Window) whole(t codex.Turn) {
	w.info(t.ID, func(i *TurnInfo) {
		if !i.Status.Ended() {
			i.Status, i.Err = t.Status, t.Error
		}
		if i.StartedAt == 0 {
			i.StartedAt = t.StartedAt
		}
		if i.EndedAt == 0 {
			i.EndedAt = t.CompletedAt
		}
	})
}

func (w *Window) info(id relay.TurnID, f func(*TurnInfo)) {
	t, ok := w.turns[id]
	if !ok {
		if id == "" || len(w.turns) >= 2*maxTurnInfo {
			return
		}
		t = &TurnInfo{ID: id}
		w.turns[id] = t
	}
	f(t)
	w.version++
	w.weigh(t)
}

// weigh counts the texts of a turn anew.
func (w *Window) weigh(t *TurnInfo) {
	size := t.texts()
	w.text += size - t.size
	t.size, t.version = size, w.version
}
