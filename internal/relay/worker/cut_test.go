package worker

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/relay"
	"sekisho/internal/relay/ask"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/fakes/appserver"
	"sekisho/test/headless"
)

// A cut ends the cards at once; an answer to an old card sends nothing, also after the reconnect, and nothing joins.
//
// proves R-CONN-02, R-REC-08, R-REC-05
func TestCutEndsCards(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.start()
		b.must(b.send("hello"))
		var card uicontract.Card
		b.see(func(v *headless.View) { card = v.Pending("t")[0] })
		b.server.Release("cut")
		b.see(func(v *headless.View) {
			if c := v.Card(card.ID); c.State != uicontract.CardState(ask.Ended) {
				t.Errorf("the card is %s", c.State)
			}
			if v.Connection.State != uicontract.AwaitManual || v.Connection.Problem == nil {
				t.Errorf("the connection is %+v", v.Connection)
			}
			if h := v.Open("t").Head; !h.Stale || h.Mode != uicontract.Viewing {
				t.Errorf("the thread is shown as %+v", h)
			}
		})
		answer := &uicontract.Answer{Card: card.ID, Choice: card.Choices[0].ID}
		b.refused(b.do(uicontract.CmdCardAnswer, answer), "request.gone", "ended")
		b.must(b.do(uicontract.CmdReconnect, &uicontract.None{}))
		b.settle()
		b.refused(b.do(uicontract.CmdCardAnswer, answer), "request.gone", "ended")
		b.see(func(v *headless.View) {
			if v.Connection.Generation != 2 || v.Connection.State != uicontract.Connected || v.Open("t").Head.Stale {
				t.Errorf("after the reconnect: %+v, %+v", v.Connection, v.Open("t").Head)
			}
		})
		if got := b.answers(); len(got) != 0 {
			t.Errorf("answered %q", got)
		}
		b.sent("thread/resume", 0)
		b.sent("turn/start", 1)
	}, greeted(appserver.StartThread("t"), turn1.BeginTurn(), appserver.Script{turn1.CommandApproval("c1", "true").WithID(0), appserver.Hold("cut"), appserver.Drop()}),
		greeted(pages(appserver.Status(false))))
}

// Twenty open threads are read again after a reconnect, and none is joined.
//
// proves R-REC-05
func TestReconnectJoinsNothing(t *testing.T) {
	var list []any
	many := appserver.Script{}
	for i := range 20 {
		id := fmt.Sprintf("t%d", i)
		list = append(list, appserver.Thread(id))
		many = append(many, appserver.Auto("thread/read", object{"thread": appserver.Thread(id)}))
		many[len(many)-1].Params = []byte(fmt.Sprintf(`{"threadId":%q}`, id))
	}
	many = append(many, appserver.Auto("thread/turns/list", appserver.Page(nil)), appserver.Auto("thread/items/list", appserver.Page(nil)))
	script := appserver.Scripts(readsOf(nil, list...), many, appserver.Handshake())
	in(t, func(t *testing.T, b *bench) {
		for i := range 20 {
			b.must(b.do(uicontract.CmdThreadOpen, &uicontract.ThreadRef{Thread: relay.ThreadID(fmt.Sprintf("t%d", i))}))
		}
		b.must(b.do(uicontract.CmdReconnect, &uicontract.None{}))
		b.settle()
		b.sent("thread/read", 40)
		b.sent("thread/resume", 0)
	}, script, script)
}

