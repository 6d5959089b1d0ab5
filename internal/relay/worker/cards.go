package worker

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/ask"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/history"
	"sekisho/internal/relay/ledger"
	"sekisho/internal/relay/uicontract"
)

// cardID is opaque to front ends: a request id can be a number beyond what JavaScript can hold.
func cardID(k relay.Key) string {
	return strconv.FormatUint(uint64(k.Generation), 10) + "." + k.Request.String()
}

func cardKey(id string) (relay.Key, bool) {
	gen, request, ok := strings.Cut(id, ".")
	n, err := strconv.ParseUint(gen, 10, 64)
	k := relay.Key{Generation: relay.Generation(n)}
	if !ok || err != nil || k.Request.UnmarshalJSON([]byte(request)) != nil {
		return relay.Key{}, false
	}
	return k, cardID(k) == id
}

// cardChanged is called by the registry without any lock held.
func (w *Worker) cardChanged(owner relay.Owner, key relay.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.part == nil || w.part.owner != owner {
		return
	}
	card, ok := w.asks.Card(owner, key)
	if !ok {
		return
	}
	body := w.card(card)
	w.emit(uicontract.EvCard, &body)
	if card.State == ask.Refused && card.Refusal != nil {
		problem := w.explain(card.Refusal)
		w.notify(uicontract.Notice{Kind: uicontract.NoticeRefused, Thread: card.Thread, Problem: &problem})
	}
	if t := w.part.threads[card.Thread]; t != nil && card.State == ask.Pending {
		w.emitHead(w.part, t) // it does not wait without a card any more
	}
}

// card is the contract's form; the lock is held.
func (w *Worker) card(c ask.Card) uicontract.Card {
	out := uicontract.Card{ID: cardID(c.Key), Order: c.Order, Kind: uicontract.CardKind(c.Kind), State: uicontract.CardState(c.State),
		Place: uicontract.Place{Profile: c.Profile, Host: c.Host}, Thread: c.Thread, Turn: c.Turn, Long: c.Long, Choices: c.Choices,
		Command: c.Command, File: c.File, Permissions: c.Permissions, Questions: c.Questions, Form: c.Form, Tool: c.Tool}
	out.AtMs = w.part.askedAt(c.Key, w.o.Now())
	if c.Item != "" {
		out.Item = itemID(c.Turn, c.Item)
	}
	if t := w.part.threads[c.Thread]; t != nil {
		out.Title = t.summary.Title
	}
	if c.Refusal != nil {
		problem := w.explain(c.Refusal)
		out.Refusal = &problem
	}
	return out
}

// answer sends a person's answer to one card. At most one answer leaves under any race (R-INT-01).
func (w *Worker) answer(ctx context.Context, c uicontract.Command, a *uicontract.Answer) (any, error) {
	key, ok := cardKey(a.Card)
	w.mu.Lock()
	part := w.part
	err := w.owned(c)
	if err == nil && w.live != nil {
		err = w.live.certain()
	}
	w.mu.Unlock()
	switch {
	case !ok || part == nil:
		return nil, refused("card_ended")
	case err != nil:
		return nil, err
	}
	state, err := w.asks.Answer(ctx, part.owner, ask.Answer{Key: key, Choice: a.Choice, Grants: a.Grants, Scope: a.Scope, Replies: a.Replies, Content: a.Content, SeenEnd: a.SeenEnd})
	w.o.Log.Info("card answered", "generation", uint64(key.Generation), "request", key.Request.String(), "outcome", string(state))
	switch {
	case state == ledger.OutcomeUnknown:
		return nil, fault.New(fault.CallOutcomeUnknown, fault.Variant("cut"), fault.Cause(err))
	case err != nil:
		return nil, err
	}
	return uicontract.Answered{Sent: true}, nil
}

// facts is what a request's card needs beside the request: the changes of a file change; the lock is held.
func (p *partition) facts(body codex.ServerRequest) ask.Facts {
	if _, ok := body.(*codex.FileApproval); !ok {
		return ask.Facts{}
	}
	scope := body.Scope()
	t := p.threads[scope.Thread]
	if t == nil {
		return ask.Facts{}
	}
	changes, cut := t.changes(scope)
	return ask.Facts{Changes: changes, Cut: cut}
}

// tellChanges tells the waiting file cards of a thread what its window says about their items, after pages were merged.
func (s *session) tellChanges(id relay.ThreadID) {
	for _, c := range s.w.asks.Cards(s.part.owner) {
		if c.Thread == id && c.File != nil && c.State.Open() && c.Key.Generation == s.gen {
			s.tell(id, history.Key{Turn: c.Turn, Item: c.Item})
		}
	}
}

// tell tells a file card what the window says now about its item; no lock is held. Of two that tell at once, the later one
// has the later changes: an older change never replaces a newer one on a card.
func (s *session) tell(id relay.ThreadID, k history.Key) {
	s.telling.Lock()
	defer s.telling.Unlock()
	w := s.w
	w.mu.Lock()
	var e history.Entry
	known := false
	if t := s.part.threads[id]; t != nil && w.live == s {
		e, known = t.win.Entry(k)
	}
	w.mu.Unlock()
	if known && isFileChange(e) {
		changes, cut := changesOf(e)
		w.asks.SetChanges(s.part.owner, s.gen, id, k.Turn, k.Item, changes, cut)
	}
}

// maxAsked is how many arrivals of cards are remembered. The registry keeps fewer cards; the oldest go first.
const maxAsked = 4096

// askedAt is when a card was seen first.
func (p *partition) askedAt(key relay.Key, now time.Time) int64 {
	at, known := p.asked[key]
	if !known {
		if len(p.asked) >= maxAsked {
			oldest := slices.Sorted(maps.Values(p.asked))[maxAsked/2]
			maps.DeleteFunc(p.asked, func(_ relay.Key, at int64) bool { return at <= oldest })
		}
		at = now.UnixMilli()
		p.asked[key] = at
	}
	return at
}
