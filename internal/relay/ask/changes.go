package ask

import (
	"slices"
	"strconv"
	"strings"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

// SetChanges tells what a file approval is about: when its item is seen, and again whenever it changes. cut says that
// changes are not whole; such, none, and more than a card may show leave nothing to accept. Changes that differ from those
// that were shown replace them, and then an answer to the former card does not accept, nor one that has not seen the end.
func (r *Registry) SetChanges(owner relay.Owner, gen relay.Generation, thread relay.ThreadID, turn relay.TurnID, item relay.ItemID, changes []codex.FileUpdate, cut bool) {
	var keys []relay.Key
	r.mu.Lock()
	for k, rec := range r.cards {
		c := &rec.card
		if c.Owner == owner && k.Generation == gen && c.Thread == thread && c.Turn == turn && c.Item == item && c.State == Pending && c.File != nil && rec.setChanges(changes, cut) {
			keys = append(keys, k)
		}
	}
	r.mu.Unlock()
	for _, k := range keys {
		r.changed(owner, k)
	}
}

// setChanges reports whether the card changed.
func (rec *record) setChanges(changes []codex.FileUpdate, cut bool) bool {
	c := rec.card
	v := *c.File
	describe(&v, changes, cut)
	if v.Known == c.File.Known && (!v.Known || slices.Equal(changes, rec.shown)) {
		return false
	}
	c.File = &v
	if c.size() > MaxShown {
		describe(&v, nil, false)
	}
	switch {
	case !v.Known || slices.Equal(changes, rec.shown):
	case rec.shown == nil:
		rec.shown = slices.Clone(changes)
	default:
		rec.shown = slices.Clone(changes)
		rec.revision++
		c.Choices = slices.Clone(c.Choices)
		for i := range c.Choices {
			c.Choices[i].ID = revised(i, rec.revision)
		}
	}
	c.Long = rec.revision > 0 || c.size() > LongText
	changed := v.Known || c.File.Known != rec.card.File.Known
	rec.card = c
	return changed
}

// describe shows the changes, all of them or none: a part, and nothing at all, is nothing that a person can accept.
func describe(v *FileView, changes []codex.FileUpdate, cut bool) {
	v.Known, v.Changes = false, nil
	if len(changes) == 0 || cut {
		return
	}
	v.Known, v.Changes = true, make([]ChangeView, 0, len(changes))
	for _, ch := range changes {
		v.Changes = append(v.Changes, ChangeView{literal(ch.Path), oneOf(ch.Kind.Type, "add", "delete", "update"), optional(ch.Kind.MovePath), literal(ch.Diff)})
	}
}

// revised is the id of choice i of a card whose changes were replaced revision times, so that an answer tells which ones
// it is about.
func revised(i, revision int) string { return strconv.Itoa(i) + "." + strconv.Itoa(revision) }

// current is the id that a choice has now; ok is false when id is one that it had before other changes were shown.
func current(choices []Choice, id string) (now string, ok bool) {
	if slices.ContainsFunc(choices, func(c Choice) bool { return c.ID == id }) {
		return id, true
	}
	former, _, _ := strings.Cut(id, ".")
	for _, c := range choices {
		if i, _, _ := strings.Cut(c.ID, "."); i == former {
			return c.ID, false
		}
	}
	return id, true
}
