package reports

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/relay"
	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/relay/worker"
	"sekisho/test/fakes/appserver"
	"sekisho/test/headless"
)

// batch is the longest that an event may wait for others, in the worker.
const batch = 33 * time.Millisecond

// A request is shown at once: between its arrival and the card there is nothing but one batch.
//
// report 09
// proves R-INT-01
func TestReport09ACardComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, r := bubble(t, begun(appserver.Script{appserver.Hold("ask"), of.CommandApproval("i", "ls")}))
		d.execute(uicontract.CmdThreadStart, &uicontract.ThreadStart{})
		d.execute(uicontract.CmdTurnSend, &uicontract.TurnSend{Thread: "t", Text: "hello"})
		time.Sleep(time.Minute)
		asked := time.Now()
		d.server.Release("ask")
		time.Sleep(time.Second)
		synctest.Wait()
		at, ok := r.first(func(body any) bool { c, ok := body.(*uicontract.Card); return ok && c.State == "pending" })
		if !ok || at.Sub(asked) > batch {
			t.Errorf("shown %v, after %v", ok, at.Sub(asked))
		}
	})
}

// A thread that waits for an approval which is not here says so, and its turn can be interrupted.
//
// report 10
// proves R-REC-08, R-CONN-08
func TestReport10WaitingWithoutARequest(t *testing.T) {
	thread := appserver.Thread("t")
	thread["status"] = appserver.Status(true, "waitingOnApproval")
	d := start(t, appserver.Scripts(ready(), readable(thread, nil), appserver.Script{
		appserver.Auto("thread/turns/list", appserver.Page(nil, appserver.Turn("u", "inProgress"))),
		appserver.Expect("turn/interrupt", appserver.Object{"threadId": "t", "turnId": "u"}), appserver.Reply("turn/interrupt", appserver.Object{}),
		of.StatusChanged(appserver.Status(false))}))
	d.Must(d.Do(uicontract.CmdThreadOpen, uicontract.ThreadRef{Thread: "t"}, nil))
	d.Wait("that it waits", func(v *headless.View) bool {
		o := shown(v)
		return o.Head.Waits && o.Head.Mode == uicontract.Viewing && o.Head.Thread.Status.WaitsApproval && len(v.Cards) == 0
	})
	d.Must(d.Do(uicontract.CmdTurnInterrupt, uicontract.TurnRef{Thread: "t"}, nil))
	d.Wait("the end of waiting", func(v *headless.View) bool { return !shown(v).Head.Waits })
	d.sent("thread/resume", 0)
}

// A card ends with its connection, at once and not when some timer says so.
//
// report 12
// proves R-CONN-02, R-REC-08
func TestReport12ACardEndsWithItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, r := bubble(t, begun(appserver.Script{of.CommandApproval("i", "ls"), appserver.Hold("cut"), appserver.Drop()}))
		d.execute(uicontract.CmdThreadStart, &uicontract.ThreadStart{})
		d.execute(uicontract.CmdTurnSend, &uicontract.TurnSend{Thread: "t", Text: "hello"})
		time.Sleep(time.Hour)
		cut := time.Now()
		d.server.Release("cut")
		time.Sleep(time.Second)
		synctest.Wait()
		at, ok := r.first(func(body any) bool { c, ok := body.(*uicontract.Card); return ok && c.State == "generation_ended" })
		if !ok || at.Sub(cut) > batch {
			t.Errorf("ended %v, after %v", ok, at.Sub(cut))
		}
	})
}

// The same request, with the same id, on a new connection is a new card. The old one sends nothing any more.
//
// report 13
// proves R-REC-08, R-CONN-02
func TestReport13OldCardsSendNothing(t *testing.T) {
	ask := of.CommandApproval("i", "ls")
	d := start(t, begun(appserver.Script{ask.WithID(0), appserver.Hold("cut"), appserver.Drop()}),
		appserver.Scripts(ready(), readable(appserver.Thread("t"), nil), of.ReplayedRequest(ask, 0), appserver.Script{
			appserver.Answer("replayed", appserver.Object{"decision": "accept"}), of.Resolved(0)}))
	d.running()
	old := d.Card("t")
	d.server.Release("cut")
	d.CardIs(old.ID, "generation_ended")
	d.refused(d.Choose(old, "accept"), "request.gone", "ended")
	d.Must(d.Do(uicontract.CmdReconnect, nil, nil))
	d.Must(d.Do(uicontract.CmdThreadJoin, uicontract.ThreadRef{Thread: "t"}, nil))
	fresh := d.Card("t")
	if fresh.ID == old.ID {
		t.Errorf("the old card %s is open again", old.ID)
	}
	d.refused(d.Choose(old, "accept"), "request.gone", "ended")
	if got := d.answers(); len(got) != 0 {
		t.Errorf("the old card sent %q", got)
	}
	d.Must(d.Choose(fresh, "accept"))
	d.CardIs(fresh.ID, "answered")
	if got := d.answers(); len(got) != 1 {
		t.Errorf("answers %q", got)
	}
}

