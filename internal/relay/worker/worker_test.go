package worker

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/relay"
	"sekisho/internal/relay/ask"
	"sekisho/internal/relay/rpc"
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
