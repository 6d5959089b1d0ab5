package worker

import (
	"maps"
	"slices"
	"time"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/ledger"
	"sekisho/internal/relay/uicontract"
)

// partition is everything of one Owner (R-PRI-05). It outlives connections of the same owner and is dropped as a whole
// when the owner changes. All of it is guarded by Worker.mu.
type partition struct {
	owner   relay.Owner
	epoch   uint64 // tells it from every other one of this worker
	book    *ledger.Book
	threads map[relay.ThreadID]*thread
	list    []relay.ThreadID // as the server listed them, announced ones in front
	cursor  string           // of the next page of list; "" is the end
	query   string           // what list answers
	models  []uicontract.Model
	drafts  map[relay.ThreadID]uicontract.Draft
	gen     relay.Generation             // of the live session; 0 without one
	label   string                       // the account, for people
	sent    map[string]relay.OperationID // clientUserMessageId → operation
	times   map[relay.OperationID]int64
	asked   map[relay.Key]int64 // when a card arrived, in Unix milliseconds
	kinds   map[relay.OperationID]uicontract.CommandKind
}

// Limits of a partition.
const (
	maxThreads = 2000
	maxDrafts  = 500
	draftBytes = 1 << 20
	snapItems  = 60 // items of an open thread in a snapshot; the rest is asked for
)

func newPartition(owner relay.Owner) *partition {
	return &partition{owner: owner, book: ledger.New(owner), threads: map[relay.ThreadID]*thread{}, drafts: map[relay.ThreadID]uicontract.Draft{},
		sent: map[string]relay.OperationID{}, times: map[relay.OperationID]int64{}, asked: map[relay.Key]int64{}, kinds: map[relay.OperationID]uicontract.CommandKind{}}
}

// thread returns the state of a thread, made if it is new.
func (p *partition) thread(id relay.ThreadID) *thread {
	t := p.threads[id]
	if t == nil {
		t = newThread(p.owner, id, p.gen)
		p.threads[id] = t
	}
	return t
}

// note takes in a thread's metadata and puts it on the list if it is not there.
func (p *partition) note(th codex.Thread, front bool) *thread {
	t := p.thread(th.ID)
	foreign := t.summary.Foreign
	t.summary = summary(th)
	t.summary.Foreign = foreign
	if slices.Contains(p.list, th.ID) {
		return t
	}
	if front {
		p.list = slices.Insert(p.list, 0, th.ID)
	} else {
		p.list = append(p.list, th.ID)
	}
	if over := len(p.list) - maxThreads; over > 0 {
		for _, id := range p.list[maxThreads:] {
			if !p.threads[id].open {
				delete(p.threads, id)
			}
		}
		p.list = p.list[:maxThreads]
	}
	return t
}

func (p *partition) summaries() []uicontract.ThreadSummary {
	list := make([]uicontract.ThreadSummary, 0, len(p.list))
	for _, id := range p.list {
		if t := p.threads[id]; t != nil {
			list = append(list, t.summary)
		}
	}
	return list
}

// snapshot is everything that a front end shows; the lock is held.
func (w *Worker) snapshot(reason uicontract.SnapshotReason) uicontract.Snapshot {
	s := uicontract.Snapshot{Version: uicontract.Version, Instance: w.o.Instance, Reason: reason, Relay: w.o.Relay, Codex: codex.Target, Connection: w.connection,
		Profiles: w.profiles(), Threads: []uicontract.ThreadSummary{}, Open: []uicontract.ThreadView{}, Cards: []uicontract.Card{}, Drafts: []uicontract.Draft{},
		Models: []uicontract.Model{}, Outcomes: []uicontract.Outcome{}, Notices: slices.Clone(w.notices)}
	if s.Notices == nil {
		s.Notices = []uicontract.Notice{}
	}
	p := w.part
	if p == nil {
		return s
	}
	s.Owner = p.shown()
	s.Threads, s.MoreThread, s.Models = p.summaries(), p.cursor != "", append(s.Models, p.models...)
	for _, id := range slices.Sorted(maps.Keys(p.threads)) {
		if t := p.threads[id]; t.open {
			s.Open = append(s.Open, w.threadView(p, t))
		}
	}
	for _, c := range w.asks.Cards(p.owner) {
		s.Cards = append(s.Cards, w.card(c))
	}
	for _, id := range slices.Sorted(maps.Keys(p.drafts)) {
		s.Drafts = append(s.Drafts, p.drafts[id])
	}
	for _, e := range p.book.Entries() {
		s.Outcomes = append(s.Outcomes, p.outcome(e))
	}
	return s
}

