package headless

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"sekisho/internal/relay"
	"sekisho/internal/relay/uicontract"
)

// View is what a page shows, folded from the events.
type View struct {
	uicontract.Snapshot
	Last      string                  // id of the last batch
	Batches   int                     // since the view began
	Deltas    int                     // delta events
	Snapshots int                     // snapshots, the first included
	Sync      []uicontract.SyncFailed // of all time
	Log       []uicontract.EventKind  // every event, in order
	Heads     []uicontract.ThreadHead // every head, in order
	Seen      []uicontract.Card       // every state of every card, in order
	Outs      []uicontract.Outcome    // every outcome, in order
	States    []uicontract.Connection // every state of the connection, in order
	Mismatch  []string                // what did not fit together
	err       error
}

// Open returns the view of an open thread, or nil.
func (v *View) Open(id relay.ThreadID) *uicontract.ThreadView {
	for i := range v.Snapshot.Open {
		if v.Snapshot.Open[i].Head.Thread.ID == id {
			return &v.Snapshot.Open[i]
		}
	}
	return nil
}

// Card returns a card by its id, or nil.
func (v *View) Card(id string) *uicontract.Card {
	for i := range v.Cards {
		if v.Cards[i].ID == id {
			return &v.Cards[i]
		}
	}
	return nil
}

// Pending are the cards of a thread that can be answered.
func (v *View) Pending(id relay.ThreadID) []uicontract.Card {
	var list []uicontract.Card
	for _, c := range v.Cards {
		if c.Thread == id && c.State == "pending" {
			list = append(list, c)
		}
	}
	return list
}

// Texts are the texts of the items of one type in a thread.
func (v *View) Texts(id relay.ThreadID, kind string) []string {
	t := v.Open(id)
	if t == nil {
		return nil
	}
	var list []string
	for _, i := range t.Window.Items {
		if i.Type == kind && i.Text != nil {
			list = append(list, i.Text.Text)
		}
	}
	return list
}

// Apply folds one batch in.
func (v *View) Apply(id string, batch uicontract.Batch) {
	v.Last = id
	v.Batches++
	for _, e := range batch.Events {
		v.Log = append(v.Log, e.Kind)
		switch b := e.Body.(type) {
		case *uicontract.Snapshot:
			v.Snapshot = *b
			v.Snapshots++
		case *uicontract.Connection:
			v.Connection = *b
			v.States = append(v.States, *b)
		case *uicontract.Owner:
			v.Owner = b
		case *uicontract.Threads:
			v.threads(b)
		case *uicontract.ThreadRef:
			v.Snapshot.Open = slices.DeleteFunc(v.Snapshot.Open, func(t uicontract.ThreadView) bool { return t.Head.Thread.ID == b.Thread })
			if e.Kind == uicontract.EvClosed {
				break
			}
			v.Threads = slices.DeleteFunc(v.Threads, func(t uicontract.ThreadSummary) bool { return t.ID == b.Thread })
		case *uicontract.ThreadHead:
			v.Heads = append(v.Heads, *b)
			if t := v.Open(b.Thread.ID); t != nil {
				t.Head = *b
			}
		case *uicontract.ThreadView:
			if t := v.Open(b.Head.Thread.ID); t != nil {
				*t = *b
			} else {
				v.Snapshot.Open = append(v.Snapshot.Open, *b)
			}
		case *uicontract.ItemEvent:
			v.item(b)
		case *uicontract.Delta:
			v.Deltas++
			v.delta(b)
		case *uicontract.Card:
			v.Seen = append(v.Seen, *b)
			replace(&v.Cards, *b, func(c uicontract.Card) bool { return c.ID == b.ID })
		case *uicontract.Draft:
			replace(&v.Drafts, *b, func(d uicontract.Draft) bool { return d.Thread == b.Thread })
		case *uicontract.Models:
			v.Models = b.Models
		case *uicontract.Outcome:
			v.Outs = append(v.Outs, *b)
			replace(&v.Outcomes, *b, func(o uicontract.Outcome) bool { return o.Operation == b.Operation })
		case *uicontract.Notice:
			v.Notices = append(v.Notices, *b)
		case *uicontract.SyncFailed:
			v.Sync = append(v.Sync, *b)
		}
	}
}

