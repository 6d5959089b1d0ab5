package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/ledger"
	"sekisho/internal/relay/transport"
)

// interrupt is a mutation without result.
func interrupt(ctx context.Context, c *Client, n int, opts CallOptions) (Outcome, error) {
	return c.Call(ctx, codex.TurnInterrupt, codex.TurnInterruptParams{ThreadID: "t", TurnID: "u"}, nil, opts)
}

// proves R-CONN-09
func TestCallsInFlightAreCappedAndServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		c := start(t, w, newRecord())
		var mu sync.Mutex
		var order []int
		for i := range 200 {
			go func() {
				_, _ = interrupt(t.Context(), c, i, CallOptions{Sent: func() { mu.Lock(); order = append(order, i); mu.Unlock() }})
			}()
			synctest.Wait()
		}
		if n := len(w.frames()); n != MaxInFlight {
			t.Fatalf("%d frames in flight", n)
		}
		for i := range 200 {
			w.say(fmt.Sprintf(`{"id":%d,"result":{}}`, i+1))
			synctest.Wait()
			if open := len(w.frames()) - (i + 1); open > MaxInFlight {
				t.Fatalf("%d in flight", open)
			}
		}
		for i, n := range order {
			if n != i {
				t.Fatalf("call %d was sent at place %d", n, i)
			}
		}
		if len(order) != 200 {
			t.Errorf("%d calls were sent", len(order))
		}
	})
}

// proves R-CONN-09, R-INT-06
func TestEveryCallHasATimeLimit(t *testing.T) {
	for method, limit := range map[string]time.Duration{
		codex.TurnInterrupt: 30 * time.Second, codex.ThreadItemsList: 60 * time.Second, codex.ThreadStart: 90 * time.Second, codex.GatewayOAuthLogin: 10 * time.Minute,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWire()
			c := start(t, w, newRecord())
			began := time.Now()
			outcome, err := c.Call(t.Context(), method, nil, nil, CallOptions{})
			if took := time.Since(began); took != limit || outcome != ledger.OutcomeUnknown || !errors.Is(err, fault.New(fault.CallOutcomeUnknown, fault.Variant("timeout"))) {
				t.Errorf("%s: %v after %v, %v", method, outcome, took, err)
			}
			w.say(`{"id":1,"result":{}}`)
			synctest.Wait()
			if n := len(w.frames()); n != 1 || c.Stats().Late != 1 {
				t.Errorf("%s: %d frames, %+v", method, n, c.Stats())
			}
		})
	}
}

// proves R-CONN-09
func TestLoginBlocksNoOtherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		c := start(t, w, newRecord())
		go func() { _, _ = c.Call(t.Context(), codex.GatewayOAuthLogin, nil, nil, CallOptions{}) }()
		synctest.Wait()
		go func() { synctest.Wait(); w.say(`{"id":2,"result":{}}`) }()
		if o, err := interrupt(t.Context(), c, 0, CallOptions{}); o != ledger.Confirmed || err != nil {
			t.Error(o, err)
		}
	})
}

// proves R-CONN-07, R-PRI-04
func TestOverloadIsRetriedForListedReadsOnly(t *testing.T) {
	const overloaded = `"error":{"code":-32001,"message":"Server overloaded; retry later."}`
	for _, m := range codex.Methods() {
		synctest.Test(t, func(t *testing.T) {
			w := newWire()
			c := start(t, w, newRecord())
			var at []time.Duration
			began := time.Now()
			w.onWrite = func(frame []byte) (bool, error) {
				at = append(at, time.Since(began))
				w.say(`{"id":` + ids(t, string(frame)) + `,` + overloaded + `}`)
				return true, nil
			}
			outcome, err := c.Call(t.Context(), m.Name, nil, nil, CallOptions{})
			want := []time.Duration{0}
			if m.Retry {
				want = []time.Duration{0, 250 * time.Millisecond, 750 * time.Millisecond, 1750 * time.Millisecond}
			}
			if diff := cmp.Diff(want, at); diff != "" {
				t.Errorf("%s: %s", m.Name, diff)
			}
			if e, ok := errors.AsType[*Error](err); outcome != ledger.Confirmed || !ok || e.Kind != codex.KindOverloaded {
				t.Errorf("%s: %s, %v", m.Name, outcome, err)
			}
			if m.Retry && m.Effect != codex.ReadOnly {
				t.Errorf("%s is retried and not read-only", m.Name)
			}
		})
	}
}

