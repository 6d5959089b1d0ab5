package worker

import (
	"slices"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/history"
	"sekisho/internal/relay/turn"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/visible"
)

// progress takes in what happens in a thread that we take part in; the lock is held. Events of other threads reach
// neither the window nor a front end.
func (s *session) progress(n codex.Notification) {
	w, p, scope := s.w, s.part, n.Scope()
	t := p.threads[scope.Thread]
	if t == nil || t.mode != uicontract.Joined && !t.joining {
		return
	}
	k := history.Key{Turn: scope.Turn, Item: scope.Item}
	before, had := t.win.Entry(k)
	changed, found := t.win.Note(s.gen, n)
	s.found(t, found)
	switch n := n.(type) {
	case *codex.TurnStarted:
		t.latest(s, n.Turn.ID)
		w.emitHead(p, t)
		return
	case *codex.TurnDone:
		t.latest(s, n.Turn.ID)
		s.settleItems(t, n.Turn.ID)
		w.emitHead(p, t)
		return
	case *codex.ItemDelta:
		if had {
			s.delta(t, n, before)
			return
		}
	}
	if !changed {
		return
	}
	w.emitItem(p, t, k)
	s.nameByMessage(t, n)
	if e, ok := t.win.Entry(k); ok && isFileChange(e) {
		s.after = append(s.after, func() { s.tell(t.id, k) })
	}
}

// nameByMessage titles a new thread by its first message, as the server's own list will.
func (s *session) nameByMessage(t *thread, n codex.Notification) {
	done, ok := n.(*codex.ItemCompleted)
	if !ok || t.summary.Title != "" {
		return
	}
	if m, ok := done.Item.Body.(*codex.UserMessage); ok {
		text, _ := codex.Bound(userText(m), titleBytes)
		t.summary.Title = visible.Line(text, titleBytes)
		s.w.emitSummary(s.part, t)
	}
}

// latest makes a turn the one that the head shows, unless it ended before and another one is shown.
func (t *thread) latest(s *session, id relay.TurnID) {
	if known, ok := s.turns.Turn(t.id, id); t.lastTurn == "" || ok && !known.Status.Ended() {
		t.lastTurn = id
	}
}

// settleItems tells about the items that the end of their turn cut off.
func (s *session) settleItems(t *thread, id relay.TurnID) {
	for _, e := range t.win.Entries() {
		if e.Key.Turn == id && e.Rank < history.Done {
			s.w.emitItem(s.part, t, e.Key)
		}
	}
}

// delta tells by how much one part of a running item grew.
func (s *session) delta(t *thread, n *codex.ItemDelta, before history.Entry) {
	after, ok := t.win.Entry(before.Key)
	if !ok || after.Rank == history.Done || !t.open || s.w.part != s.part {
		return
	}
	for i, part := range after.Parts {
		old := 0
		if i < len(before.Parts) {
			old = len(before.Parts[i].Text)
		}
		if old == len(part.Text) {
			continue
		}
		of, index := partOf(part)
		s.w.events.delta(uicontract.Delta{Thread: t.id, Turn: n.TurnID, Item: itemID(n.TurnID, n.ItemID), Of: of, Part: index, Text: valid(part.Text[old:]), Bytes: len(part.Text)})
	}
}

func partOf(p history.Part) (uicontract.DeltaOf, int) {
	switch p.Kind {
	case "summary":
		return uicontract.OfSummary, max(0, min(p.Index, maxParts))
	case "content":
		return uicontract.OfContent, max(0, min(p.Index, maxParts))
	}
	return uicontract.OfText, 0
}

// maxParts bounds the index of a reasoning part.
const maxParts = 1000

// found tells the ledger about messages of ours that the server has: delivery, nothing more (R-REC-07).
func (s *session) found(t *thread, found []history.Delivery) {
	for _, d := range found {
		if op, ours := s.part.sent[d.MessageID]; ours {
			// An error says that the ledger knows better, or has forgotten the operation.
			_ = s.part.book.Correlate(op, s.gen, d.Turn, d.Item)
		}
		if id := s.part.book.Found(t.id, d.MessageID, d.Turn, d.Item); id != "" {
			s.w.outcomeChanged(s.part, id)
		}
	}
}