// The server waits and there is no request here: the thread says so, and can be interrupted.
//
// proves R-REC-08
func TestWaitsWithoutCard(t *testing.T) {
	running := appserver.Script{
		appserver.Auto("thread/read", object{"thread": waiting("t")}),
		appserver.Auto("thread/turns/list", appserver.Page(nil, appserver.Turn("u1", "inProgress"))),
		appserver.Auto("thread/items/list", appserver.Page(nil)),
	}
	in(t, func(t *testing.T, b *bench) {
		b.must(b.do(uicontract.CmdThreadOpen, &uicontract.ThreadRef{Thread: "t"}))
		b.see(func(v *headless.View) {
			if h := v.Open("t").Head; !h.Waits || h.Mode != uicontract.Viewing || h.TurnStatus != "running" {
				t.Errorf("shown as %+v", h)
			}
		})
		b.must(b.do(uicontract.CmdTurnInterrupt, &uicontract.TurnRef{Thread: "t"}))
		b.sent("turn/interrupt", 1)
		b.sent("thread/resume", 0)
	}, greeted(running, appserver.Script{appserver.Expect("turn/interrupt", object{"turnId": "u1"}), appserver.Reply("turn/interrupt", object{})}))
}

func waiting(id string) object {
	thread := appserver.Thread(id)
	thread["status"] = appserver.Status(true, "waitingOnApproval")
	return thread
}

// An interrupt of a turn that is over is told as such; nothing is sent instead.
//
// proves R-CONN-03
func TestInterruptTooLate(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.start()
		b.must(b.send("hello"))
		r := b.do(uicontract.CmdTurnInterrupt, &uicontract.TurnRef{Thread: "t"})
		if r.Status != uicontract.Failed || r.Problem.Variant != "turn_over" {
			t.Errorf("%+v", r)
		}
		b.see(func(v *headless.View) {
			if h := v.Open("t").Head; h.TurnStatus != "over" {
				t.Errorf("shown as %+v", h)
			}
		})
		b.refused(b.do(uicontract.CmdTurnInterrupt, &uicontract.TurnRef{Thread: "t"}), "relay.command", "no_turn")
		b.sent("turn/interrupt", 1)
		b.sent("turn/start", 1)
	}, greeted(appserver.StartThread("t"), turn1.BeginTurn(), appserver.Script{appserver.Expect("turn/interrupt", nil), appserver.Fail("turn/interrupt", -32600, "no active turn to interrupt")}))
}

// A message whose answer never came is unknown, stays to be copied, and is delivered once history has its id. Nothing is
// sent again.
//
// proves R-REC-07, R-PRI-04
func TestUnknownThenDelivered(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.messageID = func() string { return "mine" }
		b.start()
		r := b.send("precious words")
		if r.Status != uicontract.Unknown {
			t.Fatalf("%+v", r)
		}
		b.see(func(v *headless.View) {
			o := v.Outcomes[len(v.Outcomes)-1]
			if o.State != uicontract.OutcomeUnknown || o.Text != "precious words" {
				t.Errorf("the outcome is %+v", o)
			}
		})
		b.must(b.do(uicontract.CmdReconnect, &uicontract.None{}))
		synctest.Wait()
		b.server.Release("history")
		b.see(func(v *headless.View) {
			for _, o := range v.Outcomes {
				if o.Operation == r.Operation && o.State != uicontract.OutcomeDelivered {
					t.Errorf("the outcome is %+v", o)
				}
			}
		})
		b.sent("turn/start", 1)
	}, greeted(appserver.StartThread("t"), appserver.Script{appserver.Expect("turn/start", object{"clientUserMessageId": "mine"}), appserver.Drop()}),
		greeted(appserver.Script{
			appserver.Auto("thread/read", object{"thread": appserver.Thread("t")}),
			appserver.Auto("thread/turns/list", appserver.Page(nil)),
			appserver.Expect("thread/items/list", nil), appserver.Hold("history"),
			appserver.Reply("thread/items/list", appserver.Page(nil, appserver.Entry("u1", appserver.UserMessage("i1", "mine", "precious words")))),
		}))
}

