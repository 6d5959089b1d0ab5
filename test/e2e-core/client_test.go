//go:build realcodex

package e2ecore

import (
	"context"
	"testing"

	"sekisho/internal/relay"
	"sekisho/internal/relay/ask"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/rpc"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/headless"
	"sekisho/test/relayworld"
)

// A page that is loaded anew shows all pending requests, a page that comes back with its last id misses nothing, and each
// request is answered once.
//
// proves R-INT-01, R-UI-04
func TestPageReconnectsWithThreePendingRequests(t *testing.T) {
	both(t, options{}, func(t *testing.T, w *world) {
		threads := []relay.ThreadID{w.Thread(), w.Thread(), w.Thread()}
		turns := map[relay.ThreadID]relay.TurnID{}
		for _, id := range threads {
			turns[id] = w.Send(id, escalated("true"))
		}
		three := func(v *headless.View) bool {
			n := 0
			for _, id := range threads {
				n += len(v.Pending(id))
			}
			return n == 3
		}
		w.Wait("three cards", three)
		var last string
		w.Watch.Look(func(v *headless.View) { last = v.Last })
		w.Watch.Close()

		client, watch := w.page()
		w.Client = client
		w.WaitOn(watch, "three cards on the new page", three)
		watch.Look(func(v *headless.View) {
			if v.Batches != 1 {
				t.Errorf("the cards took %d batches", v.Batches)
			}
		})
		w.Watch = watch
		var card uicontract.Card
		watch.Look(func(v *headless.View) { card = v.Pending(threads[0])[0] })
		w.Must(w.Choose(card, "accept"))
		w.CardIs(card.ID, ask.Answered)

		again, err := client.Watch(w.Ctx, last)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		w.WaitOn(again, "what was missed", func(v *headless.View) bool {
			return len(v.Seen) > 0 && v.Seen[len(v.Seen)-1].ID == card.ID
		})
		again.Look(func(v *headless.View) {
			if v.Snapshots != 0 {
				t.Error("a page that came back with its last id got a snapshot")
			}
		})
		for _, id := range threads[1:] {
			w.Must(w.Choose(w.Card(id), "accept"))
		}
		for _, id := range threads {
			w.Turn(id, turns[id], "completed")
		}
		for _, id := range w.tape.Asked(commandApproval) {
			if got := w.tape.Replies(id); len(got) != 1 || got[0] != `{"decision":"accept"}` {
				t.Errorf("request %s was answered with %q", id, got)
			}
		}
		w.tape.Times(t, "turn/start", 3)
	})
}

// second is another worker with its own front end on the same server.
func (w *world) second() *world {
	w.t.Helper()
	o := &world{Front: relayworld.Front{T: w.t, Ctx: w.Ctx, Patience: patience}, t: w.t, version: w.version, provider: w.provider, home: w.home, work: w.work, profile: w.profile, tape: &relayworld.Tape{}, log: w.log}
	o.start()
	o.Must(o.Do(uicontract.CmdConnect, uicontract.Connect{Enable: true}, nil))
	return o
}

// Two clients on one server: the second one sees the thread announced, views it without joining, joins on request, and
// gets the same request; the first answer wins.
//
// proves R-CONN-08, R-REC-05, R-REC-08
func TestTwoClients(t *testing.T) {
	a := newWorld(t, options{remote: true})
	b := a.second()
	id := a.Thread()
	b.Wait("the announced thread", func(v *headless.View) bool {
		for _, s := range v.Threads {
			if s.ID == id {
				return s.Foreign
			}
		}
		return false
	})
	turn := a.Send(id, escalated("touch "+a.work+"/shared"))
	first := a.Card(id)

	b.Must(b.Do(uicontract.CmdThreadOpen, uicontract.ThreadRef{Thread: id}, nil))
	b.Wait("join to answer", func(v *headless.View) bool {
		o := v.Open(id)
		return o != nil && o.Head.Mode == uicontract.Viewing && o.Head.Waits && len(v.Pending(id)) == 0
	})
	b.tape.Times(t, "thread/resume", 0)
	if r := b.Do(uicontract.CmdTurnSend, uicontract.TurnSend{Thread: id, Text: "x"}, nil); r.Status != uicontract.Refused || r.Problem.Variant != "not_joined" {
		t.Errorf("a message to a thread that is only viewed: %+v", r)
	}
	b.Must(b.Do(uicontract.CmdThreadJoin, uicontract.ThreadRef{Thread: id}, nil))
	b.tape.Once(t, "thread/resume", `"excludeTurns":true`)
	second := b.Card(id)
	if second.Command == nil || second.Command.Line.Lines[0] != first.Command.Line.Lines[0] {
		t.Errorf("the second client was asked %+v", second)
	}
	b.Must(b.Choose(second, "accept"))
	a.CardIs(first.ID, ask.Resolved)
	a.Turn(id, turn, "completed")
	b.Turn(id, turn, "completed")
	if r := a.Choose(first, "cancel"); r.Status != uicontract.Refused {
		t.Errorf("a late answer: %+v", r)
	}
	b.tape.Answered(t, commandApproval, `{"decision":"accept"}`)
	if got := a.tape.Replies(a.tape.Asked(commandApproval)[0]); len(got) != 0 {
		t.Errorf("the first client answered %q", got)
	}
	b.tape.Times(t, "turn/start", 0)
	a.tape.Once(t, "turn/start")
	a.fit()
	b.fit()
}

