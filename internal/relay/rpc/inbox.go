package rpc

import (
	"strings"
	"sync"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

// inbox is the bounded queue between the reader, which never waits, and the Handler, which may.
type inbox struct {
	mu     sync.Mutex
	wake   chan struct{} // buffered 1
	events []event
	count  int // of notes in events
	bytes  int
	mute   bool // nothing new but retirements and the end
}

// event is one call of the Handler. Only notes are dropped when there is no room; the rest is bounded by the pending
// requests.
type event struct {
	note    codex.Notification
	more    []string // texts of further deltas of note
	size    int
	request *Request
	retired *retired
	refused *refused
	lost    *Lost
	ended   *ended
}

type retired struct {
	key relay.Key
	why Retirement
}

type refused struct {
	method string
	code   int
}

type ended struct{ err error }

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

func (b *inbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// add queues anything but a notification.
func (b *inbox) add(e event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mute && e.retired == nil && e.ended == nil {
		return
	}
	if e.refused != nil {
		// Bounded like a notification, because a server can cause any number of them.
		if b.count >= MaxQueued {
			return
		}
		b.count++
	}
	b.events = append(b.events, e)
	b.signal()
}

// retire queues the end of a request. If the Handler has not been told of the request yet, it never is: so a server that
// asks and withdraws without end fills nothing.
func (b *inbox) retire(key relay.Key, why Retirement) {
	b.mu.Lock()
	for i, e := range b.events {
		if e.request != nil && e.request.Key == key {
			b.events = append(b.events[:i:i], b.events[i+1:]...)
			b.mu.Unlock()
			return
		}
	}
	b.mu.Unlock()
	b.add(event{retired: &retired{key, why}})
}

// notify queues a notification of size bytes. It returns how many were dropped because there was no room.
func (b *inbox) notify(n codex.Notification, size int) (dropped int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mute {
		return 0
	}
	if b.join(n, size) {
		return b.bound()
	}
	b.events = append(b.events, event{note: n, size: size})
	b.count++
	b.bytes += size
	dropped = b.bound()
	b.signal()
	return dropped
}

// join appends a delta to the last event if that is the same part of the same item.
func (b *inbox) join(n codex.Notification, size int) bool {
	d, ok := n.(*codex.ItemDelta)
	if !ok || len(b.events) == 0 {
		return false
	}
	last := &b.events[len(b.events)-1]
	l, ok := last.note.(*codex.ItemDelta)
	if !ok || l.Name != d.Name || l.ThreadID != d.ThreadID || l.TurnID != d.TurnID || l.ItemID != d.ItemID || l.Index != d.Index {
		return false
	}
	last.more = append(last.more, d.Delta)
	// What is kept of a joined delta is its text and the header of a string.
	last.size += len(d.Delta) + 16
	b.bytes += len(d.Delta) + 16
	return true
}

// bound drops all queued notifications when they are too many, and leaves one mark in their place: a part of them is
// worth nothing, since state must be read again anyway.
func (b *inbox) bound() int {
	if b.count <= MaxQueued && b.bytes <= MaxQueuedBytes {
		return 0
	}
	kept, dropped := b.events[:0:0], 0
	for _, e := range b.events {
		switch {
		case e.note != nil:
			dropped += 1 + len(e.more)
		case e.refused != nil:
		default:
			kept = append(kept, e)
		}
	}
	b.events, b.count, b.bytes = kept, 0, 0
	b.markLost(Lost{Dropped: dropped})
	return dropped
}

// lose reports a notification that could not be understood.
func (b *inbox) lose(l Lost) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.mute {
		b.markLost(l)
		b.signal()
	}
}

// markLost adds to the mark that is queued, or queues one.
func (b *inbox) markLost(l Lost) {
	for i := range b.events {
		if m := b.events[i].lost; m != nil {
			m.Dropped, m.Malformed = m.Dropped+l.Dropped, m.Malformed+l.Malformed
			// It must come after everything that it speaks of.
			e := b.events[i]
			b.events = append(append(b.events[:i:i], b.events[i+1:]...), e)
			return
		}
	}
	b.events = append(b.events, event{lost: &l})
}

// silence ends the generation from this side: what is queued and not yet delivered is of no use to anyone.
func (b *inbox) silence() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mute = true
	kept := b.events[:0:0]
	for _, e := range b.events {
		if e.retired != nil || e.ended != nil {
			kept = append(kept, e)
		}
	}
	b.events, b.count, b.bytes = kept, 0, 0
}

func (b *inbox) take() event {
	for {
		b.mu.Lock()
		if len(b.events) > 0 {
			e := b.events[0]
			b.events = b.events[1:]
			if e.note != nil || e.refused != nil {
				b.count--
				b.bytes -= e.size
			}
			b.mu.Unlock()
			return e
		}
		b.mu.Unlock()
		<-b.wake
	}
}

// deliver is the deliverer; it returns after Ended.
func (c *Client) deliver() {
	defer c.delivered.Done()
	h := c.opts.Handler
	for {
		switch e := c.in.take(); {
		case e.note != nil:
			h.Notification(c.gen, joined(e))
		case e.request != nil:
			h.Request(*e.request)
		case e.retired != nil:
			h.Retired(e.retired.key, e.retired.why)
		case e.refused != nil:
			h.Refused(c.gen, e.refused.method, e.refused.code)
		case e.lost != nil:
			h.SyncLost(c.gen, *e.lost)
		case e.ended != nil:
			h.Ended(c.gen, e.ended.err)
			return
		}
	}
}

func joined(e event) codex.Notification {
	d, ok := e.note.(*codex.ItemDelta)
	if !ok || len(e.more) == 0 {
		return e.note
	}
	whole := *d
	whole.Delta = d.Delta + strings.Join(e.more, "")
	return &whole
}