// replace puts x in the place of the element that is found, or at the end.
func replace[T any](list *[]T, x T, found func(T) bool) {
	if i := slices.IndexFunc(*list, found); i >= 0 {
		(*list)[i] = x
		return
	}
	*list = append(*list, x)
}

func (v *View) threads(e *uicontract.Threads) {
	if !e.Upsert {
		v.Threads, v.MoreThread = e.Threads, e.More
		return
	}
	for _, t := range e.Threads {
		replace(&v.Threads, t, func(o uicontract.ThreadSummary) bool { return o.ID == t.ID })
	}
}

func (v *View) item(e *uicontract.ItemEvent) {
	t := v.Open(e.Thread)
	if t == nil {
		v.Mismatch = append(v.Mismatch, "an item of a thread that is not open")
		return
	}
	w := &t.Window
	if i := slices.IndexFunc(w.Items, func(o uicontract.Item) bool { return o.ID == e.Item.ID }); i >= 0 {
		w.Items[i] = e.Item
		return
	}
	at := 0
	if e.After != "" {
		at = slices.IndexFunc(w.Items, func(o uicontract.Item) bool { return o.ID == e.After }) + 1
		if at == 0 {
			v.Mismatch = append(v.Mismatch, "an item after one that is not there: "+e.After)
			at = len(w.Items)
		}
	}
	w.Items = slices.Insert(w.Items, at, e.Item)
	w.Total++
}

func (v *View) delta(e *uicontract.Delta) {
	t := v.Open(e.Thread)
	if t == nil {
		return
	}
	i := slices.IndexFunc(t.Window.Items, func(o uicontract.Item) bool { return o.ID == e.Item })
	if i < 0 {
		v.Mismatch = append(v.Mismatch, "a delta of an item that is not there")
		return
	}
	item := &t.Window.Items[i]
	var text *uicontract.Excerpt
	switch e.Of {
	case uicontract.OfSummary:
		text = part(&item.Reasoning, e.Part)
	case uicontract.OfContent:
		text = part(&item.Content, e.Part)
	default:
		if item.Text == nil {
			item.Text = &uicontract.Excerpt{}
		}
		text = item.Text
	}
	text.Text += e.Text
	if len(text.Text)+text.Left != e.Bytes {
		v.Mismatch = append(v.Mismatch, fmt.Sprintf("a text of %d bytes that should have %d", len(text.Text)+text.Left, e.Bytes))
	}
}

func part(list *[]uicontract.Excerpt, i int) *uicontract.Excerpt {
	for len(*list) <= i {
		*list = append(*list, uicontract.Excerpt{})
	}
	return &(*list)[i]
}

// Watcher keeps a View up to date.
type Watcher struct {
	stream *Stream
	done   chan struct{}
	mu     sync.Mutex
	view   View
	change chan struct{}
}

// Watch opens a stream and follows it until ctx ends or Close.
func (c *Client) Watch(ctx context.Context, last string) (*Watcher, error) {
	s, err := c.Stream(ctx, last)
	if err != nil {
		return nil, err
	}
	w := &Watcher{stream: s, done: make(chan struct{}), change: make(chan struct{})}
	go w.follow()
	return w, nil
}

func (w *Watcher) follow() {
	defer close(w.done)
	for {
		id, batch, err := w.stream.Next()
		w.mu.Lock()
		if err != nil {
			w.view.err = errors.Join(errors.New("the stream ended"), err)
		} else {
			w.view.Apply(id, batch)
		}
		close(w.change)
		w.change = make(chan struct{})
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Wait waits until the view is as cond says.
func (w *Watcher) Wait(ctx context.Context, what string, cond func(*View) bool) error {
	for {
		ok, change, err := w.check(cond)
		if ok {
			return nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		select {
		case <-change:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		}
	}
}

// check gives the lock back also when cond panics: a test that fails so must be able to clean up.
func (w *Watcher) check(cond func(*View) bool) (ok bool, change <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return cond(&w.view), w.change, w.view.err
}

// Look calls f with the view, which must not be kept.
func (w *Watcher) Look(f func(*View)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.view)
}

// Close ends the stream and waits for the follower.
func (w *Watcher) Close() {
	w.stream.Close()
	<-w.done
}
