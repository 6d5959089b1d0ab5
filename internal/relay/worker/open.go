package worker

import (
	"cmp"
	"context"
	"sync"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/history"
	"sekisho/internal/relay/uicontract"
)

// openThread shows a thread without taking part in it: metadata, turns and the newest items, by read-only calls.
func (w *Worker) openThread(ctx context.Context, id relay.ThreadID) error {
	s, err := w.liveSession()
	if err != nil {
		return err
	}
	return s.open(ctx, id)
}

// reading is a thread that is being read to be opened.
type reading struct {
	done chan struct{}
	ok   bool // once done is closed
}

// open reads a thread, unless it is being read for somebody already: then it waits for that. A reading that failed was another's; who
// waited for it asks again and is told why.
func (s *session) open(ctx context.Context, id relay.ThreadID) error {
	w := s.w
	w.mu.Lock()
	r := s.opening[id]
	if r == nil {
		r = &reading{done: make(chan struct{})}
		s.opening[id] = r
		w.mu.Unlock()
		defer func() {
			w.mu.Lock()
			delete(s.opening, id)
			w.mu.Unlock()
			close(r.done)
		}()
		err := s.read(ctx, id)
		r.ok = err == nil
		return err
	}
	w.mu.Unlock()
	select {
	case <-r.done:
	case <-ctx.Done():
	}
	if ctx.Err() == nil && r.ok {
		return nil
	}
	return s.read(ctx, id)
}

// read fetches the newest pages of a thread that somebody waits for, and opens it. All three calls are made at once: a server far away
// answers after one round trip, not three.
func (s *session) read(ctx context.Context, id relay.ThreadID) error {
	return s.readBy(ctx, id, func(calls ...func() error) error {
		var under sync.WaitGroup
		problems := make([]error, len(calls))
		for i, call := range calls {
			under.Go(func() { problems[i] = call() })
		}
		under.Wait()
		return cmp.Or(problems...)
	})
}

// readBy is read with the calls made by ask, which returns the first one's problem rather than another's: the thread's own says best
// what is wrong. What the pages say about the changes of a card that waits is told to it.
func (s *session) readBy(ctx context.Context, id relay.ThreadID, ask func(calls ...func() error) error) error {
	err := s.fetch(ctx, id, ask)
	if err == nil {
		s.tellChanges(id)
	}
	return err
}

func (s *session) fetch(ctx context.Context, id relay.ThreadID, ask func(calls ...func() error) error) error {
	w := s.w
	var meta codex.ThreadReadResult
	var turns codex.TurnsListResult
	var items codex.ItemsListResult
	askTurns, askItems := history.NewestTurns(id), history.NewestItems(id)
	err := ask(
		func() error { return s.call(ctx, codex.ThreadRead, codex.ThreadReadParams{ThreadID: id}, &meta) },
		func() error { return s.call(ctx, codex.ThreadTurnsList, askTurns, &turns) },
		func() error { return s.call(ctx, codex.ThreadItemsList, askItems, &items) })
	if err != nil {
		return s.readProblem(id, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live != s {
		return refused("not_connected")
	}
	t := s.part.note(meta.Thread, true)
	t.open, t.problem, t.stale = true, nil, false
	s.turns.ThreadStatus(s.gen, id, meta.Thread.Status)
	for _, known := range turns.Data {
		s.turns.Known(s.gen, id, known)
	}
	if len(turns.Data) > 0 {
		t.latest(s, turns.Data[0].ID)
	}
	s.found(t, t.win.MergeTurns(s.gen, askTurns, turns).Found)
	s.found(t, t.win.MergeItems(s.gen, askItems, items).Found)
	w.emitSummary(s.part, t)
	w.emitView(s.part, t)
	return nil
}

// readProblem keeps what is shown of the thread and says that it is not up to date.
func (s *session) readProblem(id relay.ThreadID, err error) error {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := s.part.threads[id]; t != nil && t.open && w.live == s {
		problem := w.explain(err)
		t.problem = &problem
		w.emitHead(s.part, t)
	}
	return err
}

// resync reads an open thread again after notifications were lost; read-only. Nobody asked for it, so it makes one call after the other
// and leaves the server's places to what somebody waits for.
func (s *session) resync(id relay.ThreadID) {
	err := s.readBy(s.ctx, id, func(calls ...func() error) error {
		for _, call := range calls {
			if err := call(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && s.ctx.Err() == nil {
		s.log.Warn("reading a thread again failed", "err", codeOf(err))
	}
}

func (w *Worker) syncThread(ctx context.Context, id relay.ThreadID) error {
	s, t, err := w.openOne(id)
	if err != nil {
		return err
	}
	return s.read(ctx, t.id)
}

// openOne returns an open thread of the live session.
func (w *Worker) openOne(id relay.ThreadID) (*session, *thread, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.session()
	if err != nil {
		return nil, nil, err
	}
	t := s.part.threads[id]
	switch {
	case t == nil:
		return nil, nil, refused("unknown_thread")
	case !t.open:
		return nil, nil, refused("not_open")
	}
	return s, t, nil
}

// closeThread stops showing a thread. It stays joined on the server, which is told nothing.
func (w *Worker) closeThread(id relay.ThreadID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.part == nil || w.part.threads[id] == nil {
		return refused("unknown_thread")
	}
	t := w.part.threads[id]
	t.open = false
	if t.mode != uicontract.Joined {
		t.win = history.New(w.part.owner, id, w.part.gen) // nothing keeps it up to date; it is read again when it is opened
	}
	w.emit(uicontract.EvClosed, &uicontract.ThreadRef{Thread: id})
	return nil
}

// older reads one older page, only when a person asks (R-REC-04). The window says when that ends: a server whose pages go
// in a circle cannot make it grow for ever.
func (w *Worker) older(ctx context.Context, id relay.ThreadID) (any, error) {
	s, t, err := w.openOne(id)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	ask, stop := t.win.OlderItems()
	w.mu.Unlock()
	if stop != history.NoStop {
		return uicontract.OlderResult{}, nil
	}
	var items codex.ItemsListResult
	if err := s.call(ctx, codex.ThreadItemsList, ask, &items); err != nil {
		return nil, s.readProblem(id, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live != s {
		return nil, refused("not_connected")
	}
	merged := t.win.MergeItems(s.gen, ask, items)
	s.found(t, merged.Found)
	_, stop = t.win.OlderItems()
	t.problem = w.stopped(stop)
	w.emitView(s.part, t)
	return uicontract.OlderResult{Added: merged.Added, More: stop == history.NoStop}, nil
}
