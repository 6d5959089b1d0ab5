package worker

import (
	"strings"
	"testing"

	"sekisho/internal/relay/uicontract"
	"sekisho/test/fakes/appserver"
	"sekisho/test/headless"
)

func fileItem(changes ...any) object {
	return object{"threadId": "t", "turnId": "u1", "startedAtMs": 1,
		"item": object{"id": "f1", "type": "fileChange", "status": "inProgress", "changes": append([]any{}, changes...)}}
}

func change(path, diff string) object {
	return object{"path": path, "kind": object{"type": "update"}, "diff": diff}
}

func (b *bench) card() (c uicontract.Card) {
	b.t.Helper()
	b.see(func(v *headless.View) {
		if list := v.Pending("t"); len(list) == 1 {
			c = list[0]
		} else {
			b.t.Fatalf("%d cards", len(list))
		}
	})
	return c
}

// proves R-INT-01, R-INT-08: changes that the worker does not hold whole, or of which there are none, cannot be accepted,
// whether they come before or after the request.
func TestFileCardsWithoutTheirWholeChanges(t *testing.T) {
	big := strings.Repeat("+safe line\n", 300_000)
	for name, tc := range map[string][]any{"cut": {change("/w/a", big), change("/w/b", "+evil")}, "none": nil} {
		for _, before := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				item := appserver.Script{appserver.Notify("item/started", fileItem(tc...)).Invalid()}
				request := appserver.Script{turn1.FileApproval("f1").WithID(0)}
				parts := []appserver.Script{appserver.StartThread("t"), turn1.BeginTurn()}
				if before {
					parts = append(parts, item, request)
				} else {
					parts = append(parts, request, item)
				}
				in(t, func(t *testing.T, b *bench) {
					b.start()
					b.must(b.send("hello"))
					c := b.card()
					if c.File.Known || len(c.File.Changes) != 0 {
						t.Errorf("shown as known: %d changes", len(c.File.Changes))
					}
					b.refused(b.do(uicontract.CmdCardAnswer, &uicontract.Answer{Card: c.ID, Choice: c.Choices[0].ID, SeenEnd: true}), "answer.invalid", "unseen")
					if got := b.answers(); len(got) != 0 {
						t.Errorf("sent %v", got)
					}
				}, greeted(parts...))
			})
		}
	}
}

// proves R-INT-01, R-INT-08: a patch that comes after the card makes the former card unacceptable until the new one is
// shown; one that does not fit leaves nothing to accept.
func TestALaterPatchReplacesTheCard(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.start()
		b.must(b.send("hello"))
		old := b.card()
		b.server.Release("patch")
		now := b.card()
		if now.ID != old.ID || now.File.Changes[0].Diff.Lines[0] != "+evil" {
			t.Fatalf("%+v", now.File)
		}
		for _, choice := range []string{old.Choices[0].ID} {
			b.refused(b.do(uicontract.CmdCardAnswer, &uicontract.Answer{Card: old.ID, Choice: choice, SeenEnd: true}), "answer.invalid", "unseen")
		}
		b.server.Release("nothing")
		if c := b.card(); c.File.Known {
			t.Errorf("still known: %+v", c.File)
		}
		b.refused(b.do(uicontract.CmdCardAnswer, &uicontract.Answer{Card: old.ID, Choice: now.Choices[0].ID, SeenEnd: true}), "answer.invalid", "unseen")
		if got := b.answers(); len(got) != 0 {
			t.Errorf("sent %v", got)
		}
	}, greeted(appserver.StartThread("t"), turn1.BeginTurn(), appserver.Script{
		appserver.Notify("item/started", fileItem(change("/w/a", "+safe"))), turn1.FileApproval("f1").WithID(0),
		appserver.Hold("patch"), patch(change("/etc/passwd", "+evil")), appserver.Hold("nothing"), patch()}))
}

// proves R-INT-08, R-REC-08: a card whose item came only with a page, after the request, is about what the page says.
func TestAPageTellsTheChangesOfACard(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.start()
		b.must(b.send("hello"))
		if c := b.card(); c.File.Known {
			t.Fatalf("%+v", c.File)
		}
		b.must(b.do(uicontract.CmdThreadSync, &uicontract.ThreadRef{Thread: "t"}))
		if c := b.card(); !c.File.Known || len(c.File.Changes) != 1 || c.File.Changes[0].Diff.Lines[0] != "+new" {
			t.Errorf("%+v", c.File)
		}
	}, greeted(appserver.StartThread("t"), turn1.BeginTurn(), appserver.Script{turn1.FileApproval("f1").WithID(0),
		appserver.Auto("thread/read", object{"thread": appserver.Thread("t")}), appserver.Auto("thread/turns/list", appserver.Page(nil)),
		appserver.Auto("thread/items/list", appserver.Page(nil, appserver.Entry("u1", fileItem(change("/w/a", "+new"))["item"].(object))))}))
}

func patch(changes ...any) appserver.Step {
	return appserver.Notify("item/fileChange/patchUpdated", object{"threadId": "t", "turnId": "u1", "itemId": "f1", "changes": append([]any{}, changes...)})
}