func (w *Worker) profiles() []uicontract.Profile {
	list := []uicontract.Profile{}
	for _, p := range w.o.Profiles.Profiles {
		v := uicontract.Profile{Name: p.Name, Transport: uicontract.Local, Host: hostOf(p), Enabled: w.enabled[p.Name], Selected: p.Name == w.selected}
		if p.Remote() {
			v.Transport = uicontract.Remote
		}
		list = append(list, v)
	}
	return list
}

// setDraft keeps the unsent text of a thread in memory, never on disk (R-REC-03).
func (w *Worker) setDraft(c uicontract.Command, d *uicontract.Draft) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch err := w.owned(c); {
	case err != nil:
		return err
	case len(d.Text) > draftBytes:
		return refused("")
	}
	old, known := w.part.drafts[d.Thread]
	if known && d.Revision <= old.Revision {
		return nil
	}
	if !known && len(w.part.drafts) >= maxDrafts {
		return refused("")
	}
	w.part.drafts[d.Thread] = *d
	body := *d
	w.emit(uicontract.EvDraft, &body)
	return nil
}

// outcome is what a front end is told about a ledger entry.
func (p *partition) outcome(e ledger.Entry) uicontract.Outcome {
	states := map[ledger.State]uicontract.OutcomeState{ledger.NotSent: uicontract.OutcomeNotSent, ledger.Sent: uicontract.OutcomeSent,
		ledger.Confirmed: uicontract.OutcomeConfirmed, ledger.OutcomeUnknown: uicontract.OutcomeUnknown, ledger.Delivered: uicontract.OutcomeDelivered}
	o := uicontract.Outcome{Operation: e.ID, Kind: string(p.kinds[e.ID]), Thread: e.Thread, State: states[e.State], AtMs: p.times[e.ID], Rejected: e.Rejected}
	if e.State != ledger.Confirmed {
		o.Text = e.Content
	}
	return o
}

// outcomeChanged tells about one operation; the lock is held.
func (w *Worker) outcomeChanged(p *partition, id relay.OperationID) {
	if e, ok := p.book.Entry(id); ok && w.part == p {
		o := p.outcome(e)
		w.emit(uicontract.EvOutcome, &o)
	}
}

// open records an operation and claims its one send; the lock is held.
func (w *Worker) open(s *session, kind uicontract.CommandKind, op ledger.Operation, now time.Time) error {
	p := s.part
	if err := p.book.Open(op); err != nil {
		return refused("operation")
	}
	p.forgetOperations()
	p.times[op.ID], p.kinds[op.ID] = now.UnixMilli(), kind
	if op.MessageID != "" {
		p.sent[op.MessageID] = op.ID
	}
	if err := p.book.Dispatch(op.ID, s.gen); err != nil {
		return refused("operation")
	}
	w.outcomeChanged(p, op.ID)
	return nil
}

// forgetOperations drops what belongs to operations that the ledger has forgotten, now and then.
func (p *partition) forgetOperations() {
	if len(p.times) < 2*ledger.MaxEntries {
		return
	}
	gone := func(id relay.OperationID) bool { _, known := p.book.Entry(id); return !known }
	maps.DeleteFunc(p.times, func(id relay.OperationID, _ int64) bool { return gone(id) })
	maps.DeleteFunc(p.kinds, func(id relay.OperationID, _ uicontract.CommandKind) bool { return gone(id) })
	maps.DeleteFunc(p.sent, func(_ string, id relay.OperationID) bool { return gone(id) })
}

// remove forgets a thread that the server no longer has.
func (p *partition) remove(id relay.ThreadID) {
	delete(p.threads, id)
	p.list = slices.DeleteFunc(p.list, func(o relay.ThreadID) bool { return o == id })
}

// forgetUnlisted drops the state of threads that are neither listed nor open nor joined.
func (p *partition) forgetUnlisted() {
	listed := map[relay.ThreadID]bool{}
	for _, id := range p.list {
		listed[id] = true
	}
	maps.DeleteFunc(p.threads, func(id relay.ThreadID, t *thread) bool { return !listed[id] && !t.open && t.mode != uicontract.Joined })
}
