package reports

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/relay"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/fakes/appserver"
	"sekisho/test/headless"
)

// The answer to a message, and the start, the text and the end of its turn come in every order, with the end of the
// connection right behind them. Nothing that was delivered is lost, and nothing is sent again.
//
// report 19
// proves R-CONN-03, R-REC-07
func TestReport19EveryOrderBeforeTheEnd(t *testing.T) {
	steps := []appserver.Step{
		appserver.Reply("turn/start", appserver.Object{"turn": appserver.Turn("u", "inProgress")}), of.TurnStarted(),
		of.Completed(appserver.AgentMessage("m", "the answer")), of.TurnCompleted("completed"),
	}
	n := 0
	for order := range permutations(len(steps)) {
		n++
		script := appserver.Scripts(ready(), appserver.StartThread("t"), appserver.Script{appserver.Expect("turn/start", nil)})
		for _, i := range order {
			script = append(script, steps[i])
		}
		d := start(t, append(script, appserver.Exit(0)))
		if turn := d.Send(d.Thread(), "hello"); turn != "u" {
			t.Errorf("%v: turn %q", order, turn)
		}
		d.Wait("the end", func(v *headless.View) bool { return v.Connection.State == uicontract.AwaitManual })
		d.look(func(v *headless.View) {
			if got := v.Texts("t", "agentMessage"); len(got) != 1 || got[0] != "the answer" {
				t.Errorf("%v: shown %q", order, got)
			}
			if o := outcome(v); o.State != uicontract.OutcomeConfirmed {
				t.Errorf("%v: outcome %+v", order, o)
			}
			ended := slices.ContainsFunc(v.Heads, func(h uicontract.ThreadHead) bool { return h.TurnStatus == "completed" })
			last := v.Heads[len(v.Heads)-1]
			if !ended || last.TurnStatus == "running" {
				t.Errorf("%v: the turn was never shown as over: %+v", order, last)
			}
		})
		d.sent("turn/start", 1)
	}
	if n != 24 {
		t.Errorf("%d orders", n)
	}
}

func permutations(n int) func(func([]int) bool) {
	return func(yield func([]int) bool) {
		var grow func([]int) bool
		grow = func(order []int) bool {
			if len(order) == n {
				return yield(order)
			}
			for i := range n {
				if !slices.Contains(order, i) && !grow(append(slices.Clone(order), i)) {
					return false
				}
			}
			return true
		}
		grow(nil)
	}
}

// seen is one event with the time at which a front end had it.
type seen struct {
	at    time.Time
	event uicontract.Event
}

// recorder reads a stream of a worker in a bubble.
type recorder struct {
	mu     sync.Mutex
	events []seen
}

func record(t *testing.T, d *desk) *recorder {
	r := &recorder{}
	stream := d.worker.Attach("")
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			_, data, err := stream.Next(ctx)
			if err != nil {
				return
			}
			var batch uicontract.Batch
			if err := uicontract.Decode(data, &batch); err != nil {
				t.Error(err)
				return
			}
			r.mu.Lock()
			for _, e := range batch.Events {
				r.events = append(r.events, seen{time.Now(), e})
			}
			r.mu.Unlock()
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return r
}

// heads are the states of the turn as they were shown.
func (r *recorder) heads() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for _, s := range r.events {
		if h, ok := s.event.Body.(*uicontract.ThreadHead); ok && h.TurnStatus != "" && (len(list) == 0 || list[len(list)-1] != h.TurnStatus) {
			list = append(list, h.TurnStatus)
		}
	}
	return list
}

// first is when an event first was as wanted.
func (r *recorder) first(want func(any) bool) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.events {
		if want(s.event.Body) {
			return s.at, true
		}
	}
	return time.Time{}, false
}

// execute runs a command on the worker of a bubble.
func (d *desk) execute(kind uicontract.CommandKind, params any) uicontract.Result {
	result := d.worker.Execute(d.Ctx, uicontract.Command{Version: uicontract.Version, Owner: d.owner, Operation: headless.Operation(), Kind: kind}, params)
	var as uicontract.ConnectedAs
	if kind == uicontract.CmdConnect && result.Status == uicontract.Done && uicontract.Decode(result.Value, &as) == nil {
		d.owner = as.Owner
	}
	return result
}

