package ledger

import (
	"slices"

	"sekisho/internal/relay"
)

// Limits of a Book. Beyond MaxEntries the oldest settled entries whose content nobody needs any more are forgotten.
const (
	MaxEntries    = 1000
	MaxOperations = 100_000 // ids that one owner may use while the process runs; an id is never forgotten
	MaxContent    = 1 << 20 // bytes of Content kept per operation; longer content is kept by its sender
)

// Book is the ledger of one owner. It is not safe for concurrent use.
type Book struct {
	owner   relay.Owner
	entries map[relay.OperationID]*record
	order   []relay.OperationID
	used    map[relay.OperationID]bool
	byMsg   map[string]relay.OperationID
}

type record struct {
	op    Operation
	gen   relay.Generation
	turn  relay.TurnID
	item  relay.ItemID
	facts facts
}

// New returns an empty ledger of owner.
func New(owner relay.Owner) *Book {
	return &Book{owner: owner, entries: map[relay.OperationID]*record{}, used: map[relay.OperationID]bool{}, byMsg: map[string]relay.OperationID{}}
}

// Owner is whose ledger this is.
func (b *Book) Owner() relay.Owner { return b.owner }

// Open records an operation as NotSent. A known id is ErrExists, so that a request of the page that arrives twice is sent
// once; a MessageID that another operation has is ErrMessageID, because the server would run it twice.
func (b *Book) Open(op Operation) error {
	if b.used[op.ID] || op.ID == "" {
		return ErrExists
	}
	if op.MessageID != "" {
		if _, ok := b.byMsg[op.MessageID]; ok {
			return ErrMessageID
		}
	}
	if len(op.Content) > MaxContent {
		op.Content = ""
	}
	if len(b.used) >= MaxOperations || len(b.entries) >= MaxEntries && !b.forget() {
		return ErrFull
	}
	b.used[op.ID] = true
	b.entries[op.ID] = &record{op: op}
	b.order = append(b.order, op.ID)
	if op.MessageID != "" {
		b.byMsg[op.MessageID] = op.ID
	}
	return nil
}

// forget drops the oldest entry that nothing can change any more.
func (b *Book) forget() bool {
	for i, id := range b.order {
		r := b.entries[id]
		if r.facts.answered || r.facts.proof {
			delete(b.entries, id)
			b.order = slices.Delete(b.order, i, i+1)
			return true
		}
	}
	return false
}

// Dispatch claims the one send of an operation on generation gen; it comes before the transport is asked.
// Errors: ErrUnknown, ErrDispatched.
func (b *Book) Dispatch(id relay.OperationID, gen relay.Generation) error {
	r, ok := b.entries[id]
	switch {
	case !ok:
		return ErrUnknown
	case r.facts.dispatched || gen == 0:
		return ErrDispatched
	}
	r.facts.dispatched, r.gen = true, gen
	return nil
}

// Started records that the transport took at least a part, or cannot tell.
func (b *Book) Started(id relay.OperationID, gen relay.Generation) error {
	r, err := b.of(id, gen)
	if err != nil {
		return err
	}
	if r.facts.proof {
		return ErrConflict
	}
	r.facts.started = true
	return nil
}

// Settle records the outcome of the call on its generation: NotSent is the transport's proof, Confirmed a response
// (rejected: an error object; turn: the turn it names, if any), everything else the end of waiting. A definite answer or
// proof that becomes known after the end of waiting still counts; the reverse is ignored.
func (b *Book) Settle(id relay.OperationID, gen relay.Generation, outcome State, rejected bool, turn relay.TurnID) error {
	r, err := b.of(id, gen)
	if err != nil {
		return err
	}
	f := &r.facts
	switch outcome {
	case NotSent:
		if f.started || f.answered {
			return ErrConflict
		}
		f.proof = true
	case Confirmed:
		if f.proof {
			return ErrConflict
		}
		if f.answered {
			return nil
		}
		f.started, f.answered, f.rejected = true, true, rejected
		if turn != "" {
			r.turn = turn
		}
	default:
		if f.proof || f.answered {
			return nil
		}
		f.started, f.ended = true, true
	}
	return nil
}

// EndGeneration settles what is left of a generation: what was dispatched and has neither proof nor answer is unknown.
// It returns the operations that changed.
func (b *Book) EndGeneration(gen relay.Generation) []relay.OperationID {
	var changed []relay.OperationID
	for _, id := range b.order {
		f := &b.entries[id].facts
		if f.dispatched && b.entries[id].gen == gen && !f.ended && !f.answered && !f.proof {
			f.ended = true
			changed = append(changed, id)
		}
	}
	return changed
}

// Correlate records an id of the server that belongs to the operation, seen on its own generation.
func (b *Book) Correlate(id relay.OperationID, gen relay.Generation, turn relay.TurnID, item relay.ItemID) error {
	r, err := b.of(id, gen)
	if err != nil {
		return err
	}
	if r.facts.proof {
		return ErrConflict
	}
	r.facts.started, r.facts.accepted = true, true
	r.point(turn, item)
	return nil
}

// Found records that a message with this clientUserMessageId is in a thread of this owner, read on any generation. It
// returns the operation whose state became Delivered, or "".
func (b *Book) Found(thread relay.ThreadID, messageID string, turn relay.TurnID, item relay.ItemID) relay.OperationID {
	id := b.byMsg[messageID]
	r, ok := b.entries[id]
	if !ok || r.op.Thread != thread || !r.facts.dispatched || r.facts.proof || r.facts.found {
		return ""
	}
	r.facts.started, r.facts.found = true, true
	r.point(turn, item)
	if r.facts.state() != Delivered {
		return ""
	}
	return id
}

func (r *record) point(turn relay.TurnID, item relay.ItemID) {
	if turn != "" && r.turn == "" {
		r.turn = turn
	}
	if item != "" && r.item == "" {
		r.item = item
	}
}

func (b *Book) of(id relay.OperationID, gen relay.Generation) (*record, error) {
	r, ok := b.entries[id]
	switch {
	case !ok:
		return nil, ErrUnknown
	case !r.facts.dispatched || r.gen != gen:
		return nil, ErrGeneration
	}
	return r, nil
}

// Entry returns what is known about id.
func (b *Book) Entry(id relay.OperationID) (Entry, bool) {
	r, ok := b.entries[id]
	if !ok {
		return Entry{}, false
	}
	f := r.facts
	return Entry{Operation: r.op, State: f.state(), Generation: r.gen, Rejected: f.rejected, Accepted: f.accepted,
		Turn: r.turn, Item: r.item, Dispatched: f.dispatched}, true
}

// Entries returns all entries in the order in which they were opened.
func (b *Book) Entries() []Entry {
	all := make([]Entry, 0, len(b.order))
	for _, id := range b.order {
		e, _ := b.Entry(id)
		all = append(all, e)
	}
	return all
}

// Uncertain returns the entries whose content a person should see: unknown or merely delivered.
func (b *Book) Uncertain() []Entry {
	return slices.DeleteFunc(b.Entries(), func(e Entry) bool { return e.State != OutcomeUnknown && e.State != Delivered })
}

// Dismiss forgets an uncertain entry because a person dealt with it. Its message id stays used.
func (b *Book) Dismiss(id relay.OperationID) bool {
	r, ok := b.entries[id]
	if !ok || !r.facts.ended || r.facts.answered {
		return false
	}
	delete(b.entries, id)
	b.order = slices.DeleteFunc(b.order, func(o relay.OperationID) bool { return o == id })
	return true
}