// proves R-CONN-07
func TestBackOffEndsWithSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		c := start(t, w, newRecord())
		n := 0
		w.onWrite = func(frame []byte) (bool, error) {
			if n++; n < 3 {
				w.say(`{"id":` + ids(t, string(frame)) + `,"error":{"code":-32001,"message":"x"}}`)
			} else {
				w.say(`{"id":` + ids(t, string(frame)) + `,"result":{"data":[]}}`)
			}
			return true, nil
		}
		sent := 0
		outcome, err := c.Call(t.Context(), codex.ThreadItemsList, codex.ItemsListParams{ThreadID: "t"}, nil, CallOptions{Sent: func() { sent++ }})
		if outcome != ledger.Confirmed || err != nil || sent != 1 || c.Stats().Retries != 2 {
			t.Errorf("%s, %v, sent %d, %+v", outcome, err, sent, c.Stats())
		}
	})
}

// proves R-PRI-03
func TestServerErrorsAreClassified(t *testing.T) {
	for text, want := range map[string]struct {
		outcome Outcome
		kind    codex.ErrorKind
	}{
		`"error":{"code":-32600,"message":"no active turn to interrupt"}`: {ledger.Confirmed, codex.KindTurnMismatch},
		`"error":{"code":-32600,"message":"whatever"}`:                    {ledger.Confirmed, codex.KindUnknown},
		`"error":{"code":-32601,"message":"Method not found"}`:            {ledger.Confirmed, codex.KindUnknown},
		`"error":{"message":"no code"}`:                                   {ledger.OutcomeUnknown, codex.KindUnknown},
		`"error":null`:                                                    {ledger.OutcomeUnknown, codex.KindUnknown},
		`"result":[]`:                                                     {ledger.OutcomeUnknown, codex.KindUnknown},
		`"result":{"turn":{}}`:                                            {ledger.OutcomeUnknown, codex.KindUnknown},
		`"result":{},"error":{"code":1,"message":""}`:                     {ledger.OutcomeUnknown, codex.KindUnknown},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWire()
			c := start(t, w, newRecord())
			w.onWrite = func(frame []byte) (bool, error) {
				w.say(`{"id":` + ids(t, string(frame)) + `,` + text + `}`)
				return true, nil
			}
			var result codex.TurnStartResult
			outcome, err := c.Call(t.Context(), codex.TurnStart, codex.TurnStartParams{}, &result, CallOptions{})
			e, ok := errors.AsType[*Error](err)
			if outcome != want.outcome || !ok || e.Kind != want.kind || e.Outcome != outcome {
				t.Errorf("%s: %s, %v", text, outcome, err)
			}
		})
	}
}

// proves R-PRI-03
func TestUnsupportedMethodsAreNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		c := start(t, w, newRecord())
		c.SetVersion(codex.Regression)
		for _, m := range []string{codex.GatewayOAuthRead, "thread/rollback", "turn/start "} {
			if o, err := c.Call(t.Context(), m, nil, nil, CallOptions{}); o != ledger.NotSent || fault.CodeOf(err) != fault.CallNotSent {
				t.Error(m, o, err)
			}
		}
		if len(w.frames()) != 0 {
			t.Error(w.frames())
		}
	})
}

