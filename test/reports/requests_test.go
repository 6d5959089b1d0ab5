package reports

import (
	"strings"
	"testing"

	"sekisho/internal/relay/ask"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/fakes/appserver"
	"sekisho/test/headless"
	"sekisho/test/relayworld"
)

var of = appserver.Of{Thread: "t", Turn: "u"}

// begun is a thread with a turn that runs.
func begun(parts ...appserver.Script) appserver.Script {
	return appserver.Scripts(ready(), appserver.StartThread("t"), of.BeginTurn(), appserver.Scripts(parts...))
}

// running starts the thread and the turn of begun.
func (d *desk) running() {
	d.t.Helper()
	d.Send(d.Thread(), "hello")
}

// A method is what it is called, letter by letter: a name that resembles an approval is none, and nobody is asked.
//
// report 01
// proves R-CON-05, R-PRI-02
func TestReport01NamesThatResembleApprovals(t *testing.T) {
	d := start(t, begun(appserver.UnknownRequests(), of.EndTurn()))
	d.running()
	d.Turn("t", "u", "completed")
	d.look(func(v *headless.View) {
		if len(v.Cards) != 0 {
			t.Errorf("cards %+v", v.Cards)
		}
		if n := len(v.Notices); n != 6 {
			t.Errorf("%d notices, want one for each refusal: %+v", n, v.Notices)
		}
	})
	for _, a := range d.answers() {
		if !strings.Contains(a, `"code":-32601`) {
			t.Errorf("answered by %s", a)
		}
	}
}

// Without a person nothing is decided: a request waits until somebody looks, and is shown to the first who does.
//
// report 02
// proves R-INT-01
func TestReport02NobodyIsThere(t *testing.T) {
	server := appserver.Start(t, appserver.Scripts(ready(), appserver.Script{
		of.CommandApproval("i1", "rm -rf /").Labelled("command"), of.Permissions("i2").Labelled("permissions"), of.ToolApproval("erase").Labelled("tool"),
		appserver.Expect("thread/read", nil), appserver.Reply("thread/read", appserver.Object{"thread": appserver.Thread("t")}),
		appserver.Expect("thread/turns/list", nil), appserver.Reply("thread/turns/list", appserver.Page(nil)),
		appserver.Expect("thread/items/list", nil), appserver.Reply("thread/items/list", appserver.Page(nil))}))
	d := startOn(t, server, setup{alone: true})
	if r := d.worker.Execute(d.Ctx, uicontract.Command{Operation: "a", Kind: uicontract.CmdConnect}, &uicontract.Connect{}); r.Status != uicontract.Done {
		t.Fatalf("%+v", r.Problem)
	}
	// The answer to this arrives after the requests: they had their chance to be answered by nobody.
	if r := d.worker.Execute(d.Ctx, uicontract.Command{Operation: "b", Kind: uicontract.CmdThreadOpen}, &uicontract.ThreadRef{Thread: "t"}); r.Status != uicontract.Done {
		t.Fatalf("%+v", r.Problem)
	}
	if got := d.answers(); len(got) != 0 {
		t.Errorf("answered without anybody: %q", got)
	}
	d.Client, d.Watch = d.page()
	d.Wait("three cards", func(v *headless.View) bool { return len(v.Pending("t")) == 3 })
	if got := d.answers(); len(got) != 0 {
		t.Errorf("answered by looking: %q", got)
	}
}

// An elicitation is asked, not refused, and its answer has the words of its own protocol.
//
// report 03
// proves R-INT-04
func TestReport03ElicitationsAreAnsweredInTheirOwnWords(t *testing.T) {
	d := start(t, begun(appserver.Script{of.Form().Labelled("form"), appserver.Answer("form", appserver.Object{"action": "decline"}), of.TurnCompleted("completed")}))
	d.running()
	card := d.Card("t")
	if string(card.Kind) != string(ask.FormCard) {
		t.Errorf("shown as %s", card.Kind)
	}
	d.Must(d.Do(uicontract.CmdCardAnswer, uicontract.Answer{Card: card.ID, Choice: "decline"}, nil))
	d.Turn("t", "u", "completed")
	if got := d.answers(); len(got) != 1 || strings.Contains(got[0], "decision") || !strings.Contains(got[0], `"result":{"action":"decline"`) {
		t.Errorf("answered %q", got)
	}
}

