package worker

import (
	"context"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/rpc"
	"sekisho/internal/relay/uicontract"
)

// The size of a page of threads, and how many pages of the model catalogue are read.
const (
	threadPage   = 50
	maxModelPage = 10
)

// firstReads fills what a front end needs after a connection was made: the thread list, the models, and what was open
// before. Nothing is joined by itself (R-REC-05).
func (s *session) firstReads() {
	w := s.w
	w.mu.Lock()
	var open []relay.ThreadID
	if w.live == s {
		for id, t := range s.part.threads {
			if t.open && t.stale { // what is opened from now on is read then
				open = append(open, id)
			}
		}
	}
	w.mu.Unlock()
	if err := s.listThreads(s.ctx, "", ""); err != nil {
		s.readFailed("", err)
	}
	if err := s.readModels(s.ctx); err != nil {
		s.readFailed("", err)
	}
	for _, id := range open {
		s.resync(id)
	}
}

// readFailed tells that something could not be read, unless the connection ended, which is told already.
func (s *session) readFailed(id relay.ThreadID, err error) {
	s.log.Warn("a read failed", "err", codeOf(err))
	if s.ctx.Err() != nil {
		return
	}
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	problem := w.explain(err)
	w.notify(uicontract.Notice{Kind: uicontract.NoticeError, Thread: id, Problem: &problem})
}

// call is a read of the live session.
func (s *session) call(ctx context.Context, method string, params, result any) error {
	_, err := s.client.Call(ctx, method, params, result, rpc.CallOptions{})
	return err
}

func (w *Worker) liveSession() (*session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session()
}

func (w *Worker) listThreads(ctx context.Context, p *uicontract.ThreadList) error {
	s, err := w.liveSession()
	if err != nil {
		return err
	}
	query, cursor := p.Search, ""
	if p.More {
		w.mu.Lock()
		query, cursor = s.part.query, s.part.cursor
		w.mu.Unlock()
		if cursor == "" {
			return refused("already")
		}
	}
	return s.listThreads(ctx, query, cursor)
}

// listThreads reads one page; without a cursor it begins anew.
func (s *session) listThreads(ctx context.Context, query, cursor string) error {
	var page codex.ThreadListResult
	if err := s.call(ctx, codex.ThreadList, codex.ThreadListParams{Cursor: cursor, Limit: threadPage, SearchTerm: query}, &page); err != nil {
		return err
	}
	w, p := s.w, s.part
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live != s || cursor != "" && (p.cursor != cursor || p.query != query) {
		return nil // another question was asked meanwhile
	}
	if cursor == "" {
		p.list = nil
	}
	for _, t := range page.Data {
		p.note(t, false).summary.Foreign = false
	}
	p.query, p.cursor = query, page.NextCursor
	if cursor != "" && page.NextCursor == cursor {
		p.cursor = "" // pages that go in a circle end here
	}
	p.forgetUnlisted()
	w.emit(uicontract.EvThreads, &uicontract.Threads{Threads: p.summaries(), More: p.cursor != ""})
	return nil
}

func (w *Worker) readModels(ctx context.Context) error {
	s, err := w.liveSession()
	if err != nil {
		return err
	}
	return s.readModels(ctx)
}

func (s *session) readModels(ctx context.Context) error {
	var all []codex.Model
	cursor := ""
	for range maxModelPage {
		var page codex.ModelListResult
		if err := s.call(ctx, codex.ModelList, codex.ModelListParams{Cursor: cursor, Limit: 100}, &page); err != nil {
			return err
		}
		all = append(all, page.Data...)
		if page.NextCursor == "" || page.NextCursor == cursor {
			break
		}
		cursor = page.NextCursor
	}
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.live != s {
		return nil
	}
	s.part.models = models(all)
	w.emit(uicontract.EvModels, &uicontract.Models{Models: append([]uicontract.Model{}, s.part.models...)})
	return nil
}