// proves R-CONN-04
func TestReconnectsAreOne(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		var clicks sync.WaitGroup
		for range 8 {
			clicks.Go(func() { b.must(b.do(uicontract.CmdReconnect, &uicontract.None{})) })
		}
		clicks.Wait()
		synctest.Wait()
		if n := b.server.Connections(); n != 2 {
			t.Errorf("%d connections", n)
		}
		b.see(func(v *headless.View) {
			if v.Connection.Generation != 2 || v.Connection.State != uicontract.Connected {
				t.Errorf("%+v", v.Connection)
			}
		})
	}, greeted(), appserver.Scripts(appserver.Script{appserver.Delay(time.Second)}, greeted())) // long enough for every click
}

// Drafts are kept per thread, in memory (a part of R-REC-03).
func TestDraftsSurviveSwitchAndCut(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.must(b.do(uicontract.CmdDraftSet, &uicontract.Draft{Thread: "a", Text: "first", Revision: 1}))
		b.must(b.do(uicontract.CmdDraftSet, &uicontract.Draft{Thread: "b", Text: "second", Revision: 1}))
		b.must(b.do(uicontract.CmdDraftSet, &uicontract.Draft{Thread: "a", Text: "late", Revision: 1}))
		b.server.Release("cut")
		synctest.Wait()
		b.must(b.do(uicontract.CmdReconnect, &uicontract.None{}))
		late := b.attach("")
		defer late.leave()
		synctest.Wait()
		late.look(func(v *headless.View) {
			got := map[relay.ThreadID]string{}
			for _, d := range v.Drafts {
				got[d.Thread] = d.Text
			}
			if len(got) != 2 || got["a"] != "first" || got["b"] != "second" {
				t.Errorf("drafts %v", got)
			}
		})
	}, greeted(appserver.Script{appserver.Hold("cut"), appserver.Drop()}), greeted())
}

// Another account: everything of the old owner is gone before anything of the new one is there, and a person reconnects.
//
// proves R-PRI-05
func TestOwnerChange(t *testing.T) {
	who := func(email string) object { return object{"type": "chatgpt", "email": email, "planType": "plus"} }
	first := appserver.Scripts(appserver.Script{appserver.Auto("thread/list", appserver.Page(nil, appserver.Thread("secret"))), appserver.Auto("model/list", appserver.Page(nil))}, appserver.Handshake(),
		appserver.Script{appserver.Expect("account/read", nil), appserver.Reply("account/read", object{"account": who("a@example.com"), "requiresOpenaiAuth": false}),
			appserver.Hold("switch"), appserver.Notify("account/updated", object{"authMode": "chatgpt", "planType": nil}),
			appserver.Expect("account/read", nil).Labelled("again"), appserver.Reply("again", object{"account": who("b@example.com"), "requiresOpenaiAuth": false})})
	in(t, func(t *testing.T, b *bench) {
		b.must(b.do(uicontract.CmdDraftSet, &uicontract.Draft{Thread: "secret", Text: "canary", Revision: 1}))
		b.see(func(v *headless.View) {
			if v.Owner == nil && len(v.Threads) != 1 {
				t.Errorf("threads %+v", v.Threads)
			}
		})
		b.server.Release("switch")
		b.see(func(v *headless.View) {
			if v.Connection.State != uicontract.AwaitManual || v.Connection.Problem == nil || v.Connection.Problem.Code != "relay.owner_changed" {
				t.Errorf("%+v", v.Connection)
			}
			if len(v.Threads)+len(v.Drafts)+len(v.Outcomes)+len(v.Cards)+len(v.Snapshot.Open) != 0 || v.Owner != nil {
				t.Errorf("left of the old owner: %+v", v.Snapshot)
			}
		})
		if n := b.server.Connections(); n != 1 {
			t.Errorf("%d connections: reconnected by itself", n)
		}
		b.must(b.do(uicontract.CmdReconnect, &uicontract.None{}))
		b.see(func(v *headless.View) {
			if v.Connection.State != uicontract.Connected || len(v.Drafts) != 0 {
				t.Errorf("%+v, drafts %+v", v.Connection, v.Drafts)
			}
		})
	}, first, appserver.Scripts(readsOf(who("b@example.com")), appserver.Handshake()))
}