// The approval of an MCP tool call looks like an empty form. It is shown as the approval that it is, and what it remembers
// goes where the server reads it.
//
// report 04
// proves R-INT-04
func TestReport04ToolApprovals(t *testing.T) {
	d := start(t, begun(appserver.Script{of.ToolApproval("erase").Labelled("tool"),
		appserver.Answer("tool", appserver.Object{"action": "accept", "_meta": appserver.Object{"persist": "session"}}), of.TurnCompleted("completed")}))
	d.running()
	card := d.Card("t")
	if string(card.Kind) != string(ask.ToolCard) || card.Tool == nil || card.Form != nil || relayworld.Kinds(card) != "accept acceptSession acceptAlways decline cancel" {
		t.Errorf("shown as %s with %q", card.Kind, relayworld.Kinds(card))
	}
	d.Must(d.Choose(card, "acceptSession"))
	d.Turn("t", "u", "completed")
	if got := d.answers(); len(got) != 1 || !strings.Contains(got[0], `"result":{"action":"accept","content":null,"_meta":{"persist":"session"}}`) {
		t.Errorf("answered %q", got)
	}
}

// What this client never does is refused at once: the next thing that the server reads is the error, and it is told why.
//
// report 07
// proves R-CON-05
func TestReport07WhatIsNeverDoneIsRefusedAtOnce(t *testing.T) {
	d := start(t, begun(appserver.Script{
		appserver.Request("currentTime/read", appserver.Object{"threadId": "t"}).Invalid(), appserver.Refusal("currentTime/read", -32601),
		appserver.Request("attestation/generate", appserver.Object{}).Invalid(), appserver.Refusal("attestation/generate", -32601),
		appserver.Request("item/tool/call", appserver.Object{"threadId": "t", "turnId": "u", "callId": "c", "tool": "x", "arguments": appserver.Object{}}).Invalid(), appserver.Refusal("item/tool/call", -32601),
		of.CommandApproval("i1", "ls").Labelled("pending"),
	}))
	d.running()
	d.Card("t") // it came after the refusals, which were in order and did not wait for anybody
	if got := d.answers(); len(got) != 3 {
		t.Errorf("answers %q", got)
	}
	d.Wait("reasons", func(v *headless.View) bool { return len(v.Notices) == 3 })
}

// Permissions have a card of their own, with each thing to grant apart.
//
// report 08
// proves R-INT-03
func TestReport08PermissionsHaveACard(t *testing.T) {
	d := start(t, begun(appserver.Script{of.Permissions("i"), appserver.Answer("item/permissions/requestApproval",
		appserver.Object{"permissions": appserver.Object{"network": appserver.Object{"enabled": true}}, "scope": "turn"}), of.TurnCompleted("completed")}))
	d.running()
	card := d.Card("t")
	if card.Permissions == nil || string(card.Kind) != string(ask.PermissionsCard) || len(card.Permissions.Grants) != 2 {
		t.Fatalf("shown as %s %+v", card.Kind, card.Permissions)
	}
	network := card.Permissions.Grants[0].ID
	if card.Permissions.Grants[1].Kind == "network" {
		network = card.Permissions.Grants[1].ID
	}
	d.Must(d.Do(uicontract.CmdCardAnswer, uicontract.Answer{Card: card.ID, Grants: []string{network}}, nil))
	d.Turn("t", "u", "completed")
	if got := d.answers(); len(got) != 1 || strings.Contains(got[0], "fileSystem") {
		t.Errorf("answered %q", got)
	}
}

