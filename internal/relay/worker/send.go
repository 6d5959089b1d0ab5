package worker

import (
	"context"
	"errors"
	"strings"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/ledger"
	"sekisho/internal/relay/rpc"
	"sekisho/internal/relay/uicontract"
)

// mutate sends one mutation under the ledger: opened and claimed before the transport is asked, Sent when it took a byte,
// settled by what the call proves. It is called with the lock held and returns with it held. Nothing sends it again.
func (w *Worker) mutate(ctx context.Context, s *session, kind uicontract.CommandKind, op ledger.Operation, params, result any, turn func() relay.TurnID) error {
	if err := w.open(s, kind, op, w.o.Now()); err != nil {
		return err
	}
	w.mu.Unlock()
	outcome, err := s.client.Call(ctx, op.Method, params, result, rpc.CallOptions{Allow: func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		return s.certain() // it may have waited long for its place
	}, Sent: func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if s.part.book.Started(op.ID, s.gen) == nil {
			w.outcomeChanged(s.part, op.ID)
		}
	}})
	var named relay.TurnID
	if err == nil {
		named = turn()
	}
	w.mu.Lock()
	answer, _ := errors.AsType[*rpc.Error](err)
	if bookErr := s.part.book.Settle(op.ID, s.gen, outcome, answer != nil && answer.Server != nil, named); bookErr != nil {
		w.o.Log.Error("the ledger refused an outcome", "operation", string(op.ID), "err", bookErr)
	}
	w.outcomeChanged(s.part, op.ID)
	return err
}

func noTurn() relay.TurnID { return "" }

// session returns the live session unless its owner is in doubt; the lock is held.
func (w *Worker) session() (*session, error) {
	if w.live == nil {
		return nil, refused("not_connected")
	}
	return w.live, w.live.certain()
}

// sendTurn sends a message to a joined thread: one turn/start per thread at a time, each with a fresh id. Two that overlap
// would leave a turn without an id.
func (w *Worker) sendTurn(ctx context.Context, c uicontract.Command, p *uicontract.TurnSend) (any, error) {
	if strings.TrimSpace(p.Text) == "" {
		return nil, refused("empty")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.sessionFor(c)
	if err != nil {
		return nil, err
	}
	t := s.part.threads[p.Thread]
	switch {
	case t == nil:
		return nil, refused("unknown_thread")
	case t.mode != uicontract.Joined:
		return nil, refused("not_joined")
	case s.turns.Starting(p.Thread):
		return nil, refused("busy")
	}
	op := ledger.Operation{ID: c.Operation, Method: codex.TurnStart, Thread: p.Thread, MessageID: w.messageID(), Content: p.Text}
	params := codex.TurnStartParams{ThreadID: p.Thread, Input: []codex.UserInput{codex.TextInput(p.Text)}, ClientUserMessageID: op.MessageID,
		Model: p.Model, Effort: p.Effort, ServiceTier: p.Tier, Personality: p.Personality}
	s.turns.Sent(s.gen, c.Operation, p.Thread)
	w.emitHead(s.part, t)
	var result codex.TurnStartResult
	err = w.mutate(ctx, s, uicontract.CmdTurnSend, op, params, &result, func() relay.TurnID { return result.Turn.ID })
	if err != nil {
		s.turns.Settled(s.gen, c.Operation)
		w.emitHead(s.part, t)
		return nil, err
	}
	s.turns.Accepted(s.gen, c.Operation, result.Turn)
	t.latest(s, result.Turn.ID)
	w.clearDraft(s.part, p.Thread, p.Text)
	w.emitHead(s.part, t)
	_, steered, _ := s.turns.StartedTurn(c.Operation)
	return uicontract.TurnSent{Thread: p.Thread, Turn: result.Turn.ID, Steered: steered}, nil
}

// clearDraft empties the draft that was sent; a person may have gone on writing.
func (w *Worker) clearDraft(p *partition, id relay.ThreadID, sent string) {
	d, ok := p.drafts[id]
	if !ok || d.Text != sent || w.part != p {
		return
	}
	d.Text, d.Revision = "", d.Revision+1
	p.drafts[id] = d
	w.emit(uicontract.EvDraft, &d)
}

// interrupt ends the running turn of an open thread, joined or not: a turn that waits without a card here can only be
// interrupted.
func (w *Worker) interrupt(ctx context.Context, c uicontract.Command, p *uicontract.TurnRef) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.sessionFor(c)
	if err != nil {
		return err
	}
	t := s.part.threads[p.Thread]
	if t == nil {
		return refused("unknown_thread")
	}
	turn := p.Turn
	if running, ok := s.turns.Running(p.Thread); turn == "" && ok {
		turn = running
	}
	if turn == "" {
		return refused("no_turn")
	}
	op := ledger.Operation{ID: c.Operation, Method: codex.TurnInterrupt, Thread: p.Thread}
	err = w.mutate(ctx, s, uicontract.CmdTurnInterrupt, op, codex.TurnInterruptParams{ThreadID: p.Thread, TurnID: turn}, nil, noTurn)
	if answer, ok := errors.AsType[*rpc.Error](err); ok && answer.Kind == codex.KindTurnMismatch && s.turns.NotActive(s.gen, p.Thread, turn) {
		w.emitHead(s.part, t)
	}
	return err
}