// A page that is loaded anew shows every request that waits.
//
// report 14
// proves R-UI-04, R-INT-01
func TestReport14AReloadedPageShowsEveryCard(t *testing.T) {
	d := start(t, begun(appserver.Script{of.CommandApproval("i1", "ls").Labelled("1"), of.Permissions("i2").Labelled("2"), of.Question("i3", false, true).Labelled("3")}))
	d.running()
	d.Wait("three cards", func(v *headless.View) bool { return len(v.Pending("t")) == 3 })
	_, again := d.page()
	again.Look(func(v *headless.View) {
		if n := len(v.Pending("t")); n != 3 || v.Snapshots != 1 || len(v.Seen) != 0 {
			t.Errorf("%d cards in the first snapshot", n)
		}
	})
	if got := d.answers(); len(got) != 0 {
		t.Errorf("answers %q", got)
	}
}

// tap counts the calls that wait for an answer.
type tap struct {
	transport.Conn
	mu        sync.Mutex
	open, max int
}

func (c *tap) count(frame []byte, by int) {
	var m struct {
		Method *string         `json:"method"`
		ID     json.RawMessage `json:"id"`
	}
	if json.Unmarshal(frame, &m) != nil || m.ID == nil || (m.Method != nil) != (by > 0) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += by
	c.max = max(c.max, c.open)
}

func (c *tap) Write(ctx context.Context, frame []byte) (bool, error) {
	c.count(frame, 1)
	return c.Conn.Write(ctx, frame)
}

func (c *tap) Read(ctx context.Context) ([]byte, error) {
	frame, err := c.Conn.Read(ctx)
	if err == nil {
		c.count(frame, -1)
	}
	return frame, err
}

// After a cut nothing is joined by itself, and what is read again is read one call after the other.
//
// report 28
// proves R-REC-05, R-CONN-09
func TestReport28ReconnectJoinsNothing(t *testing.T) {
	const threads = 20
	any := appserver.Thread("${thread/read.threadId}")
	joined := appserver.Thread("${thread/resume.threadId}")
	server := appserver.Start(t,
		appserver.Scripts(ready(), readable(any, nil), appserver.Script{appserver.Auto("thread/resume", appserver.ThreadResult(joined)), appserver.Hold("cut"), appserver.Drop()}),
		appserver.Scripts(ready(), readable(any, nil)))
	var second *tap
	d := startOn(t, server, setup{connector: func(context.Context, profile.Profile, *slog.Logger) (worker.Link, error) {
		second = &tap{Conn: server.Pipe()}
		return worker.Link{Conn: second}, nil
	}})
	for i := range threads {
		ref := uicontract.ThreadRef{Thread: relay.ThreadID("t" + strconv.Itoa(i))}
		d.Must(d.Do(uicontract.CmdThreadOpen, ref, nil))
		d.Must(d.Do(uicontract.CmdThreadJoin, ref, nil))
	}
	for _, m := range d.sent("thread/resume", threads) {
		if !strings.Contains(string(m.Params), `"excludeTurns":true`) {
			t.Errorf("joined with %s", m.Params)
		}
	}
	before := len(server.Sent("thread/items/list"))
	d.server.Release("cut")
	d.Wait("the end", func(v *headless.View) bool { return v.Connection.State == uicontract.AwaitManual })
	d.Must(d.Do(uicontract.CmdReconnect, nil, nil))
	d.received("thread/items/list", before+threads)
	d.Wait("every thread read again", func(v *headless.View) bool {
		fresh := 0
		for _, o := range v.Snapshot.Open {
			if !o.Head.Stale && o.Head.Mode == uicontract.Viewing {
				fresh++
			}
		}
		return fresh == threads
	})
	d.sent("thread/resume", threads)
	second.mu.Lock()
	defer second.mu.Unlock()
	if second.max != 1 {
		t.Errorf("up to %d calls at once", second.max)
	}
}

// A page that comes back goes on after the last event that it had: nothing comes twice, nothing is missing.
//
// report 35
// proves R-UI-04, R-REC-11
func TestReport35APageGoesOnWhereItWas(t *testing.T) {
	d := start(t, begun(appserver.Script{of.Started(appserver.AgentMessage("m", "")), of.Delta("m", "one "), appserver.Hold("away"), of.Delta("m", "two "), of.Delta("m", "three"),
		of.Completed(appserver.AgentMessage("m", "one two three"))}, of.EndTurn()))
	d.running()
	d.held("away")
	d.Wait("the first word", func(v *headless.View) bool { return strings.Join(v.Texts("t", "agentMessage"), "") == "one " })
	var last string
	d.look(func(v *headless.View) { last = v.Last })
	d.server.Release("away")
	d.Turn("t", "u", "completed")

	stream, err := d.Client.Stream(d.Ctx, last)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	text, items, over := "one ", 0, false
	for !over {
		_, batch, err := stream.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range batch.Events {
			switch b := e.Body.(type) {
			case *uicontract.Snapshot:
				t.Fatal("it began anew")
			case *uicontract.Delta:
				text += b.Text
			case *uicontract.ItemEvent:
				if b.Item.Type == "agentMessage" {
					items++
				}
			case *uicontract.ThreadHead:
				over = b.TurnStatus == "completed"
			}
		}
	}
	if text != "one two three" || items != 1 {
		t.Errorf("text %q, the item came %d times", text, items)
	}
}

