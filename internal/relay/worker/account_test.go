package worker

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/rpc"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/fakes/appserver"
	"sekisho/test/headless"
)

func chatgpt(email string) object {
	return object{"type": "chatgpt", "email": email, "planType": "plus"}
}

func accountOf(email string) object {
	return object{"account": chatgpt(email), "requiresOpenaiAuth": false}
}

func accountNotice() appserver.Step {
	return appserver.Notify("account/updated", object{"authMode": "chatgpt", "planType": nil})
}

// asA is a connection of the account a, up to the point where a person can act.
func asA(parts ...appserver.Script) appserver.Script {
	return appserver.Scripts(append([]appserver.Script{{appserver.Auto("thread/list", appserver.Page(nil)), appserver.Auto("model/list", appserver.Page(nil))},
		appserver.Handshake(), {appserver.Expect("account/read", nil), appserver.Reply("account/read", accountOf("a@example.com"))}}, parts...)...)
}

// proves R-PRI-05, R-OWN-02: a notice that comes while the account is being read makes the worker read it again, and go
// live as the owner that the later answer names.
func TestAccountNoticeBeforeGoingLive(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.sent("account/read", 2)
		b.see(func(v *headless.View) {
			if v.Connection.State != uicontract.Connected || b.part.label != "chatgpt b@example.com" {
				t.Errorf("%+v as %s", v.Connection, b.part.label)
			}
		})
	}, appserver.Scripts(appserver.Script{appserver.Auto("thread/list", appserver.Page(nil)), appserver.Auto("model/list", appserver.Page(nil))}, appserver.Handshake(),
		appserver.Script{appserver.Expect("account/read", nil), accountNotice(), appserver.Delay(time.Millisecond), appserver.Reply("account/read", accountOf("a@example.com")),
			appserver.Auto("account/read", accountOf("b@example.com"))}))
}

// proves R-PRI-05, R-OWN-02: after a notice nothing is sent, neither message nor answer, until the same owner is confirmed.
func TestNothingIsSentForADoubtfulOwner(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.start()
		b.must(b.send("hello"))
		card := b.card()
		answer := func() uicontract.Result {
			return b.do(uicontract.CmdCardAnswer, &uicontract.Answer{Card: card.ID, Choice: card.Choices[0].ID})
		}
		b.server.Release("notice")
		synctest.Wait()
		b.refused(b.send("for the old owner only"), "relay.command", "unconfirmed")
		b.refused(b.do(uicontract.CmdThreadStart, &uicontract.ThreadStart{}), "relay.command", "unconfirmed")
		b.refused(answer(), "relay.command", "unconfirmed")
		b.sent("turn/start", 1)
		if got := b.answers(); len(got) != 0 {
			t.Errorf("sent %v", got)
		}
		b.server.Release("answer")
		synctest.Wait()
		b.must(answer())
	}, asA(appserver.StartThread("t"), turn1.BeginTurn(), appserver.Script{turn1.CommandApproval("c1", "true").WithID(0), appserver.Hold("notice"), accountNotice(),
		appserver.Expect("account/read", nil).Labelled("again"), appserver.Hold("answer"), appserver.Reply("again", accountOf("a@example.com")),
		appserver.Answer("item/commandExecution/requestApproval", nil)}))
}

// proves R-PRI-05, R-OWN-02: a reading that fails or is not answered after a notice ends the connection.
func TestAnUnconfirmedOwnerEndsTheConnection(t *testing.T) {
	for name, reply := range map[string]appserver.Script{
		"error":  {appserver.Expect("account/read", nil).Labelled("again"), appserver.Fail("again", -32603, "busy")},
		"silent": {appserver.Ignore("account/read")},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, b *bench) {
				b.start()
				b.server.Release("notice")
				synctest.Wait()
				if name == "silent" {
					b.refused(b.send("for the old owner only"), "relay.command", "unconfirmed")
					time.Sleep(2 * time.Minute)
				}
				b.see(func(v *headless.View) {
					if p := v.Connection.Problem; v.Connection.State != uicontract.AwaitManual || p == nil || p.Code != "relay.owner_changed" || p.Variant != "unconfirmed" {
						t.Errorf("%+v %+v", v.Connection, p)
					}
				})
				b.refused(b.send("for the old owner only"), "relay.command", "not_connected")
				b.sent("turn/start", 0)
			}, asA(appserver.StartThread("t"), append(appserver.Script{appserver.Hold("notice"), accountNotice()}, reply...)))
		})
	}
}