// emitItem tells about one item with its place; the lock is held.
func (w *Worker) emitItem(p *partition, t *thread, k history.Key) {
	if !t.open || w.part != p {
		return
	}
	entries := t.win.Entries()
	i := slices.IndexFunc(entries, func(e history.Entry) bool { return e.Key == k })
	if i < 0 {
		return
	}
	e := uicontract.ItemEvent{Thread: t.id, Item: w.item(p, t, entries[i], uicontract.PreviewBytes)}
	if i > 0 {
		e.After = itemID(entries[i-1].Key.Turn, entries[i-1].Key.Item)
	}
	w.emit(uicontract.EvItem, &e)
}

// item is the contract's form of an entry; the lock is held. What still streams keeps its end, so that further text fits
// onto it.
func (w *Worker) item(p *partition, t *thread, e history.Entry, limit int) uicontract.Item {
	out := project(e.Key.Turn, e.Item, limit)
	out.ID = itemID(e.Key.Turn, e.Key.Item)
	out.Partial, out.Cut = e.Partial, e.Cut
	if known, ok := t.win.Turn(e.Key.Turn); ok {
		out.TurnAt = known.StartedAt
	}
	if m, ok := e.Item.Body.(*codex.UserMessage); ok && m.ClientID != "" {
		out.Operation = p.sent[m.ClientID]
	}
	if e.Rank == history.Done {
		return out
	}
	out.Status = uicontract.ItemRunning
	if s := w.live; e.Severed || s == nil || s.part != p {
		out.Status = uicontract.ItemAbandoned
	} else if known, ok := s.turns.Turn(t.id, e.Key.Turn); ok && known.Status.Ended() && (out.Command == nil || known.Status != turn.Completed) {
		// A command can outlive a turn that completed; one that an interrupt cut off is never heard of again.
		out.Status = uicontract.ItemAbandoned
	}
	if e.Changes != nil {
		out.Files = files(e.Changes, limit)
	}
	if e.Note != "" {
		out.Note = visible.Line(e.Note, noticeBytes)
	}
	if len(e.Parts) > 0 {
		out.Text, out.Reasoning, out.Content = nil, nil, nil
	}
	for _, part := range e.Parts {
		text := tail(part.Text, limit)
		switch of, index := partOf(part); of {
		case uicontract.OfSummary:
			out.Reasoning = put(out.Reasoning, index, text)
		case uicontract.OfContent:
			out.Content = put(out.Content, index, text)
		default:
			out.Text = &text
		}
	}
	return out
}

func put(list []uicontract.Excerpt, i int, e uicontract.Excerpt) []uicontract.Excerpt {
	for len(list) <= i {
		list = append(list, uicontract.Excerpt{})
	}
	list[i] = e
	return list
}

func isFileChange(e history.Entry) bool {
	_, ok := e.Item.Body.(*codex.FileChange)
	return ok || e.Changes != nil || e.Item.Type == "fileChange"
}

// changesOf are the changes of a file-change item, as far as they are known; cut says that they are not whole, and then
// nobody may judge by them.
func changesOf(e history.Entry) (changes []codex.FileUpdate, cut bool) {
	if e.Changes != nil {
		return e.Changes, e.Cut > 0
	}
	if b, ok := e.Item.Body.(*codex.FileChange); ok {
		return b.Changes, e.Cut > 0
	}
	return nil, e.Cut > 0
}

func (t *thread) changes(scope codex.Scope) (changes []codex.FileUpdate, cut bool) {
	e, ok := t.win.Entry(history.Key{Turn: scope.Turn, Item: scope.Item})
	if !ok {
		return nil, false
	}
	return changesOf(e)
}