// A thread that another process writes is explained, and stays readable. (That no orphan of ours holds it is proven with
// the transport.)
//
// report 37
// proves R-CONN-10, R-REC-05
func TestReport37AnotherWriterIsExplained(t *testing.T) {
	d := start(t, appserver.Scripts(ready(), readable(appserver.Thread("t"), nil, appserver.Entry("u", appserver.AgentMessage("m", "before"))), appserver.Script{
		appserver.Expect("thread/resume", nil), appserver.Fail("thread/resume", -32600, appserver.ActiveWriter)}))
	d.Must(d.Do(uicontract.CmdThreadOpen, uicontract.ThreadRef{Thread: "t"}, nil))
	d.ended(d.Do(uicontract.CmdThreadJoin, uicontract.ThreadRef{Thread: "t"}, nil), uicontract.Failed, "call.rejected", "writer_conflict")
	d.Wait("the reason", func(v *headless.View) bool {
		o := shown(v)
		return o.Head.Problem != nil && o.Head.Problem.Variant == "writer_conflict" && o.Head.Mode == uicontract.Viewing && len(o.Window.Items) == 1
	})
	d.sent("thread/resume", 1)
}

// lingering is a connection whose end takes until it is let go, like a process that does not end at once.
type lingering struct {
	transport.Conn
	let chan struct{}
}

func (c *lingering) Close(why transport.Reason) error {
	err := c.Conn.Close(why)
	<-c.let
	return err
}

// A connection that ended by itself may leave a process that is still ending, and that holds the thread. The next one
// begins when nothing of it is left.
//
// report 37
// proves R-CONN-04, R-CONN-10
func TestReport37TheNextWaitsForTheLastOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := appserver.Start(t, appserver.Scripts(ready(), appserver.Script{appserver.Hold("cut"), appserver.Drop()}), ready())
		first := &lingering{let: make(chan struct{})}
		made := 0
		d := startOn(t, server, setup{alone: true, inside: true, connector: func(context.Context, profile.Profile, *slog.Logger) (worker.Link, error) {
			if made++; made > 1 {
				return worker.Link{Conn: server.Pipe()}, nil
			}
			first.Conn = server.Pipe()
			return worker.Link{Conn: first}, nil
		}})
		if r := d.execute(uicontract.CmdConnect, &uicontract.Connect{}); r.Status != uicontract.Done {
			t.Fatalf("%+v", r.Problem)
		}
		server.Release("cut")
		synctest.Wait()
		var reconnect sync.WaitGroup
		reconnect.Go(func() {
			if r := d.execute(uicontract.CmdReconnect, &uicontract.None{}); r.Status != uicontract.Done {
				t.Errorf("%+v", r.Problem)
			}
		})
		synctest.Wait()
		if made != 1 {
			t.Errorf("connected while the last connection was ending")
		}
		close(first.let)
		reconnect.Wait()
		if made != 2 {
			t.Errorf("%d connections", made)
		}
	})
}

// What was typed belongs to its thread. Neither another thread, nor a cut, nor another page loses it.
//
// report 45
// proves R-PRI-05
func TestReport45DraftsSurvive(t *testing.T) {
	d := start(t, appserver.Scripts(ready(), appserver.Script{appserver.Hold("cut"), appserver.Drop()}), ready())
	for thread, text := range map[relay.ThreadID]string{"a": "for a", "b": "for b", "": "for a new one"} {
		d.Must(d.Do(uicontract.CmdDraftSet, uicontract.Draft{Thread: thread, Text: text, Revision: 2}, nil))
	}
	d.Must(d.Do(uicontract.CmdDraftSet, uicontract.Draft{Thread: "a", Text: "older", Revision: 1}, nil))
	d.server.Release("cut")
	d.Wait("the end", func(v *headless.View) bool { return v.Connection.State == uicontract.AwaitManual })
	d.Must(d.Do(uicontract.CmdReconnect, nil, nil))
	_, again := d.page()
	again.Look(func(v *headless.View) {
		got := map[relay.ThreadID]string{}
		for _, draft := range v.Drafts {
			got[draft.Thread] = draft.Text
		}
		if len(got) != 3 || got["a"] != "for a" || got["b"] != "for b" || got[""] != "for a new one" {
			t.Errorf("drafts %v", got)
		}
	})
	for _, m := range d.server.Received() {
		if strings.Contains(string(m.Raw), "for a") {
			t.Errorf("a draft was sent: %s", m.Raw)
		}
	}
}
