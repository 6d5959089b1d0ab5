package worker

import (
	"strings"
	"testing"

	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/ledger"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/fakes/appserver"
	"sekisho/test/headless"
)

// The end of a generation settles what was sent on it, whether or not the call has noticed the end.
//
// proves R-REC-07, R-CONN-02
func TestTheEndSettlesWhatWasSent(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.start()
		b.mu.Lock()
		s := b.live
		op := ledger.Operation{ID: "sent", Method: codex.TurnStart, Thread: "t", MessageID: "m", Content: "hello"}
		err := b.open(s, uicontract.CmdTurnSend, op, b.o.Now())
		if err == nil {
			err = s.part.book.Started(op.ID, s.gen)
		}
		b.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		b.server.Release("cut")
		b.see(func(v *headless.View) {
			for _, o := range v.Outcomes {
				if o.Operation == "sent" && o.State == uicontract.OutcomeUnknown {
					return
				}
			}
			t.Errorf("outcomes %+v", v.Outcomes)
		})
	}, greeted(appserver.StartThread("t"), appserver.Script{appserver.Hold("cut"), appserver.Drop()}))
}

// Nothing is sent to a thread that is only looked at, and what happens in it reaches neither its window nor the page.
//
// proves R-REC-05, R-CONN-03
func TestAViewedThreadIsNotOurs(t *testing.T) {
	const canary = "foreign-canary"
	foreign := appserver.Of{Thread: "t", Turn: "u9"}
	in(t, func(t *testing.T, b *bench) {
		b.must(b.do(uicontract.CmdThreadOpen, &uicontract.ThreadRef{Thread: "t"}))
		b.refused(b.send("hello"), "relay.command", "not_joined")
		b.sent("turn/start", 0)
		b.sent("thread/resume", 0)
		b.server.Release("foreign")
		b.see(func(v *headless.View) {
			if items := v.Open("t").Window.Items; len(items) != 0 {
				t.Errorf("the page has %+v", items)
			}
		})
		b.mu.Lock()
		defer b.mu.Unlock()
		if n := len(b.part.threads["t"].win.Entries()); n != 0 {
			t.Errorf("the window has %d items", n)
		}
		if strings.Contains(b.log.String(), canary) {
			t.Error("the item is in the log")
		}
	}, greeted(pages(appserver.Status(false)), appserver.Script{appserver.Hold("foreign"), foreign.TurnStarted(),
		foreign.Started(appserver.AgentMessage("i", "")), foreign.Delta("i", canary), foreign.Completed(appserver.AgentMessage("i", canary))}))
}

// Another account ends the requests of the old owner in the registry: none of them is left there to be answered.
//
// proves R-PRI-05, R-OWN-02
func TestAnotherAccountEndsTheCards(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.start()
		b.must(b.send("hello"))
		var card uicontract.Card
		b.see(func(v *headless.View) {
			if len(v.Pending("t")) != 1 {
				t.Fatalf("cards %+v", v.Cards)
			}
			card = v.Pending("t")[0]
		})
		b.mu.Lock()
		old := b.part.owner
		b.mu.Unlock()
		b.server.Release("switch")
		b.settle()
		if left := b.asks.Cards(old); len(left) != 0 {
			t.Errorf("left of the old owner: %+v", left)
		}
		if r := b.do(uicontract.CmdCardAnswer, &uicontract.Answer{Card: card.ID, Choice: card.Choices[0].ID}); r.Status != uicontract.Refused {
			t.Errorf("an answer: %+v", r)
		}
		if got := b.answers(); len(got) != 0 {
			t.Errorf("answered %q", got)
		}
	}, asA(appserver.StartThread("t"), turn1.BeginTurn(), appserver.Script{turn1.CommandApproval("c", "rm -rf x"), appserver.Hold("switch"), accountNotice(),
		appserver.Expect("account/read", nil).Labelled("again"), appserver.Reply("again", accountOf("b@example.com"))}))
}

// A worker that closes begins nothing any more: Close waits for what there is then.
//
// proves R-CONN-10
func TestNothingIsSpawnedAfterClose(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.Close()
		ran := false
		b.mu.Lock()
		b.spawn(func() { ran = true })
		b.mu.Unlock()
		b.tasks.Wait()
		if ran {
			t.Error("a task ran")
		}
	}, greeted())
}