// proves R-REC-07, R-CONN-02
func TestOutcomesAtTheEndOfAGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newWire(), newRecord()
		c := start(t, w, r)
		got := make([]Outcome, MaxInFlight+1)
		for i := range got {
			go func() { got[i], _ = interrupt(t.Context(), c, i, CallOptions{}) }()
			synctest.Wait()
		}
		w.say(fmt.Sprintf(approval, "0"))
		synctest.Wait()
		// The answer to the first call and the end arrive together: the answer counts.
		w.say(`{"id":1,"result":{}}`)
		w.finish(lostErr())
		synctest.Wait()
		for i, o := range got {
			want := ledger.OutcomeUnknown
			switch i {
			case 0:
				want = ledger.Confirmed
			case MaxInFlight: // it was waiting for a place, or just got one
				if o == ledger.OutcomeUnknown && len(w.frames()) == MaxInFlight {
					t.Error("a call that never left is said to be uncertain")
				}
				continue
			}
			if o != want {
				t.Errorf("call %d: %s", i, o)
			}
		}
		if o, err := c.Reply(t.Context(), r.requests[0].Key, struct{}{}); o != ledger.NotSent || !errors.Is(err, fault.New(fault.RequestGone, fault.Variant("ended"))) {
			t.Error(o, err)
		}
		if o, _ := interrupt(t.Context(), c, 0, CallOptions{}); o != ledger.NotSent {
			t.Error(o)
		}
		want := []string{"request 0 " + codex.MethodCommandApproval, "retired 0 generation_ended", "ended"}
		if diff := cmp.Diff(want, r.seen()); diff != "" {
			t.Error(diff)
		}
		if transport.ClassOf(c.Err()) != transport.Transient {
			t.Error(c.Err())
		}
		if n := len(w.frames()); n > MaxInFlight+1 {
			t.Errorf("%d frames", n)
		}
	})
}

// proves R-REC-07
func TestProofThatNothingWasSent(t *testing.T) {
	tooLarge := &transport.Error{Class: transport.Config, Fault: fault.New(fault.ConnectionOutboundTooLarge)}
	for name, tc := range map[string]struct {
		started bool
		err     error
		want    Outcome
		code    fault.Code
	}{
		"too large":  {false, tooLarge, ledger.NotSent, fault.ConnectionOutboundTooLarge},
		"no byte":    {false, lostErr(), ledger.NotSent, fault.CallNotSent},
		"some bytes": {true, lostErr(), ledger.OutcomeUnknown, fault.CallOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWire()
				c := start(t, w, newRecord())
				w.onWrite = func([]byte) (bool, error) { return tc.started, tc.err }
				sent := false
				outcome, err := interrupt(t.Context(), c, 0, CallOptions{Sent: func() { sent = true }})
				if outcome != tc.want || fault.CodeOf(err) != tc.code || sent != tc.started {
					t.Errorf("%s, %v, sent %v", outcome, err, sent)
				}
				alive := true
				select {
				case <-c.Done():
					alive = false
				default:
				}
				if name == "too large" && !alive {
					t.Error("a frame that was refused ended the connection")
				}
			})
		})
	}
}

// proves R-REC-07
func TestCancelledBeforeAndWhileWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		c := start(t, w, newRecord())
		hold := make(chan struct{})
		w.onWrite = func([]byte) (bool, error) { <-hold; return true, nil }
		ctx, cancel := context.WithCancel(t.Context())
		var first, second Outcome
		go func() { first, _ = interrupt(ctx, c, 0, CallOptions{}) }()
		synctest.Wait()
		go func() { second, _ = interrupt(ctx, c, 1, CallOptions{}) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if first != ledger.OutcomeUnknown || second != ledger.NotSent {
			t.Errorf("being written: %s; queued: %s", first, second)
		}
		close(hold)
		synctest.Wait()
		if n := len(w.frames()); n != 1 {
			t.Errorf("%d frames", n)
		}
	})
}

// proves R-REC-07
func TestAnswersAreReadAfterAFailedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		c := start(t, w, newRecord())
		var first, second Outcome
		go func() { first, _ = interrupt(t.Context(), c, 0, CallOptions{}) }()
		synctest.Wait()
		w.onWrite = func([]byte) (bool, error) { return true, lostErr() }
		go func() { second, _ = interrupt(t.Context(), c, 1, CallOptions{}) }()
		synctest.Wait()
		w.say(`{"id":1,"result":{}}`)
		<-c.Done()
		synctest.Wait()
		if first != ledger.Confirmed || second != ledger.OutcomeUnknown || transport.ClassOf(c.Err()) != transport.Transient {
			t.Errorf("%s, %s, %v", first, second, c.Err())
		}
	})
}
