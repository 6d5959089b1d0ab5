package ask

import (
	"context"
	"slices"
	"sync"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/ledger"
	"sekisho/internal/relay/rpc"
)

// MaxSettled is how many settled cards are kept for display.
const MaxSettled = 200

// Registry holds the cards of all owners, each to be seen and answered by its owner only. It is safe for concurrent use.
type Registry struct {
	changed func(relay.Owner, relay.Key)

	mu    sync.Mutex
	next  uint64
	cards map[relay.Key]*record
	order []relay.Key
}

type record struct {
	card Card
	body codex.ServerRequest
	wire Wire
	// shown are the last changes of a file approval that the card showed; revision counts how often others replaced them.
	shown    []codex.FileUpdate
	revision int
}

// New returns an empty registry. changed, if not nil, is called after every change of a card, without any lock held and
// from whichever goroutine made it: read the card then.
func New(changed func(relay.Owner, relay.Key)) *Registry {
	if changed == nil {
		changed = func(relay.Owner, relay.Key) {}
	}
	return &Registry{changed: changed, cards: map[relay.Key]*record{}}
}

// Add registers a request of a live generation whose answers go to wire. What must not reach a person is refused here, at
// once and with one reply; ctx bounds that reply. A key whose card is open is ignored: added is false then. A card that is
// settled gives way: a server that uses an id again asks anew.
func (r *Registry) Add(ctx context.Context, wire Wire, from Origin, req rpc.Request, facts Facts) (card Card, added bool) {
	scope := req.Body.Scope()
	c := Card{Key: req.Key, State: Pending, Owner: from.Owner, Profile: from.Profile, Host: from.Host, Thread: scope.Thread, Turn: scope.Turn, Item: scope.Item}
	no := project(&c, req, facts)
	c.Long = c.size() > LongText

	r.mu.Lock()
	if old, ok := r.cards[req.Key]; ok {
		if old.card.State.Open() {
			r.mu.Unlock()
			return Card{}, false
		}
		r.order = slices.DeleteFunc(r.order, func(k relay.Key) bool { return k == req.Key })
	}
	r.next++
	c.Order = r.next
	rec := &record{card: c, body: req.Body, wire: wire}
	if c.File != nil && c.File.Known {
		rec.shown = slices.Clone(facts.Changes)
	}
	if no != nil {
		rec.body, rec.wire = nil, nil
	}
	r.cards[req.Key] = rec
	r.order = append(r.order, req.Key)
	r.trim()
	r.mu.Unlock()

	if no != nil {
		// Whatever becomes of the refusal, the request is never offered: an error means that it is not pending any more.
		if no.result != nil {
			_, _ = wire.Reply(ctx, req.Key, no.result)
		} else {
			_, _ = wire.ReplyError(ctx, req.Key, codex.RPCError{Code: no.code, Message: "refused by this client"})
		}
	}
	r.changed(from.Owner, req.Key)
	return c, true
}

// trim forgets the oldest settled cards.
func (r *Registry) trim() {
	settled := 0
	for _, k := range r.order {
		if !r.cards[k].card.State.Open() {
			settled++
		}
	}
	r.order = slices.DeleteFunc(r.order, func(k relay.Key) bool {
		if settled <= MaxSettled || r.cards[k].card.State.Open() {
			return false
		}
		settled--
		delete(r.cards, k)
		return true
	})
}

// Answer sends a person's answer: owner, then validity, then the claim, then one reply. The returned state is Sent when
// it was handed over, OutcomeUnknown when it may have been, and NotSent with an error otherwise; only after NotSent, and
// while the card is still Pending, may the person answer again.
//
// Errors: request.gone (answered, resolved, ended, closed; also for a card of another owner), answer.invalid, those of
// rpc.Client.Reply.
func (r *Registry) Answer(ctx context.Context, owner relay.Owner, a Answer) (ledger.State, error) {
	r.mu.Lock()
	rec, ok := r.cards[a.Key]
	if !ok || rec.card.Owner != owner {
		r.mu.Unlock()
		return ledger.NotSent, fault.New(fault.RequestGone)
	}
	if rec.card.State != Pending {
		err := goneAs(rec.card.State)
		r.mu.Unlock()
		return ledger.NotSent, err
	}
	result, err := reply(&rec.card, rec.body, a)
	if err != nil {
		r.mu.Unlock()
		return ledger.NotSent, err
	}
	rec.card.State = Answering
	wire := rec.wire
	r.mu.Unlock()
	r.changed(owner, a.Key)

	outcome, err := wire.Reply(ctx, a.Key, result)

	r.mu.Lock()
	if rec.card.State == Answering { // else it was settled meanwhile, and that stands
		switch outcome {
		case ledger.NotSent:
			rec.card.State = Pending
			if f := fault.As(err); f != nil && f.Code == fault.RequestGone {
				rec.settle(goneState(f.Variant))
			}
		case ledger.Sent, ledger.Confirmed:
			rec.settle(Answered)
		default:
			rec.settle(Unknown)
		}
	} else if outcome == ledger.Sent || outcome == ledger.Confirmed {
		rec.card.State = Answered
	} else if outcome == ledger.OutcomeUnknown {
		rec.card.State = Unknown
	}
	r.mu.Unlock()
	r.changed(owner, a.Key)
	return outcome, err
}