// proves R-PRI-05, R-CONN-09: what waits for its place when a notice comes is not sent when the place is free.
func TestADoubtReachesWhatWaits(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.mu.Lock()
		s := b.live
		b.mu.Unlock()
		var reads, command sync.WaitGroup
		for range rpc.MaxInFlight {
			reads.Go(func() { _ = s.call(s.ctx, codex.ThreadRead, codex.ThreadReadParams{ThreadID: "x"}, nil) })
		}
		synctest.Wait()
		var result uicontract.Result
		command.Go(func() { result = b.do(uicontract.CmdThreadStart, &uicontract.ThreadStart{}) })
		synctest.Wait()
		b.mu.Lock()
		s.doubtful = true // the reading that a notice starts would wait for a place too
		b.mu.Unlock()
		reads.Wait() // their time limit frees the places
		command.Wait()
		b.refused(result, "relay.command", "unconfirmed")
		b.sent("thread/start", 0)
	}, greeted(appserver.Script{appserver.Ignore("thread/read")}))
}

// proves R-REC-11, R-CONN-09: however many notices come, one reading of a kind and thread is under way, and a person's
// commands find a place.
func TestNoticesStartNoFloodOfReads(t *testing.T) {
	flood := func(n appserver.Step, silent string) appserver.Script {
		return appserver.Script{appserver.Hold("flood"), appserver.Ignore(silent), n.Repeated(5000)}
	}
	const slack = 5
	t.Run("account", func(t *testing.T) {
		in(t, func(t *testing.T, b *bench) {
			before := runtime.NumGoroutine()
			b.server.Release("flood")
			b.sent("account/read", 2)
			if n := runtime.NumGoroutine(); n > before+slack {
				t.Errorf("%d goroutines, %d before", n, before)
			}
		}, asA(flood(accountNotice(), "account/read")))
	})
	t.Run("thread", func(t *testing.T) {
		in(t, func(t *testing.T, b *bench) {
			b.must(b.do(uicontract.CmdThreadOpen, &uicontract.ThreadRef{Thread: "t"}))
			before := runtime.NumGoroutine()
			b.server.Release("flood")
			b.sent("thread/read", 2)
			if n := runtime.NumGoroutine(); n > before+slack {
				t.Errorf("%d goroutines, %d before", n, before)
			}
			began := time.Now()
			b.start()
			if took := time.Since(began); took > time.Second {
				t.Errorf("a person waited %v", took)
			}
		}, greeted(appserver.Script{appserver.Expect("thread/read", nil), appserver.Reply("thread/read", object{"thread": appserver.Thread("t")}),
			appserver.Auto("thread/turns/list", appserver.Page(nil)), appserver.Auto("thread/items/list", appserver.Page(nil))},
			flood(appserver.Notify("thread/reverted", object{"threadId": "t"}).Invalid(), "thread/read"), appserver.StartThread("n")))
	})
}

// proves R-INT-01: what is settled before the owner is known is never asked
func TestARequestSettledBeforeTheOwnerIsKnownIsNoCard(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.settle()
		b.page.look(func(v *headless.View) {
			if cards := v.Pending("t"); len(cards) != 0 {
				t.Errorf("%d cards wait for an answer that nobody wants", len(cards))
			}
		})
	}, appserver.Scripts(appserver.Script{appserver.Auto("thread/list", appserver.Page(nil)), appserver.Auto("model/list", appserver.Page(nil))}, appserver.Handshake(),
		appserver.Script{appserver.Expect("account/read", nil), turn1.CommandApproval("c1", "true").WithID(0), appserver.Delay(time.Millisecond),
			appserver.Notify("serverRequest/resolved", object{"threadId": "t", "requestId": 0}), appserver.Delay(time.Millisecond),
			appserver.Reply("account/read", object{"account": nil, "requiresOpenaiAuth": false})}))
}