// startThread starts a thread in the profile's root, and opens it.
func (w *Worker) startThread(ctx context.Context, c uicontract.Command, p *uicontract.ThreadStart) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.sessionFor(c)
	if err != nil {
		return nil, err
	}
	params := codex.ThreadStartParams{Cwd: p.Cwd, Model: p.Model, ApprovalPolicy: p.ApprovalPolicy, Sandbox: p.Sandbox}
	if params.Cwd == "" {
		params.Cwd = s.profile.ServerRoot
	}
	var result codex.ThreadOpened
	op := ledger.Operation{ID: c.Operation, Method: codex.ThreadStart}
	if err := w.mutate(ctx, s, uicontract.CmdThreadStart, op, params, &result, noTurn); err != nil {
		return nil, err
	}
	t := s.part.note(result.Thread, true)
	t.summary.Foreign = false
	t.takesPart(s, result)
	t.open = true
	w.emitSummary(s.part, t)
	w.emitView(s.part, t)
	return uicontract.ThreadRef{Thread: t.id}, nil
}

// joinThread takes part in a thread (thread/resume), which is never done without being asked for. A pending request of the
// thread arrives again then, as a new card.
func (w *Worker) joinThread(ctx context.Context, c uicontract.Command, id relay.ThreadID) error {
	w.mu.Lock()
	s, err := w.sessionFor(c)
	if err == nil && s.part.threads[id] != nil && s.part.threads[id].mode == uicontract.Joined {
		err = refused("already")
	}
	if err != nil {
		w.mu.Unlock()
		return err
	}
	s.part.thread(id).joining = true
	var result codex.ThreadOpened
	op := ledger.Operation{ID: c.Operation, Method: codex.ThreadResume, Thread: id}
	err = w.mutate(ctx, s, uicontract.CmdThreadJoin, op, codex.ThreadResumeParams{ThreadID: id, ExcludeTurns: true}, &result, noTurn)
	if t := s.part.threads[id]; t != nil {
		t.joining = false
	}
	if err != nil {
		// What was fetched stays, with the reason (R-REC-05).
		if t := s.part.threads[id]; t != nil && t.open {
			problem := w.explain(err)
			t.problem = &problem
			w.emitHead(s.part, t)
		}
		w.mu.Unlock()
		return err
	}
	t := s.part.note(result.Thread, true)
	t.takesPart(s, result)
	w.emitSummary(s.part, t)
	w.mu.Unlock()
	// What completed between an earlier reading and the join is in the newest pages only.
	return s.read(ctx, id)
}
