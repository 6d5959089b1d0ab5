package worker

import (
	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/ask"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/rpc"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/visible"
	"slices"
)

// Notification implements rpc.Handler.
func (s *session) Notification(_ relay.Generation, n codex.Notification) {
	s.w.mu.Lock()
	switch n.(type) {
	case *codex.AccountUpdated, *codex.LoginCompleted:
		s.doubtOwner()
	}
	if s.part != nil && s.w.live == s {
		s.turns.Note(s.gen, n)
		s.apply(n)
		s.w.sealIfDue()
	}
	after := s.after
	s.after = nil
	s.w.mu.Unlock()
	for _, f := range after {
		f()
	}
}

// Request implements rpc.Handler. Without a front end it stays pending: nothing answers by itself.
func (s *session) Request(r rpc.Request) {
	s.telling.Lock() // what a page says meanwhile is told to the card after it is there
	defer s.telling.Unlock()
	s.w.mu.Lock()
	if s.part == nil {
		s.early = append(s.early, r)
		s.w.mu.Unlock()
		return
	}
	facts := s.part.facts(r.Body)
	s.turns.Asked(r.Key, r.Body.Scope())
	from := ask.Origin{Owner: s.part.owner, Profile: s.profile.Name, Host: hostOf(s.profile)}
	s.w.mu.Unlock()
	s.log.Info("server request", "method", r.Body.Method(), "request", r.Key.Request.String())
	s.w.asks.Add(s.ctx, s.client, from, r, facts)
}

// Retired implements rpc.Handler.
func (s *session) Retired(key relay.Key, why rpc.Retirement) {
	s.w.mu.Lock()
	s.turns.Resolved(key)
	// One that is settled before the owner is known must not become a card when it is.
	s.early = slices.DeleteFunc(s.early, func(r rpc.Request) bool { return r.Key == key })
	s.w.mu.Unlock()
	s.w.asks.Retire(key, why)
}

// Refused implements rpc.Handler. What was refused is shown, because a turn that fails for it should be explained.
func (s *session) Refused(_ relay.Generation, method string, code int) {
	variant := map[int]string{codex.CodeInvalidParams: "malformed", codex.CodeMethodNotFound: "unknown"}[code]
	s.log.Warn("server request refused", "method", visible.Line(method, 80), "code", code)
	f := fault.New(fault.RelayRefused, fault.Variant(variant), fault.Arg("method", visible.Line(method, 80)))
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	problem := s.w.explain(f)
	s.w.notify(uicontract.Notice{Kind: uicontract.NoticeRefused, Problem: &problem})
}

// SyncLost implements rpc.Handler: what is open is read again, without changing anything on the server (R-REC-11).
func (s *session) SyncLost(_ relay.Generation, lost rpc.Lost) {
	s.log.Warn("notifications lost", "dropped", lost.Dropped, "malformed", lost.Malformed)
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if lost.Dropped > 0 {
		s.doubtOwner() // a notice of another account can be among them
	}
	if s.part == nil || w.live != s || lost.Dropped == 0 {
		return
	}
	problem := w.explain(fault.New(fault.RelaySync, fault.Variant("overflow")))
	w.emit(uicontract.EvSync, &uicontract.SyncFailed{Problem: problem})
	for id, t := range s.part.threads {
		t.win.Lost()
		if t.open {
			s.resyncSoon(id)
		}
	}
}

// Ended implements rpc.Handler: everything that was bound to the generation settles at once (R-CONN-02).
func (s *session) Ended(_ relay.Generation, err error) {
	w := s.w
	s.cancel()
	w.asks.EndGeneration(s.gen)
	w.mu.Lock()
	defer w.mu.Unlock()
	s.ended = true
	if w.live != s {
		return
	}
	w.live, s.part.gen = nil, 0
	for _, id := range s.part.book.EndGeneration(s.gen) {
		w.outcomeChanged(s.part, id)
	}
	for _, t := range s.part.threads {
		t.disconnected()
		if t.open {
			w.emitHead(s.part, t)
		}
	}
	why := err
	if s.invalid != nil {
		why = s.invalid
	}
	s.log.Info("connection ended", "why", codeOf(why))
	if s.closing == transport.Replaced {
		return // what is shown next is the attempt that replaces it
	}
	state := uicontract.AwaitManual
	if s.closing != "" && s.invalid == nil {
		state, why = uicontract.Offline, nil
	}
	c := w.describe(state, why)
	c.Process = s.process()
	w.setConnection(c)
}
