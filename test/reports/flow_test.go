package reports

import (
	"fmt"
	"strings"
	"testing"

	"sekisho/internal/relay/uicontract"
	"sekisho/test/fakes/appserver"
	"sekisho/test/headless"
)

// A front end that stops reading stops nobody: the server sends 20,000 deltas to its end while it stands still, and it
// finds the end when it reads again.
//
// report 24
// proves R-CONN-09, R-UI-04
func TestReport24AStalledPageStallsNothing(t *testing.T) {
	const deltas = 20_000
	server := appserver.Start(t, begun(appserver.Script{of.Started(appserver.AgentMessage("m", ""))}, of.Flood("m", deltas), of.EndTurn()))
	var s setup
	s.over(t, server, "")
	d := startOn(t, server, s)
	stalled, err := d.Client.Stream(d.Ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	defer stalled.Close()
	d.running()
	d.Turn("t", "u", "completed") // on the other page
	d.look(func(v *headless.View) {
		text := shown(v).Window.Items[1].Text
		if want := len("w0 ")*10 + len("w10 ")*90 + len("w100 ")*900 + len("w1000 ")*9000 + len("w10000 ")*10_000; text == nil || len(text.Text)+text.Left != want {
			t.Errorf("a text of %d bytes, want %d", len(text.Text)+text.Left, want)
		}
		if len(v.Sync) != 0 {
			t.Errorf("events were lost: %+v", v.Sync)
		}
	})
	for over := false; !over; {
		_, batch, err := stalled.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range batch.Events {
			switch b := e.Body.(type) {
			case *uicontract.ThreadHead:
				over = b.TurnStatus == "completed"
			case *uicontract.Snapshot:
				over = len(b.Open) == 1 && b.Open[0].Head.TurnStatus == "completed"
			}
		}
	}
}

// The parameters fit the version: pages by the cursor that the server gave, and no parameter that a version does not have.
//
// report 32
// proves R-REC-04, R-CON-03
func TestReport32ParametersFitTheVersion(t *testing.T) {
	for _, version := range []string{"0.155.1", "0.159.1"} {
		t.Run(version, func(t *testing.T) {
			d := start(t, appserver.Scripts(readyAs(version), appserver.Script{
				appserver.Auto("thread/read", appserver.Object{"thread": appserver.Thread("t")}), appserver.Auto("thread/turns/list", appserver.Page(nil)),
				appserver.Expect("thread/items/list", nil).Labelled("newest"), appserver.Reply("newest", appserver.Page("c1", appserver.Entry("u", appserver.AgentMessage("m2", "new")))),
				appserver.Expect("thread/items/list", appserver.Object{"cursor": "c1"}).Labelled("older"),
				appserver.Reply("older", appserver.Page(nil, appserver.Entry("u", appserver.AgentMessage("m1", "old")))),
				appserver.Expect("thread/resume", nil), appserver.Reply("thread/resume", appserver.ThreadResult(appserver.Thread("t"))),
				appserver.Auto("thread/items/list", appserver.Page("c1", appserver.Entry("u", appserver.AgentMessage("m2", "new")))),
			}))
			d.Must(d.Do(uicontract.CmdThreadOpen, uicontract.ThreadRef{Thread: "t"}, nil))
			var older uicontract.OlderResult
			d.Must(d.Do(uicontract.CmdThreadOlder, uicontract.ThreadRef{Thread: "t"}, &older))
			if older != (uicontract.OlderResult{Added: 1}) {
				t.Errorf("%+v", older)
			}
			d.Must(d.Do(uicontract.CmdThreadJoin, uicontract.ThreadRef{Thread: "t"}, nil))
			d.Wait("both", func(v *headless.View) bool { return strings.Join(v.Texts("t", "agentMessage"), " ") == "old new" })
			for method, want := range map[string]string{
				"thread/resume":     `[{"threadId":"t","excludeTurns":true}]`,
				"thread/read":       `[{"threadId":"t","includeTurns":false} {"threadId":"t","includeTurns":false}]`,
				"thread/turns/list": `[{"threadId":"t","itemsView":"summary","limit":50,"sortDirection":"desc"} {"threadId":"t","itemsView":"summary","limit":50,"sortDirection":"desc"}]`,
				"thread/items/list": `[{"threadId":"t","limit":100,"sortDirection":"desc"} {"threadId":"t","cursor":"c1","limit":100,"sortDirection":"desc"} {"threadId":"t","limit":100,"sortDirection":"desc"}]`,
			} {
				if got := params(t, d.server.Sent(method)); got != sorted(t, want) {
					t.Errorf("%s with %s\nwant %s", method, got, sorted(t, want))
				}
			}
		})
	}
}

// Pages that lead in a circle end with a reason.
//
// report 33
// proves R-REC-04
func TestReport33PagesInACircle(t *testing.T) {
	d := start(t, appserver.Scripts(ready(), readable(appserver.Thread("t"), nil), appserver.CyclicPages("thread/items/list")))
	d.Must(d.Do(uicontract.CmdThreadOpen, uicontract.ThreadRef{Thread: "t"}, nil))
	more := uicontract.OlderResult{More: true}
	reads := 0
	for ; more.More && reads < 10; reads++ {
		d.Must(d.Do(uicontract.CmdThreadOlder, uicontract.ThreadRef{Thread: "t"}, &more))
	}
	if more.More || reads > 3 {
		t.Errorf("%d reads, %+v", reads, more)
	}
	d.Wait("the reason", func(v *headless.View) bool {
		p := shown(v).Head.Problem
		return p != nil && p.Code == "relay.sync_failed" && p.Variant == "cursor" && !shown(v).Head.Older
	})
}

// A message that the server would answer by cutting the connection is refused here. Nothing is sent, the text is kept, and
// the connection goes on.
//
// report 42
// proves R-CONN-09, R-REC-07
func TestReport42AMessageThatIsTooLarge(t *testing.T) {
	server := appserver.Start(t, appserver.Scripts(ready(), appserver.StartThread("t"), of.TextTurn("m", "still here")))
	var s setup
	s.over(t, server, "")
	d := startOn(t, server, s)
	d.Thread()
	d.Must(d.Do(uicontract.CmdDraftSet, uicontract.Draft{Thread: "t", Text: "my words", Revision: 1}, nil))
	d.refused(d.Do(uicontract.CmdTurnSend, uicontract.TurnSend{Thread: "t", Text: strings.Repeat("x", 17<<20)}, nil), "connection.outbound_too_large", "")
	d.sent("turn/start", 0)
	d.Wait("proof that it was not sent", func(v *headless.View) bool {
		o := outcome(v)
		return o.Kind == string(uicontract.CmdTurnSend) && o.State == uicontract.OutcomeNotSent && draft(v) == "my words"
	})
	d.Send("t", "hello")
	d.Turn("t", "u", "completed")
	d.sent("turn/start", 1)
}

// An answer of 40 MiB is read and judged like any other; one above the limit ends the connection with the reason. What was
// typed survives both.
//
// report 43
// proves R-CONN-09, R-PRI-01
func TestReport43AnAnswerThatIsTooLarge(t *testing.T) {
	pages := readable(appserver.Thread("t"), nil)[1:]
	server := appserver.Start(t, appserver.Scripts(ready(), pages, appserver.HugeAnswer("thread/read", 40<<20), appserver.HugeAnswer("thread/read", 65<<20)))
	var s setup
	s.over(t, server, "")
	d := startOn(t, server, s)
	d.Must(d.Do(uicontract.CmdDraftSet, uicontract.Draft{Thread: "t", Text: "my words", Revision: 1}, nil))
	d.ended(d.Do(uicontract.CmdThreadOpen, uicontract.ThreadRef{Thread: "t"}, nil), uicontract.Unknown, "call.outcome_unknown", "malformed")
	d.look(func(v *headless.View) {
		if v.Connection.State != uicontract.Connected {
			t.Errorf("after 40 MiB: %+v", v.Connection)
		}
	})
	d.ended(d.Do(uicontract.CmdThreadOpen, uicontract.ThreadRef{Thread: "t"}, nil), uicontract.Unknown, "call.outcome_unknown", "cut")
	d.Wait("the reason", func(v *headless.View) bool {
		p := v.Connection.Problem
		return v.Connection.State == uicontract.AwaitManual && p != nil && p.Code == "connection.inbound_too_large" && p.Remedy != "" && draft(v) == "my words"
	})
}

// A title is cut before anything looks at it, however long the text is that it is made of.
//
// report 44
// proves R-PRI-01
func TestReport44AHugePreview(t *testing.T) {
	thread := appserver.Thread("t")
	thread["preview"] = strings.Repeat("# ", 25<<19)
	script := readyAs("0.159.1")
	script = append(script, appserver.Auto("thread/list", appserver.Page(nil, thread)))
	d := start(t, script)
	d.Must(d.Do(uicontract.CmdThreadList, uicontract.ThreadList{}, nil))
	d.Wait("the list", func(v *headless.View) bool { return len(v.Threads) == 1 })
	d.look(func(v *headless.View) {
		if data, err := uicontract.Encode(v.Threads); err != nil || len(data) > 1000 || len(v.Threads[0].Title) > 300 {
			t.Errorf("the list has %d bytes, a title %d", len(data), len(v.Threads[0].Title))
		}
	})
}

// params are the parameters of messages in a form that can be compared.
func params(t *testing.T, messages []appserver.Message) string {
	t.Helper()
	var list []string
	for _, m := range messages {
		list = append(list, string(m.Params))
	}
	return sorted(t, "["+strings.Join(list, " ")+"]")
}

// sorted orders the members of the objects of a list whose elements are separated by spaces.
func sorted(t *testing.T, list string) string {
	t.Helper()
	var all []string
	for one := range strings.SplitSeq(strings.Trim(list, "[]"), " ") {
		v := map[string]any{}
		decode(t, []byte(one), &v)
		all = append(all, fmt.Sprint(v))
	}
	return strings.Join(all, " ")
}