// The choices are those that the server lists, no more and no fewer.
//
// report 15
// proves R-INT-03
func TestReport15ExactlyTheOfferedChoices(t *testing.T) {
	d := start(t, begun(appserver.Script{of.CommandApproval("i", "ls", "accept", "cancel"), appserver.Answer("item/commandExecution/requestApproval", appserver.Object{"decision": "accept"}),
		of.TurnCompleted("completed")}))
	d.running()
	card := d.Card("t")
	if got := relayworld.Kinds(card); got != "accept cancel" {
		t.Errorf("offered %q", got)
	}
	for _, id := range []string{"2", "acceptForSession", ""} {
		d.refused(d.Do(uicontract.CmdCardAnswer, uicontract.Answer{Card: card.ID, Choice: id}, nil), "answer.invalid", "choice")
	}
	d.Must(d.Choose(card, "accept"))
	d.Turn("t", "u", "completed")
}

// Each choice is sent as itself: the grant for a session is a grant, and no other choice.
//
// report 17
// proves R-INT-03
func TestReport17EachChoiceIsItself(t *testing.T) {
	rule := appserver.Object{"acceptWithExecpolicyAmendment": appserver.Object{"execpolicy_amendment": []any{"touch", "x"}}}
	offered := []any{"accept", "acceptForSession", rule, "decline", "cancel"}
	names := []string{"accept", "acceptForSession", "acceptWithExecpolicyAmendment", "decline", "cancel"}
	var script appserver.Script
	for i, decision := range offered {
		label := names[i]
		script = append(script, of.CommandApproval("i", "touch x", offered...).Labelled(label), appserver.Answer(label, appserver.Object{"decision": decision}), of.Resolved(i))
	}
	d := start(t, begun(script, of.EndTurn()))
	d.running()
	for _, name := range names {
		card := d.Card("t")
		d.Must(d.Choose(card, name))
		d.CardIs(card.ID, "answered")
	}
	d.Turn("t", "u", "completed")
}

// A permission that is not understood is refused by its name, with everything that was asked beside it.
//
// report 18
// proves R-INT-03, R-PRI-02
func TestReport18UnknownPermissions(t *testing.T) {
	ask := appserver.Request("item/permissions/requestApproval", appserver.Object{"threadId": "t", "turnId": "u", "itemId": "i", "startedAtMs": 1, "cwd": appserver.Dir, "reason": nil,
		"environmentId": "local", "permissions": appserver.Object{"network": appserver.Object{"enabled": true}, "fileSystem": nil, "camera": appserver.Object{"enabled": true}}}).Invalid()
	d := start(t, begun(appserver.Script{ask, appserver.Refusal("item/permissions/requestApproval", -32602), of.TurnCompleted("completed")}))
	d.running()
	d.Turn("t", "u", "completed")
	d.Wait("the reason", func(v *headless.View) bool {
		return len(v.Notices) == 1 && v.Notices[0].Problem.Code == "request.refused" && strings.Contains(v.Notices[0].Problem.Text, "camera")
	})
}

// A question that leaves the model at work is still there when the turn is over, and is answered then.
//
// report 46
// proves R-INT-01, R-INT-02
func TestReport46QuestionsOutliveTheirTurn(t *testing.T) {
	d := start(t, begun(appserver.Script{of.Question("i", false, false).Labelled("question")}, of.EndTurn(), appserver.Script{
		appserver.Hold("looked"), appserver.Answer("question", appserver.Object{"answers": appserver.Object{"q1": appserver.Object{"answers": []any{"B"}}}}),
		of.Resolved(0)}))
	d.running()
	d.Turn("t", "u", "completed")
	card := d.Card("t")
	d.server.Release("looked")
	option := card.Questions.Questions[0].Options[1].ID
	d.Must(d.Do(uicontract.CmdCardAnswer, uicontract.Answer{Card: card.ID, Replies: map[string]ask.Reply{card.Questions.Questions[0].ID: {Option: &option}}}, nil))
	d.CardIs(card.ID, "answered")
}
