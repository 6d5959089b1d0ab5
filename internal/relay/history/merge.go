package history

import (
	"slices"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

// Merged is what a page brought.
type Merged struct {
	Ignored bool // it belongs to another generation or answers a question that is not asked any more
	Added   int
	Gap     bool // it did not touch what was there: the window starts anew from this page
	Found   []Delivery
}

// fact is an item of a page.
type fact struct {
	key               Key
	item              codex.Item
	rank              Rank
	startedAt, doneAt int64
}

// MergeItems merges a page of thread/items/list, newest first, that was asked for with asked on generation gen.
func (w *Window) MergeItems(gen relay.Generation, asked codex.ItemsListParams, page codex.ItemsListResult) Merged {
	if gen != w.gen || asked.ThreadID != w.thread {
		return Merged{Ignored: true}
	}
	data := page.Data[:min(len(page.Data), MaxPageSize)]
	facts := make([]fact, 0, len(data))
	for _, e := range slices.Backward(data) {
		facts = append(facts, fact{Key{e.TurnID, e.Item.ID}, e.Item, rankOf(e.Item, e.CompletedAtMs), e.StartedAtMs, e.CompletedAtMs})
	}
	if asked.TurnID != "" {
		return w.mergeTurn(asked, page.NextCursor, facts)
	}
	return w.merge(&w.items, asked.Cursor.Page, page.NextCursor, facts)
}

// MergeTurns merges a page of thread/turns/list, newest first.
func (w *Window) MergeTurns(gen relay.Generation, asked codex.TurnsListParams, page codex.TurnsListResult) Merged {
	if gen != w.gen || asked.ThreadID != w.thread {
		return Merged{Ignored: true}
	}
	var facts []fact
	for _, t := range slices.Backward(page.Data[:min(len(page.Data), MaxPageSize)]) {
		w.whole(t)
		for _, i := range t.Items {
			facts = append(facts, fact{key: Key{t.ID, i.ID}, item: i, rank: rankOf(i, 0)})
		}
	}
	return w.merge(&w.turnsP, asked.Cursor, page.NextCursor, facts)
}

// merge merges facts, oldest first, of the newest page (cursor "") or of the next older one.
func (w *Window) merge(p *pager, cursor, next string, facts []fact) Merged {
	if cursor != "" && (cursor != p.next || w.stop(*p) != NoStop) {
		return Merged{Ignored: true}
	}
	facts = unique(facts)
	known := slices.ContainsFunc(facts, func(f fact) bool { return w.entries[f.key] != nil })
	var m Merged
	if cursor == "" {
		settled := slices.ContainsFunc(w.order, func(k Key) bool { return !w.entries[k].fresh })
		if p.read && settled && !known && len(facts) > 0 {
			m.Gap = true
			w.restart()
		}
	} else {
		facts = w.fitting(facts)
	}
	at := max(0, slices.Index(w.order, p.oldest))
	if cursor == "" {
		at = w.end(facts)
	}
	w.apply(facts, at, &m)
	if cursor != "" || !p.read || m.Gap {
		p.take(next, m.Added, facts)
	}
	if cursor == "" {
		w.stale = false
		w.bound()
	}
	return m
}

// end is where the newest page stands when it touches nothing: behind what is known of its last turn, and before what was
// seen live.
func (w *Window) end(facts []fact) int {
	if len(facts) > 0 {
		turn := facts[len(facts)-1].key.Turn
		for i, k := range slices.Backward(w.order) {
			if k.Turn == turn && !w.entries[k].fresh {
				return i + 1
			}
		}
	}
	if i := slices.IndexFunc(w.order, func(k Key) bool { return w.entries[k].fresh }); i >= 0 {
		return i
	}
	return len(w.order)
}

// unique keeps the newest of entries that have the same id: identity is the id alone.
func unique(facts []fact) []fact {
	seen := map[Key]bool{}
	var list []fact
	for _, f := range slices.Backward(facts) {
		if f.key.Turn != "" && f.key.Item != "" && !seen[f.key] {
			seen[f.key] = true
			list = append(list, f)
		}
	}
	slices.Reverse(list)
	return list
}

// restart keeps only what was seen live since: the rest is not next to the newest page.
func (w *Window) restart() {
	kept := make([]Key, 0, len(w.order))
	for _, k := range w.order {
		if w.entries[k].fresh {
			kept = append(kept, k)
		} else {
			w.resize(w.entries[k], 0)
			delete(w.entries, k)
		}
	}
	w.order, w.evicted = kept, false
	w.items, w.turnsP = newPager(), newPager()
	w.version++
}

// fitting is the newest part of an older page that there is room for: going back never pushes out the present.
func (w *Window) fitting(facts []fact) []fact {
	items, text := len(w.order), w.text
	for i, f := range slices.Backward(facts) {
		if w.entries[f.key] != nil {
			continue
		}
		items++
		text += min(len(f.item.Raw), MaxItemText)
		if items > MaxItems || text > MaxText {
			w.evicted = true
			return facts[i+1:]
		}
	}
	return facts
}

// apply raises what is known of the facts' items and orders them as the page does. A page of which nothing is known stands
// before the entry at the index otherwise.
func (w *Window) apply(facts []fact, otherwise int, m *Merged) {
	var fresh []Key // new ones, to be placed
	isNew := map[Key]bool{}
	for _, f := range facts {
		_, added := w.put(f.key, f.item, f.rank, f.startedAt, f.doneAt)
		m.Found = append(m.Found, deliveries(f.key, f.item)...)
		if added {
			m.Added++
			isNew[f.key] = true
			fresh = append(fresh, f.key)
		}
	}
	w.arrange(facts, isNew)
	if len(fresh) == 0 {
		return
	}
	// Every new entry stands before the next known one of the page; those at the end stand behind the last known one.
	at := map[Key]int{}
	for i, k := range w.order {
		at[k] = i
	}
	before := map[int][]Key{}
	pos := otherwise
	for i := len(facts) - 1; i >= 0; i-- {
		if !isNew[facts[i].key] {
			pos = at[facts[i].key] + 1
			break
		}
	}
	for _, f := range slices.Backward(facts) {
		if !isNew[f.key] {
			pos = at[f.key]
			continue
		}
		before[pos] = append(before[pos], f.key)
	}
	order := make([]Key, 0, len(w.order)+len(fresh))
	for i := 0; i <= len(w.order); i++ {
		for _, k := range slices.Backward(before[i]) {
			order = append(order, k)
		}
		if i < len(w.order) {
			order = append(order, w.order[i])
		}
	}
	w.order = order
}

// arrange gives the places that the known entries of a page have to the same entries in the page's order. Entries that
// are not in the page keep their places.
func (w *Window) arrange(facts []fact, isNew map[Key]bool) {
	var known []Key
	in := map[Key]bool{}
	for _, f := range facts {
		if !isNew[f.key] {
			known = append(known, f.key)
			in[f.key] = true
		}
	}
	n := 0
	for i, k := range w.order {
		if in[k] {
			w.order[i] = known[n]
			n++
		}
	}
}

// mergeTurn merges items of one turn. A turn that is not in the window has no place there.
func (w *Window) mergeTurn(asked codex.ItemsListParams, next string, facts []fact) Merged {
	turn := asked.TurnID
	last, here := Key{}, false
	for _, k := range w.order {
		if k.Turn == turn {
			last, here = k, true
		}
	}
	if !here {
		return Merged{Ignored: true}
	}
	w.info(turn, func(t *TurnInfo) {
		if t.pages.seen == nil {
			t.pages = newPager()
		}
	})
	t := w.turns[turn]
	if t == nil || t.pages.read != (asked.Cursor.Page != "") || asked.Cursor.Page != t.pages.next {
		return Merged{Ignored: true}
	}
	facts = w.fitting(slices.DeleteFunc(unique(facts), func(f fact) bool { return f.key.Turn != turn }))
	if t.pages.oldest != (Key{}) {
		last = t.pages.oldest
	}
	var m Merged
	w.apply(facts, max(0, slices.Index(w.order, last)), &m)
	t.pages.take(next, m.Added, facts)
	t.Full = t.pages.stop == Beginning
	return m
}
