package worker

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/relay"
	"sekisho/internal/relay/ask"
	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/rpc"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/fakes/appserver"
	"sekisho/test/headless"
)

var turn1 = appserver.Of{Thread: "t", Turn: "u1"}

// empty answers the pages of a thread that has nothing.
func pages(status object, items ...any) appserver.Script {
	thread := appserver.Thread("t")
	thread["status"] = status
	return appserver.Script{
		appserver.Auto("thread/read", object{"thread": thread}),
		appserver.Auto("thread/turns/list", appserver.Page(nil)),
		appserver.Auto("thread/items/list", appserver.Page(nil, items...)),
	}
}

// proves R-REC-07, R-CONN-03
func TestTurn(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.start()
		b.must(b.do(uicontract.CmdDraftSet, &uicontract.Draft{Thread: "t", Text: "hello", Revision: 1}))
		r := b.must(b.send("hello"))
		b.see(func(v *headless.View) {
			o := v.Open("t")
			if o == nil || o.Head.TurnStatus != "completed" || o.Head.Busy || len(o.Window.Items) != 2 {
				t.Fatalf("the page shows %+v", o)
			}
			if got := v.Texts("t", "agentMessage"); len(got) != 1 || got[0] != "one two three" {
				t.Errorf("texts %q", got)
			}
			if user := o.Window.Items[0]; user.Operation != r.Operation {
				t.Errorf("the message is of operation %q", user.Operation)
			}
			if len(v.Drafts) != 1 || v.Drafts[0].Text != "" || v.Drafts[0].Revision != 2 {
				t.Errorf("drafts %+v", v.Drafts)
			}
			var states []string
			for _, out := range v.Outs {
				if out.Operation == r.Operation {
					states = append(states, string(out.State))
				}
			}
			if got := strings.Join(states, " "); got != "notSent sent confirmed" {
				t.Errorf("outcomes %s", got)
			}
		})
		b.sent("turn/start", 1)
	}, greeted(appserver.StartThread("t"), turn1.TextTurn("m1", "one two three")))
}

// A completion before the response, a late start and a second completion give one ended turn.
//
// proves R-CONN-03
func TestOrders(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.start()
		b.must(b.send("hello"))
		b.see(func(v *headless.View) {
			if o := v.Open("t"); o.Head.TurnStatus != "completed" || o.Head.Turn != "u1" || len(o.Window.Items) != 1 {
				t.Errorf("the page shows %+v", o)
			}
		})
	}, greeted(appserver.StartThread("t"), turn1.CompletedFirst("m1", "one"), turn1.Twice()))
}

// Nothing is made up while turn/started is late.
//
// proves R-CONN-03
func TestLateStart(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.start()
		b.must(b.send("hello"))
		b.see(func(v *headless.View) {
			if h := v.Open("t").Head; h.TurnStatus != "running" || h.Turn != "u1" {
				t.Errorf("before turn/started: %+v", h)
			}
		})
		time.Sleep(6 * time.Second)
		b.see(func(v *headless.View) {
			if h := v.Open("t").Head; h.TurnStatus != "completed" {
				t.Errorf("at the end: %+v", h)
			}
		})
		b.sent("turn/start", 1)
	}, greeted(appserver.StartThread("t"), appserver.Script{appserver.Expect("turn/start", nil), appserver.Reply("turn/start", object{"turn": appserver.Turn("u1", "inProgress")}),
		appserver.Delay(5 * time.Second), turn1.TurnStarted()}, turn1.EndTurn()))
}

// Two sends at once: one turn/start; the same operation twice: one turn/start and the same result.
//
// proves R-CONN-08, R-UI-04
func TestDoubleSend(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.start()
		results := make([]uicontract.Result, 3)
		var sends sync.WaitGroup
		for i, op := range []relay.OperationID{"one", "one", "two"} {
			sends.Go(func() {
				results[i] = b.doAs(op, uicontract.CmdTurnSend, &uicontract.TurnSend{Thread: "t", Text: "hello"})
			})
			synctest.Wait()
		}
		b.see(func(v *headless.View) {
			if !v.Open("t").Head.Busy {
				t.Error("not shown as busy")
			}
		})
		b.server.Release("answer")
		sends.Wait()
		b.must(results[0])
		if string(results[1].Value) != string(results[0].Value) {
			t.Errorf("the same operation: %+v and %+v", results[0], results[1])
		}
		b.refused(results[2], "relay.command", "busy")
		b.refused(b.doAs("one", uicontract.CmdTurnSend, &uicontract.TurnSend{Thread: "t", Text: "other"}), "relay.command", "operation")
		b.sent("turn/start", 1)
	}, greeted(appserver.StartThread("t"), appserver.Script{appserver.Expect("turn/start", nil), appserver.Hold("answer"),
		appserver.Reply("turn/start", object{"turn": appserver.Turn("u1", "inProgress")})}))
}