// A dropped socket with a pending request: the old card is dead, the reconnected worker only views and says that the
// thread waits, and joining brings the same request as a new card of the new connection.
//
// proves R-REC-08, R-CONN-02, R-REC-05
func TestReconnectWithPendingRequest(t *testing.T) {
	w := newWorld(t, options{remote: true})
	id := w.Thread()
	turn := w.Send(id, escalated("touch "+w.work+"/late"))
	old := w.Card(id)
	w.Must(w.Do(uicontract.CmdReconnect, nil, nil))
	w.CardIs(old.ID, ask.Ended)
	if r := w.Choose(old, "accept"); r.Status != uicontract.Refused {
		t.Errorf("an answer to the old card: %+v", r)
	}
	w.Wait("join to answer", func(v *headless.View) bool {
		o := v.Open(id)
		return v.Connection.State == uicontract.Connected && v.Connection.Generation == 2 && o != nil && !o.Head.Stale && o.Head.Mode == uicontract.Viewing && o.Head.Waits
	})
	w.tape.Times(t, "thread/resume", 0)
	w.Must(w.Do(uicontract.CmdThreadJoin, uicontract.ThreadRef{Thread: id}, nil))
	fresh := w.Card(id)
	if fresh.ID == old.ID {
		t.Error("the new card has the old id")
	}
	if ids := w.tape.Asked(commandApproval); len(ids) != 2 || ids[0] != ids[1] {
		t.Errorf("the server's ids are %q", ids)
	}
	w.Must(w.Choose(fresh, "accept"))
	w.Turn(id, turn, "completed")
	ids := w.tape.Asked(commandApproval)
	if got := w.tape.Replies(ids[0]); len(got) != 1 {
		t.Errorf("answered %q", got)
	}
	w.tape.Once(t, "thread/resume")
	w.tape.Once(t, "turn/start")
	w.fit()
}

// A restarted local server replays nothing: the turn was interrupted, and the card ends with its connection.
//
// proves R-REC-08, R-CONN-05
func TestLocalRestart(t *testing.T) {
	w := newWorld(t, options{})
	id := w.Thread()
	turn := w.Send(id, escalated("touch "+w.work+"/late"))
	old := w.Card(id)
	w.Must(w.Do(uicontract.CmdReconnect, nil, nil))
	w.CardIs(old.ID, ask.Ended)
	w.Wait("the interrupted turn", func(v *headless.View) bool {
		o := v.Open(id)
		return o != nil && !o.Head.Stale && o.Head.Turn == turn && o.Head.TurnStatus == "interrupted" && !o.Head.Waits
	})
	w.Must(w.Do(uicontract.CmdThreadJoin, uicontract.ThreadRef{Thread: id}, nil))
	next := w.Send(id, "SCN text after the restart")
	w.Turn(id, next, "completed")
	w.Watch.Look(func(v *headless.View) {
		if n := len(v.Pending(id)); n != 0 {
			t.Errorf("%d cards", n)
		}
	})
	w.tape.Times(t, "turn/start", 2)
	w.fit()
}

