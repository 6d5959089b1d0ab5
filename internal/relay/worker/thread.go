package worker

import (
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/history"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/visible"
)

// thread is what is known about one thread of an owner. It is guarded by Worker.mu.
type thread struct {
	id       relay.ThreadID
	summary  uicontract.ThreadSummary
	mode     uicontract.ThreadMode
	open     bool // shown by front ends
	joining  bool // thread/resume is on its way: its events count already
	stale    bool // last known, of an ended connection
	lastTurn relay.TurnID
	settings *uicontract.Settings
	usage    *uicontract.Usage
	plan     []uicontract.Step
	problem  *uicontract.Problem
	win      *history.Window
}

func newThread(owner relay.Owner, id relay.ThreadID, gen relay.Generation) *thread {
	return &thread{id: id, summary: uicontract.ThreadSummary{ID: id}, mode: uicontract.Viewing, win: history.New(owner, id, gen)}
}

// takesPart notes what the server told when the thread was started or joined.
func (t *thread) takesPart(s *session, r codex.ThreadOpened) {
	t.mode, t.stale, t.problem = uicontract.Joined, false, nil
	t.settings = settings(r.Cwd, r.Model, r.ModelProvider, r.ApprovalPolicy, r.Sandbox, r.ReasoningEffort)
	s.turns.ThreadStatus(s.gen, t.id, r.Thread.Status)
	for _, known := range r.Thread.Turns {
		s.turns.Known(s.gen, t.id, known)
	}
}

// disconnected keeps what is shown as last known; taking part ended with the connection.
func (t *thread) disconnected() {
	t.mode, t.joining, t.stale = uicontract.Viewing, false, true
	t.win.Rebind(0)
}

// head is what stands above the open thread; the lock is held.
func (w *Worker) head(p *partition, t *thread) uicontract.ThreadHead {
	_, stop := t.win.OlderItems()
	h := uicontract.ThreadHead{Thread: t.summary, Mode: t.mode, Older: stop == history.NoStop, Dropped: stop == history.Full || t.win.Evicted(), Settings: t.settings, Usage: t.usage,
		Plan: t.plan, Problem: t.problem, Stale: t.stale, Turn: t.lastTurn}
	s := w.live
	if s == nil || s.part != p {
		// Last known: an end stays one, and what ran may or may not run now.
		if known, ok := t.win.Turn(h.Turn); ok && known.Status.Ended() {
			h.TurnStatus = string(known.Status)
		}
		return h
	}
	h.Busy = s.turns.Starting(t.id)
	if id, ok := s.turns.Running(t.id); ok {
		h.Turn = id
	}
	if known, ok := s.turns.Turn(t.id, h.Turn); ok {
		h.TurnStatus = known.Status.String()
		if known.Err != nil {
			h.TurnError = visible.Line(known.Err.Message, noticeBytes)
		}
	}
	h.Waits = s.turns.WaitsUnseen(t.id)
	return h
}

// emitHead tells what stands above an open thread; the lock is held.
func (w *Worker) emitHead(p *partition, t *thread) {
	if t.open && w.part == p {
		h := w.head(p, t)
		w.emit(uicontract.EvHead, &h)
	}
}

// threadView is an open thread with the end of its window; the lock is held.
func (w *Worker) threadView(p *partition, t *thread) uicontract.ThreadView {
	entries := t.win.Entries()
	return uicontract.ThreadView{Head: w.head(p, t), Window: w.window(p, t, entries, len(entries), snapItems)}
}

// emitView replaces what front ends show of a thread; the lock is held.
func (w *Worker) emitView(p *partition, t *thread) {
	if t.open && w.part == p {
		v := w.threadView(p, t)
		w.emit(uicontract.EvWindow, &v)
	}
}