// Without a page a request stays pending: nothing is answered. A page that comes later sees all three.
//
// proves R-INT-01, R-PRI-02
func TestNoPageAnswersNothing(t *testing.T) {
	var asks appserver.Script
	for i := range 3 {
		asks = append(asks, turn1.CommandApproval(fmt.Sprintf("c%d", i), "rm -rf x").WithID(i))
	}
	in(t, func(t *testing.T, b *bench) {
		b.start()
		b.must(b.send("hello"))
		synctest.Wait()
		var arrived []int64
		b.see(func(v *headless.View) {
			for _, c := range v.Pending("t") {
				arrived = append(arrived, c.AtMs)
			}
		})
		b.page.leave()
		time.Sleep(time.Hour)
		if got := b.answers(); len(got) != 0 {
			t.Errorf("answered %q", got)
		}
		b.page = b.attach("")
		b.see(func(v *headless.View) {
			if n := len(v.Pending("t")); n != 3 || v.Batches != 1 {
				t.Errorf("%d cards in %d batches", n, v.Batches)
			}
			for i, c := range v.Pending("t") {
				if c.AtMs != arrived[i] || time.Since(time.UnixMilli(c.AtMs)) < time.Hour {
					t.Errorf("card %s arrived at %d, is told to have at %d", c.ID, arrived[i], c.AtMs)
				}
			}
		})
	}, greeted(appserver.StartThread("t"), turn1.BeginTurn(), asks))
}

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

// A page that does not read holds nobody up, and gets a snapshot when it reads again.
//
// proves R-CONN-09
func TestStalledPage(t *testing.T) {
	const n = 20_000
	in(t, func(t *testing.T, b *bench) {
		stalled := b.Attach("")
		if _, _, err := stalled.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.start()
		b.must(b.send("hello"))
		synctest.Wait()
		for range maxBatches + 10 { // batches that nobody of the stalled page takes
			b.mu.Lock()
			b.notify(uicontract.Notice{Kind: uicontract.NoticeWarning, Shown: "x"})
			if err := b.events.seal(b.o.Now()); err != nil {
				t.Error(err)
			}
			b.mu.Unlock()
		}
		b.see(func(v *headless.View) {
			if h := v.Open("t").Head; h.TurnStatus != "completed" || len(v.Sync) != 0 {
				t.Errorf("%+v, lost %+v", h, v.Sync)
			}
		})
		_, data, err := stalled.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var batch uicontract.Batch
		if err := uicontract.Decode(data, &batch); err != nil {
			t.Fatal(err)
		}
		if s, ok := batch.Events[0].Body.(*uicontract.Snapshot); !ok || s.Reason != uicontract.SnapshotLagged {
			t.Errorf("the stalled page got %s", batch.Events[0].Kind)
		}
	}, greeted(appserver.StartThread("t"), turn1.BeginTurn(), appserver.Script{turn1.Started(appserver.AgentMessage("m", ""))}, turn1.Flood("m", n), turn1.EndTurn()))
}

// Lost notifications are told, and what is open is read again by read-only calls.
//
// proves R-REC-11
func TestSyncLost(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.must(b.do(uicontract.CmdThreadOpen, &uicontract.ThreadRef{Thread: "t"}))
		b.mu.Lock()
		s := b.live
		b.mu.Unlock()
		s.SyncLost(s.gen, rpc.Lost{Dropped: 3})
		b.see(func(v *headless.View) {
			if len(v.Sync) != 1 || v.Sync[0].Problem.Variant != "overflow" {
				t.Errorf("told %+v", v.Sync)
			}
		})
		b.sent("thread/items/list", 2)
		b.sent("thread/resume", 0)
	}, greeted(pages(appserver.Status(false))))
}

// A live item and the same item in a page are one; pages that go in a circle end with a reason.
//
// proves R-REC-04, R-REC-11
func TestPagesAndLiveItems(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.start()
		b.must(b.send("hello"))
		b.must(b.do(uicontract.CmdThreadSync, &uicontract.ThreadRef{Thread: "t"}))
		b.see(func(v *headless.View) {
			if n := len(v.Open("t").Window.Items); n != 2 {
				t.Errorf("%d items: %+v", n, v.Open("t").Window.Items)
			}
		})
	}, greeted(pages(appserver.Status(false), appserver.Entry("u1", appserver.AgentMessage("m1", "one"))), appserver.StartThread("t"), turn1.TextTurn("m1", "one")))
	in(t, func(t *testing.T, b *bench) {
		b.must(b.do(uicontract.CmdThreadOpen, &uicontract.ThreadRef{Thread: "t"}))
		for range 20 {
			b.must(b.do(uicontract.CmdThreadOlder, &uicontract.ThreadRef{Thread: "t"}))
		}
		b.see(func(v *headless.View) {
			if h := v.Open("t").Head; h.Older || h.Problem == nil || h.Problem.Variant != "cursor" {
				t.Errorf("shown as %+v", h)
			}
		})
		synctest.Wait()
		if n := len(b.server.Sent("thread/items/list")); n > 5 {
			t.Errorf("%d pages of a circle were read", n)
		}
	}, greeted(appserver.Script{appserver.Auto("thread/read", object{"thread": appserver.Thread("t")}), appserver.Auto("thread/turns/list", appserver.Page(nil))},
		appserver.CyclicPages("thread/items/list")))
}