// Nothing about a turn is concluded from time passing: it begins and ends once, when the server says so.
//
// report 21
// proves R-CONN-03
func TestReport21NoTimerEndsATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, r := bubble(t, appserver.Scripts(ready(), appserver.StartThread("t"), appserver.Script{
			appserver.Expect("turn/start", nil), appserver.Reply("turn/start", appserver.Object{"turn": appserver.Turn("u", "inProgress")}),
			appserver.Hold("late"), of.TurnStarted(), appserver.Hold("later")}, of.Say("m", "done"), of.EndTurn()))
		d.execute(uicontract.CmdThreadStart, &uicontract.ThreadStart{})
		d.execute(uicontract.CmdTurnSend, &uicontract.TurnSend{Thread: "t", Text: "hello"})
		for _, gate := range []string{"late", "later"} {
			time.Sleep(8 * time.Hour)
			synctest.Wait()
			if got := r.heads(); !slices.Equal(got, []string{"running"}) {
				t.Fatalf("before %s: %v", gate, got)
			}
			d.server.Release(gate)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := r.heads(); !slices.Equal(got, []string{"running", "completed"}) {
			t.Errorf("the turn was shown as %v", got)
		}
		d.sent("turn/start", 1)
	})
}

// bubble is a desk without an endpoint, for a synctest bubble, with a recorder. It is connected.
func bubble(t *testing.T, scripts ...appserver.Script) (*desk, *recorder) {
	t.Helper()
	d := startOn(t, appserver.Start(t, scripts...), setup{alone: true, inside: true})
	r := record(t, d)
	if result := d.execute(uicontract.CmdConnect, &uicontract.Connect{}); result.Status != uicontract.Done {
		t.Fatalf("%+v", result.Problem)
	}
	synctest.Wait()
	return d, r
}

// A turn that the server does not know as running any more is over for us too. What a person wanted to say is not sent by
// itself: it is sent when they say so, as a new message.
//
// report 22
// proves R-CONN-03, R-PRI-04
func TestReport22AStaleTurn(t *testing.T) {
	next := appserver.Of{Thread: "t", Turn: "v"}
	d := start(t, begun(appserver.Script{
		appserver.Expect("turn/interrupt", appserver.Object{"turnId": "u"}), appserver.Fail("turn/interrupt", -32600, "no active turn to interrupt"),
		appserver.Expect("turn/start", appserver.Object{"threadId": "t"}).Labelled("second"), appserver.Fail("second", -32600, "expected active turn id u but found none"),
		appserver.Hold("asked"),
	}, next.TextTurn("m", "yes")))
	d.running()
	d.Turn("t", "u", "running")
	d.ended(d.Do(uicontract.CmdTurnInterrupt, uicontract.TurnRef{Thread: "t"}, nil), uicontract.Failed, "call.rejected", "turn_over")
	d.Turn("t", "u", "over")
	d.Must(d.Do(uicontract.CmdDraftSet, uicontract.Draft{Thread: "t", Text: "go on", Revision: 1}, nil))
	d.ended(d.Do(uicontract.CmdTurnSend, uicontract.TurnSend{Thread: "t", Text: "go on"}, nil), uicontract.Failed, "call.rejected", "turn_over")
	d.sent("turn/start", 2)
	d.Wait("the text is kept", func(v *headless.View) bool {
		o := outcome(v)
		return draft(v) == "go on" && o.State == uicontract.OutcomeConfirmed && o.Rejected
	})
	d.server.Release("asked")
	if turn := d.Send("t", "go on"); turn != "v" {
		t.Errorf("turn %s", turn)
	}
	d.Turn("t", "v", "completed")
	starts := d.sent("turn/start", 3)
	if len(starts) == 3 && messageID(t, starts[1]) == messageID(t, starts[2]) {
		t.Error("the second message had the id of the first")
	}
}

// Enter twice is one message, whether it arrives as the same operation or as two.
//
// report 23
// proves R-CONN-03, R-REC-07
func TestReport23DoubleEnter(t *testing.T) {
	d := start(t, appserver.Scripts(ready(), appserver.StartThread("t"), appserver.Script{
		appserver.Expect("turn/start", nil), appserver.Hold("both"), appserver.Reply("turn/start", appserver.Object{"turn": appserver.Turn("u", "inProgress")}), of.TurnStarted()}))
	d.Thread()
	params := uicontract.TurnSend{Thread: "t", Text: "hello"}
	op := headless.Operation()
	results := make([]uicontract.Result, 2)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			r, err := d.Client.DoAs(d.Ctx, op, uicontract.CmdTurnSend, params, nil)
			if err != nil {
				t.Error(err)
			}
			results[i] = r
		})
	}
	d.held("both")
	d.Wait("busy", func(v *headless.View) bool { return shown(v).Head.Busy })
	d.refused(d.Do(uicontract.CmdTurnSend, params, nil), "relay.command", "busy")
	d.server.Release("both")
	wg.Wait()
	for _, r := range results {
		if r.Status != uicontract.Done || !strings.Contains(string(r.Value), `"turn":"u"`) {
			t.Errorf("result %s %s", r.Status, r.Value)
		}
	}
	d.sent("turn/start", 1)
}

func messageID(t *testing.T, m appserver.Message) relay.OperationID {
	t.Helper()
	var p struct {
		ID relay.OperationID `json:"clientUserMessageId"`
	}
	decode(t, m.Params, &p)
	return p.ID
}