// settle ends a card. What it was answered with is not kept.
func (rec *record) settle(s State) {
	rec.card.State = s
	rec.body, rec.wire, rec.shown = nil, nil, nil
}

func goneAs(s State) *fault.Error {
	variant := map[State]string{Answering: "answered", Answered: "answered", Unknown: "answered", Refused: "answered",
		Resolved: "resolved", Ended: "ended", Closed: "closed", Expired: "closed"}[s]
	return fault.New(fault.RequestGone, fault.Variant(variant))
}

func goneState(variant string) State {
	switch variant {
	case "resolved":
		return Resolved
	case "answered":
		return Answered
	}
	return Ended
}

// Retire is the end of a request that rpc reports.
func (r *Registry) Retire(key relay.Key, why rpc.Retirement) {
	to := Ended
	if why == rpc.Resolved {
		to = Resolved
	}
	r.end(to, func(c *Card) bool { return c.Key == key })
}

// EndGeneration ends all cards of a generation, at once: an answer to one of them is not sent any more.
func (r *Registry) EndGeneration(gen relay.Generation) {
	r.end(Ended, func(c *Card) bool { return c.Key.Generation == gen })
}

// EndOwner forgets all cards of an owner (R-PRI-05).
func (r *Registry) EndOwner(owner relay.Owner) {
	r.end(Ended, func(c *Card) bool { return c.Owner == owner })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order = slices.DeleteFunc(r.order, func(k relay.Key) bool {
		if r.cards[k].card.Owner != owner {
			return false
		}
		delete(r.cards, k)
		return true
	})
}

// Close closes a card here, without an answer: the server may still wait, and MCP knows no way to tell it (R-INT-05).
// It reports whether the card was pending.
func (r *Registry) Close(owner relay.Owner, key relay.Key) bool {
	return r.end(Closed, func(c *Card) bool { return c.Key == key && c.Owner == owner && c.State == Pending })
}

// Expire is Close because the card's time ended.
func (r *Registry) Expire(owner relay.Owner, key relay.Key) bool {
	return r.end(Expired, func(c *Card) bool { return c.Key == key && c.Owner == owner && c.State == Pending })
}

func (r *Registry) end(to State, which func(*Card) bool) bool {
	type change struct {
		owner relay.Owner
		key   relay.Key
	}
	var changes []change
	r.mu.Lock()
	for _, rec := range r.cards {
		if rec.card.State.Open() && which(&rec.card) {
			rec.settle(to)
			changes = append(changes, change{rec.card.Owner, rec.card.Key})
		}
	}
	r.mu.Unlock()
	for _, c := range changes {
		r.changed(c.owner, c.key)
	}
	return len(changes) > 0
}

// Card returns one card of owner.
func (r *Registry) Card(owner relay.Owner, key relay.Key) (Card, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec, ok := r.cards[key]
	if !ok || rec.card.Owner != owner {
		return Card{}, false
	}
	return rec.card, true
}

// Cards returns the cards of owner in the order of arrival: open ones and the last settled ones.
func (r *Registry) Cards(owner relay.Owner) []Card {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := []Card{}
	for _, k := range r.order {
		if c := r.cards[k].card; c.Owner == owner {
			list = append(list, c)
		}
	}
	return list
}

// PendingCount counts the open cards of a thread of owner; of all threads when thread is "".
func (r *Registry) PendingCount(owner relay.Owner, thread relay.ThreadID) int {
	n := 0
	for _, c := range r.Cards(owner) {
		if c.State.Open() && (thread == "" || c.Thread == thread) {
			n++
		}
	}
	return n
}