// Two workers with a server each on one home: the second one is told that the thread has a writer, and can view it.
//
// proves R-CONN-10
func TestActiveWriter(t *testing.T) {
	a := newWorld(t, options{})
	id := a.Thread()
	a.Turn(id, a.Send(id, "SCN text hello"), "completed")
	b := a.second()
	b.Must(b.Do(uicontract.CmdThreadOpen, uicontract.ThreadRef{Thread: id}, nil))
	r := b.Do(uicontract.CmdThreadJoin, uicontract.ThreadRef{Thread: id}, nil)
	if r.Status != uicontract.Failed || r.Problem.Variant != "writer_conflict" {
		t.Fatalf("joining a thread with a writer: %+v", r)
	}
	b.Wait("the reason beside the history", func(v *headless.View) bool {
		o := v.Open(id)
		return o != nil && o.Head.Problem != nil && o.Head.Problem.Variant == "writer_conflict" && len(o.Window.Items) == 2
	})
	b.tape.Once(t, "thread/resume")
	b.tape.Times(t, "thread/start", 0)
	a.fit()
	b.fit()
}

// silent takes everything and answers nothing.
type silent struct{}

func (silent) Notification(relay.Generation, codex.Notification) {}
func (silent) Request(rpc.Request)                               {}
func (silent) Retired(relay.Key, rpc.Retirement)                 {}
func (silent) Refused(relay.Generation, string, int)             {}
func (silent) SyncLost(relay.Generation, rpc.Lost)               {}
func (silent) Ended(relay.Generation, error)                     {}

// raw is another client of the server, with parameters that the relay does not send.
func (w *world) raw() *rpc.Client {
	w.t.Helper()
	conn, err := transport.Dial(w.Ctx, transport.Endpoint{URL: w.profile.Endpoint, TokenFile: w.profile.TokenFile})
	if err != nil {
		w.t.Fatal(err)
	}
	c := rpc.New(conn, rpc.Options{Generation: 1, Version: codex.Target, Handler: silent{}})
	w.t.Cleanup(func() { c.Close(transport.ByUser) })
	params := codex.InitializeParams{ClientInfo: codex.ClientInfo{Name: "other", Version: "1"}, Capabilities: &codex.Capabilities{ExperimentalAPI: true}}
	if _, err := c.Call(w.Ctx, codex.Initialize, params, nil, rpc.CallOptions{}); err != nil {
		w.t.Fatal(err)
	}
	if err := c.Notify(w.Ctx, codex.Initialized, nil); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// A blocking question comes in plan mode, which another client starts here; the relay has joined the thread and answers.
//
// proves R-INT-02
func TestBlockingQuestion(t *testing.T) {
	w := newWorld(t, options{remote: true})
	id := w.Thread()
	w.Turn(id, w.Send(id, "SCN text hello"), "completed")
	other := w.raw()
	call := func(ctx context.Context, method string, params any) {
		t.Helper()
		if _, err := other.Call(ctx, method, params, nil, rpc.CallOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	call(w.Ctx, codex.ThreadResume, codex.ThreadResumeParams{ThreadID: id, ExcludeTurns: true})
	call(w.Ctx, codex.TurnStart, map[string]any{"threadId": id, "input": []codex.UserInput{codex.TextInput(which)},
		"collaborationMode": map[string]any{"mode": "plan", "settings": map[string]any{"model": "gpt-6.1-sol", "reasoning_effort": nil, "developer_instructions": nil}}})
	card := w.Card(id)
	if card.Questions == nil || !card.Questions.Blocking {
		t.Fatalf("the card asks %+v", card.Questions)
	}
	q := card.Questions.Questions[0]
	if r := w.Do(uicontract.CmdCardAnswer, uicontract.Answer{Card: card.ID, Replies: map[string]ask.Reply{"9": {Text: "x"}}}, nil); r.Status != uicontract.Refused {
		t.Errorf("an answer to a question that was not asked: %+v", r)
	}
	w.Must(w.Do(uicontract.CmdCardAnswer, uicontract.Answer{Card: card.ID, Replies: map[string]ask.Reply{q.ID: {Option: &q.Options[0].ID}}}, nil))
	w.tape.Answered(t, userInput, `{"answers":{"q1":{"answers":["A (Recommended)"]}}}`)
	w.Wait("the end of the other client's turn", func(v *headless.View) bool {
		o := v.Open(id)
		return o.Head.TurnStatus == "completed" && len(v.Texts(id, "agentMessage")) == 2
	})
	w.fit()
}
