package worker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"time"

	"sekisho/internal/relay"
	"sekisho/internal/relay/uicontract"
)

// Limits of what is kept for front ends that fall behind. One that is further behind gets a snapshot instead.
const (
	maxBatches    = 1024
	maxBatchBytes = 8 << 20
	batchEvery    = 16 * time.Millisecond
)

// log is the events of a worker as its front ends read them: batches in order, each encoded once. Front ends read at
// their own pace and hold nothing up; what they have not read is bounded by the log, not by them.
//
// All methods but wait are called under the worker's lock, which makes a snapshot and its place in the log one moment.
type eventLog struct {
	epoch   string // tells the ids of this worker from those of an earlier one
	pending []uicontract.Event
	deltas  map[deltaKey]int // place in pending of the delta that more text of the same part can join
	texts   map[int][]byte   // text of a pending delta
	sealed  time.Time        // when the last batch was made

	first   uint64 // number of batches[0]
	batches [][]byte
	bytes   int

	mu      sync.Mutex // guards what follows; a leaf
	changed chan struct{}
	dirty   chan struct{}
}

type deltaKey struct {
	thread relay.ThreadID
	item   string
	of     uicontract.DeltaOf
	part   int
}

func newEventLog() *eventLog {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand documentation)
	return &eventLog{epoch: hex.EncodeToString(b[:]), first: 1, deltas: map[deltaKey]int{}, texts: map[int][]byte{},
		changed: make(chan struct{}), dirty: make(chan struct{}, 1)}
}

// add appends an event to the batch being made.
func (l *eventLog) add(kind uicontract.EventKind, body any) {
	// What a delta would join after this event could be about an item that the event replaces.
	clear(l.deltas)
	l.pending = append(l.pending, uicontract.Event{Kind: kind, Body: body})
	l.poke()
}

// delta appends text to one part of an item, joined with what waits already.
func (l *eventLog) delta(d uicontract.Delta) {
	key := deltaKey{d.Thread, d.Item, d.Of, d.Part}
	i, ok := l.deltas[key]
	if ok {
		l.texts[i] = append(l.texts[i], d.Text...)
		l.pending[i].Body.(*uicontract.Delta).Bytes = d.Bytes
		return
	}
	i = len(l.pending)
	l.deltas[key], l.texts[i] = i, []byte(d.Text)
	l.pending = append(l.pending, uicontract.Event{Kind: uicontract.EvDelta, Body: &d})
	l.poke()
}

func (l *eventLog) poke() {
	select {
	case l.dirty <- struct{}{}:
	default:
	}
}

// seal makes a batch of what is pending, if anything is.
func (l *eventLog) seal(now time.Time) error {
	if len(l.pending) == 0 {
		return nil
	}
	for i, text := range l.texts {
		l.pending[i].Body.(*uicontract.Delta).Text = string(text)
	}
	data, err := uicontract.Encode(uicontract.Batch{Version: uicontract.Version, Events: l.pending})
	l.pending = nil
	clear(l.deltas)
	clear(l.texts)
	if err != nil {
		return err
	}
	l.sealed = now
	l.batches = append(l.batches, data)
	l.bytes += len(data)
	for len(l.batches) > maxBatches || l.bytes > maxBatchBytes && len(l.batches) > 1 {
		l.bytes -= len(l.batches[0])
		l.batches[0] = nil
		l.batches = l.batches[1:]
		l.first++
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
	return nil
}

// forget drops everything: nobody can resume before this moment (a new owner, R-PRI-05).
func (l *eventLog) forget() {
	l.pending = nil
	clear(l.deltas)
	clear(l.texts)
	l.first += uint64(len(l.batches)) + 1
	l.batches, l.bytes = nil, 0
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
}

// next is the number of the batch that will be made next.
func (l *eventLog) next() uint64 { return l.first + uint64(len(l.batches)) }

// after returns the batch n; lagged means that it is no longer kept, or never was.
func (l *eventLog) after(n uint64) (data []byte, lagged bool) {
	switch {
	case n < l.first || n > l.next():
		return nil, true
	case n == l.next():
		return nil, false
	}
	return l.batches[n-l.first], false
}

func (l *eventLog) wait() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

func (l *eventLog) id(n uint64) string { return l.epoch + "-" + strconv.FormatUint(n, 10) }

// parse reads an id of this worker; another one's begins with a snapshot.
func (l *eventLog) parse(id string) (n uint64, ok bool) {
	epoch, number, found := strings.Cut(id, "-")
	n, err := strconv.ParseUint(number, 10, 63)
	return n, found && err == nil && epoch == l.epoch && n > 0
}

// Stream is one front end's place in the events. It holds nothing and needs no end.
type Stream struct {
	w      *Worker
	next   uint64 // number of the batch to send next; 0 is a snapshot first
	reason uicontract.SnapshotReason
}

// Attach starts a stream after the event of that id, or with a snapshot: also the pending cards are in it, so that a page
// that is loaded anew shows them all.
func (w *Worker) Attach(lastEventID string) *Stream {
	s := &Stream{w: w}
	if n, ok := w.events.parse(lastEventID); ok {
		s.next, s.reason = n+1, uicontract.SnapshotLagged
	}
	return s
}

// Next waits for the next batch, and returns its id and its JSON.
func (s *Stream) Next(ctx context.Context) (id string, data []byte, err error) {
	for {
		changed := s.w.events.wait()
		id, data, err := s.poll()
		if data != nil || err != nil {
			return id, data, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", nil, ctx.Err()
		}
	}
}

func (s *Stream) poll() (id string, data []byte, err error) {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.next > 0 {
		data, lagged := w.events.after(s.next)
		if data != nil {
			s.next++
			return w.events.id(s.next - 1), data, nil
		}
		if !lagged {
			return "", nil, nil
		}
	}
	start, err := w.startHere(s.reason)
	if err != nil {
		return "", nil, err
	}
	data, err = uicontract.Encode(uicontract.Batch{Version: uicontract.Version, Events: []uicontract.Event{{Kind: uicontract.EvSnapshot, Body: &start.Snapshot}}})
	if err != nil {
		return "", nil, err
	}
	s.next, s.reason = w.events.next(), uicontract.SnapshotLagged
	return start.ID, data, nil
}

// flush makes batches while the worker lives: the first change at once, further ones joined for batchEvery.
func (w *Worker) flush(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-w.events.dirty:
		case <-ctx.Done():
			return
		}
		w.mu.Lock()
		wait := batchEvery - w.o.Now().Sub(w.events.sealed)
		w.mu.Unlock()
		if wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
		w.mu.Lock()
		if err := w.events.seal(w.o.Now()); err != nil {
			w.o.Log.Error("encoding events", "err", err)
		}
		w.mu.Unlock()
	}
}

// sealIfDue makes the batch here and now when none was made lately, instead of waking flush for it; the lock is held.
func (w *Worker) sealIfDue() {
	now := w.o.Now()
	if now.Sub(w.events.sealed) < batchEvery {
		return
	}
	if err := w.events.seal(now); err != nil {
		w.o.Log.Error("encoding events", "err", err)
	}
}