// A question that does not block outlives its turn.
//
// proves R-INT-02
func TestQuestionOutlivesTurn(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.start()
		b.must(b.send("hello"))
		var card uicontract.Card
		b.see(func(v *headless.View) {
			if v.Open("t").Head.TurnStatus != "completed" || len(v.Pending("t")) != 1 {
				t.Fatalf("%+v, %d cards", v.Open("t").Head, len(v.Pending("t")))
			}
			card = v.Pending("t")[0]
		})
		q := card.Questions.Questions[0]
		b.must(b.do(uicontract.CmdCardAnswer, &uicontract.Answer{Card: card.ID, Replies: map[string]ask.Reply{q.ID: {Option: &q.Options[0].ID}}}))
		if got := b.answers(); len(got) != 1 {
			t.Errorf("answered %q", got)
		}
	}, greeted(appserver.StartThread("t"), turn1.BeginTurn(), appserver.Script{turn1.Question("q1", false, false)}, turn1.EndTurn(),
		appserver.Script{appserver.Answer("item/tool/requestUserInput", nil)}))
}

// A preview of 25 MB is cut before anything reads it.
//
// proves R-PRI-01
func TestHugePreview(t *testing.T) {
	thread := appserver.Thread("t")
	thread["preview"] = strings.Repeat("# x\n", 25<<18)
	in(t, func(t *testing.T, b *bench) {
		b.see(func(v *headless.View) {
			if len(v.Threads) != 1 || len(v.Threads[0].Title) > titleBytes {
				t.Errorf("threads %+v", v.Threads)
			}
		})
	}, appserver.Scripts(readsOf(nil, thread), appserver.Handshake()))
}

// A message above the server's limit is refused here, the connection lives, and the draft stays.
//
// proves R-CONN-09
func TestHugeMessage(t *testing.T) {
	b := newBench(t, greeted(appserver.StartThread("t")))
	url := b.server.StartListen(t, appserver.ListenOptions{}).URL
	b.o.Connector = func(ctx context.Context, _ profile.Profile, _ *slog.Logger) (Link, error) {
		conn, err := transport.Dial(ctx, transport.Endpoint{URL: url})
		return Link{Conn: conn}, err
	}
	b.must(b.do(uicontract.CmdConnect, &uicontract.Connect{}))
	b.start()
	b.must(b.do(uicontract.CmdDraftSet, &uicontract.Draft{Thread: "t", Text: "kept", Revision: 1}))
	r := b.send(strings.Repeat("x", 17<<20))
	b.refused(r, "connection.outbound_too_large", "")
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.snapshot(uicontract.SnapshotNew)
	if o := s.Outcomes[len(s.Outcomes)-1]; o.State != uicontract.OutcomeNotSent || s.Connection.State != uicontract.Connected || s.Open[0].Head.Busy || s.Drafts[0].Text != "kept" {
		t.Errorf("%+v, %+v, drafts %+v", o, s.Connection, s.Drafts)
	}
	if n := len(b.server.Sent("turn/start")); n != 0 {
		t.Errorf("turn/start was sent %d times", n)
	}
}

// Neither what people and models write nor what is asked is in the log.
//
// proves R-LOG-01
func TestLogHasNoText(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.start()
		b.must(b.send("canary-message"))
		var card uicontract.Card
		b.see(func(v *headless.View) { card = v.Pending("t")[0] })
		b.must(b.do(uicontract.CmdCardAnswer, &uicontract.Answer{Card: card.ID, Choice: card.Choices[0].ID}))
		b.settle()
		for _, canary := range []string{"canary-message", "canary-command", "canary-answer", "canary-error"} {
			if strings.Contains(b.log.String(), canary) {
				t.Errorf("%s is in the log", canary)
			}
		}
	}, greeted(appserver.StartThread("t"), turn1.BeginTurn(), turn1.Say("m", "canary-answer"),
		appserver.Script{turn1.CommandApproval("c", "echo canary-command").WithID(0), appserver.Answer("item/commandExecution/requestApproval", nil),
			appserver.Notify("error", object{"threadId": "t", "turnId": "u1", "willRetry": false, "error": object{"message": "canary-error"}})}, turn1.EndTurn()))
}
