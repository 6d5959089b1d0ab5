package history

import (
	"slices"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

// Stop is why nothing older is read.
type Stop string

// The reasons.
const (
	NoStop    Stop = ""
	Beginning Stop = "beginning"   // the thread's first item is here
	Full      Stop = "window_full" // the window's limits are reached
	Cycle     Stop = "cycle"       // the server repeats a cursor, or pages bring nothing new
	TooMany   Stop = "too_many_pages"
	NotRead   Stop = "not_read" // the newest page comes first
)

// pager follows the cursors of one list towards the past.
type pager struct {
	read   bool
	next   string
	seen   map[string]bool
	pages  int
	barren int
	stop   Stop
	oldest Key // of the last page: the next one stands before it
}

func newPager() pager { return pager{seen: map[string]bool{}} }

// take notes the outcome of a page.
func (p *pager) take(next string, added int, facts []fact) {
	p.read = true
	if len(facts) > 0 {
		p.oldest = facts[0].key
	}
	p.pages++
	if p.barren++; added > 0 {
		p.barren = 0
	}
	p.next = next
	switch {
	case next == "":
		p.stop = Beginning
	case p.seen[next] || p.barren >= maxBarren || len(next) > maxCursor:
		p.stop = Cycle
	case p.pages >= MaxPages:
		p.stop = TooMany
	}
	p.seen[next] = true
}

// NewestItems and NewestTurns are the parameters of a thread's first pages (R-REC-04).
func NewestItems(thread relay.ThreadID) codex.ItemsListParams {
	return codex.ItemsListParams{ThreadID: thread, Limit: 100, SortDirection: codex.Descending}
}

// NewestTurns asks for the newest turns with their first and last items.
func NewestTurns(thread relay.ThreadID) codex.TurnsListParams {
	return codex.TurnsListParams{ThreadID: thread, Limit: 50, SortDirection: codex.Descending, ItemsView: codex.ViewSummary}
}

// NewestItems and NewestTurns are those of the window's thread.
func (w *Window) NewestItems() codex.ItemsListParams { return NewestItems(w.thread) }

// NewestTurns is NewestItems for turns.
func (w *Window) NewestTurns() codex.TurnsListParams { return NewestTurns(w.thread) }

// OlderItems are the parameters of the next older page, with the cursor that the server returned.
func (w *Window) OlderItems() (codex.ItemsListParams, Stop) {
	p := w.NewestItems()
	p.Cursor = codex.ItemsCursor{Page: w.items.next}
	return p, w.stop(w.items)
}

// OlderTurns is OlderItems for turns.
func (w *Window) OlderTurns() (codex.TurnsListParams, Stop) {
	p := w.NewestTurns()
	p.Cursor = w.turnsP.next
	return p, w.stop(w.turnsP)
}

// Evicted reports that items at the window's beginning were forgotten since the newest page was read: the window is full,
// also when the thread began here and no page was ever read.
func (w *Window) Evicted() bool { return w.evicted }

func (w *Window) stop(p pager) Stop {
	switch {
	case !p.read:
		return NotRead
	case p.stop != NoStop:
		return p.stop
	case w.evicted || len(w.order) >= MaxItems || w.text >= MaxText:
		// What is older than the window is not next to the cursor any more, or there is no room for it.
		return Full
	}
	return NoStop
}

// TurnItems are the parameters of the next page of one turn's items, from its end. Where the version has it, the newest
// item that we hold is the exclusive anchor of the first page, so that it is not sent again.
func (w *Window) TurnItems(turn relay.TurnID, version string) (codex.ItemsListParams, Stop) {
	p := w.NewestItems()
	p.TurnID = turn
	if t := w.turns[turn]; t != nil && t.pages.read {
		p.Cursor = codex.ItemsCursor{Page: t.pages.next}
		if stop := w.stop(t.pages); stop != Full || len(w.order) >= MaxItems || w.text >= MaxText {
			return p, stop
		}
		return p, NoStop // what was forgotten at the window's beginning does not matter here
	}
	if version != codex.Target {
		return p, NoStop // 0.155.1 answers an anchor with -32600
	}
	for _, k := range slices.Backward(w.order) {
		if k.Turn == turn && w.entries[k].Rank == Done {
			p.Cursor = codex.ItemsCursor{Anchor: k.Item}
			break
		}
	}
	return p, NoStop
}
