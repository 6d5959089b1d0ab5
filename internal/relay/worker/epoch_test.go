package worker

import (
	"strings"
	"testing"

	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/fakes/appserver"
	"sekisho/test/headless"
)

// proves R-PRI-05, R-UI-03: what a front end of one owner still had under way is refused once another owner is there.
func TestCommandsForAnotherOwnerAreRefused(t *testing.T) {
	of := func(email string, more ...appserver.Script) appserver.Script {
		return appserver.Scripts(append([]appserver.Script{readsOf(chatgpt(email)), appserver.Handshake()}, more...)...)
	}
	in(t, func(t *testing.T, b *bench) {
		var former uint64
		b.see(func(v *headless.View) { former = v.Owner.Epoch })
		b.must(b.doFor(former, "draft", uicontract.CmdDraftSet, &uicontract.Draft{Thread: "t", Text: "first words of a", Revision: 1}))
		b.must(b.do(uicontract.CmdReconnect, &uicontract.None{}))
		b.start()
		b.must(b.send("hello"))
		card := b.card()
		for kind, params := range map[uicontract.CommandKind]any{
			uicontract.CmdDraftSet:      &uicontract.Draft{Thread: "t", Text: "secret words of a", Revision: 2},
			uicontract.CmdTurnSend:      &uicontract.TurnSend{Thread: "t", Text: "secret words of a"},
			uicontract.CmdTurnInterrupt: &uicontract.TurnRef{Thread: "t"},
			uicontract.CmdThreadStart:   &uicontract.ThreadStart{},
			uicontract.CmdThreadJoin:    &uicontract.ThreadRef{Thread: "t"},
			uicontract.CmdCardAnswer:    &uicontract.Answer{Card: card.ID, Choice: card.Choices[0].ID},
		} {
			for _, epoch := range []uint64{former, 0, former + 2} {
				b.refused(b.doFor(epoch, headless.Operation(), kind, params), "relay.command", "owner")
			}
		}
		b.see(func(v *headless.View) {
			if v.Owner.Epoch == former || len(v.Drafts) != 0 {
				t.Errorf("%+v, drafts %+v", v.Owner, v.Drafts)
			}
		})
		b.sent("thread/start", 1)
		b.sent("turn/start", 1)
		b.sent("turn/interrupt", 0)
		b.sent("thread/resume", 0)
		if got := b.answers(); len(got) != 0 {
			t.Errorf("sent %v", got)
		}
	}, of("a@example.com"), of("b@example.com", appserver.StartThread("t"), turn1.BeginTurn(), appserver.Script{turn1.CommandApproval("c1", "true").WithID(0)}))
}

// proves R-PRI-05, R-REC-07: the result of an operation is not told to another owner, and the operation does not happen
// again.
func TestResultsEndWithTheirOwner(t *testing.T) {
	of := func(email string, more ...appserver.Script) appserver.Script {
		return appserver.Scripts(append([]appserver.Script{readsOf(chatgpt(email)), appserver.Handshake()}, more...)...)
	}
	in(t, func(t *testing.T, b *bench) {
		b.must(b.doAs("op", uicontract.CmdThreadStart, &uicontract.ThreadStart{}))
		b.must(b.doAs("again", uicontract.CmdReconnect, &uicontract.None{}))
		r := b.doAs("op", uicontract.CmdThreadStart, &uicontract.ThreadStart{})
		b.refused(r, "relay.command", "owner")
		if strings.Contains(string(r.Value), "thread-of-a") || r.Operation != "op" {
			t.Errorf("%+v", r)
		}
		b.must(b.doAs("again", uicontract.CmdReconnect, &uicontract.None{}))
		b.sent("thread/start", 1)
		if n := b.server.Connections(); n != 2 {
			t.Errorf("%d connections", n)
		}
	}, of("a@example.com", appserver.StartThread("thread-of-a")), of("b@example.com"))
}

// proves R-PRI-05: kind of account, address, and whether the provider is the server's own tell owners apart.
func TestOwnersByAccount(t *testing.T) {
	p := profile.Profile{Name: "p", ServerRoot: "/w"}
	seen := map[any]string{}
	for name, r := range map[string]codex.AccountReadResult{
		"nobody":           {},
		"nobody at openai": {RequiresOpenAIAuth: true},
		"key":              {Account: &codex.Account{Type: "apiKey"}, RequiresOpenAIAuth: true},
		"key, own":         {Account: &codex.Account{Type: "apiKey"}},
		"a":                {Account: &codex.Account{Type: "chatgpt", Email: "a@example.com"}, RequiresOpenAIAuth: true},
		"b":                {Account: &codex.Account{Type: "chatgpt", Email: "b@example.com"}, RequiresOpenAIAuth: true},
	} {
		o, _, err := ownerOf(p, r)
		if err != nil || seen[o] != "" {
			t.Errorf("%s is %s (%v)", name, seen[o], err)
		}
		seen[o] = name
	}
}
