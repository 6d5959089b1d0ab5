//go:build realcodex

package e2ecore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sekisho/internal/relay/ask"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/headless"
	"sekisho/test/relayworld"
)

const (
	commandApproval = "item/commandExecution/requestApproval"
	fileApproval    = "item/fileChange/requestApproval"
)

// escalated is a command that the server asks about.
func escalated(command string) string {
	return fmt.Sprintf(`SCN call exec_command {"cmd":%q,"sandbox_permissions":"require_escalated","justification":"need it"}`, command)
}

func (w *world) exists(name string) bool {
	_, err := os.Stat(filepath.Join(w.work, name))
	return err == nil
}

// proves R-INT-01, R-INT-03
func TestCommandApproval(t *testing.T) {
	both(t, options{}, func(t *testing.T, w *world) {
		id := w.Thread()
		turn := w.Send(id, escalated("touch "+w.work+"/yes && echo done"))
		card := w.Card(id)
		if card.Kind != uicontract.CardKind(ask.CommandCard) || !strings.Contains(strings.Join(card.Command.Line.Lines, ""), "touch "+w.work+"/yes && echo done") {
			t.Errorf("the card shows %+v", card.Command)
		}
		if card.Place.Profile != w.profile.Name || card.Place.Host == "" || card.Title == "" {
			t.Errorf("the card names %+v and %q", card.Place, card.Title)
		}
		if got := relayworld.Kinds(card); got != "accept acceptWithExecpolicyAmendment cancel" {
			t.Errorf("the card offers %q", got)
		}
		w.Must(w.Choose(card, "accept"))
		w.Turn(id, turn, "completed")
		w.CardIs(card.ID, ask.Answered)
		w.tape.Answered(t, commandApproval, `{"decision":"accept"}`)
		if !w.exists("yes") {
			t.Error("the accepted command did not run")
		}
		if r := w.Choose(card, "cancel"); r.Status != uicontract.Refused || r.Problem.Code != "request.gone" {
			t.Errorf("a second answer: %+v", r)
		}
		w.tape.Answered(t, commandApproval, `{"decision":"accept"}`)

		turn = w.Send(id, escalated("touch "+w.work+"/no"))
		card = w.Card(id)
		w.Must(w.Choose(card, "cancel"))
		w.Turn(id, turn, "interrupted")
		w.tape.Answered(t, commandApproval, `{"decision":"cancel"}`)
		if w.exists("no") {
			t.Error("the cancelled command ran")
		}
		w.tape.Times(t, "turn/start", 2)
	})
}

// proves R-INT-01, R-INT-03
func TestFileChange(t *testing.T) {
	both(t, options{}, func(t *testing.T, w *world) {
		id := w.Thread()
		patch := func(name string) string {
			return "SCN custom apply_patch *** Begin Patch\n*** Add File: " + name + "\n+line1\n+line2\n*** End Patch\n"
		}
		turn := w.Send(id, patch("yes.txt"))
		card := w.Card(id)
		w.Wait("the change on the card", func(v *headless.View) bool {
			c := v.Card(card.ID)
			return c.File != nil && c.File.Known && len(c.File.Changes) == 1 && strings.HasSuffix(c.File.Changes[0].Path.Lines[0], "yes.txt")
		})
		w.Must(w.Choose(card, "accept"))
		w.Turn(id, turn, "completed")
		w.tape.Answered(t, fileApproval, `{"decision":"accept"}`)
		if !w.exists("yes.txt") {
			t.Error("the accepted change was not made")
		}
		turn = w.Send(id, patch("no.txt"))
		card = w.Card(id)
		w.Must(w.Choose(card, "decline"))
		w.Turn(id, turn, "completed")
		w.tape.Answered(t, fileApproval, `{"decision":"decline"}`)
		if w.exists("no.txt") {
			t.Error("the declined change was made")
		}
		w.Wait("the declined item", func(v *headless.View) bool {
			for _, i := range v.Open(id).Window.Items {
				if i.Type == "fileChange" && i.Status == uicontract.ItemDeclined {
					return true
				}
			}
			return false
		})
	})
}

// proves R-INT-03
func TestPermissionSubset(t *testing.T) {
	both(t, options{config: "[features]\nrequest_permissions_tool = true\n"}, func(t *testing.T, w *world) {
		id := w.Thread()
		turn := w.Send(id, fmt.Sprintf(`SCN call request_permissions {"reason":"need write","permissions":{"file_system":{"write":[%q]},"network":{"enabled":true}}}`, w.work))
		card := w.Card(id)
		if card.Kind != uicontract.CardKind(ask.PermissionsCard) || len(card.Permissions.Grants) != 2 {
			t.Fatalf("the card asks for %+v", card.Permissions)
		}
		var grant string
		for _, g := range card.Permissions.Grants {
			if g.Kind == "network" {
				grant = g.ID
			}
		}
		if r := w.Do(uicontract.CmdCardAnswer, uicontract.Answer{Card: card.ID, Grants: []string{"nonsense"}}, nil); r.Status != uicontract.Refused {
			t.Errorf("a grant of what was not asked: %+v", r)
		}
		w.Must(w.Do(uicontract.CmdCardAnswer, uicontract.Answer{Card: card.ID, Grants: []string{grant}}, nil))
		w.Turn(id, turn, "completed")
		w.tape.Answered(t, "item/permissions/requestApproval", `{"permissions":{"network":{"enabled":true}},"scope":"turn"}`)
	})
}

// Interrupting a turn that waits for a person: the turn ends first, then the request is withdrawn, and the command's item
// is never completed.
//
// proves R-CONN-08, R-INT-01
func TestInterruptWithPendingApproval(t *testing.T) {
	both(t, options{}, func(t *testing.T, w *world) {
		id := w.Thread()
		turn := w.Send(id, escalated("touch "+w.work+"/never"))
		card := w.Card(id)
		w.Must(w.Do(uicontract.CmdTurnInterrupt, uicontract.TurnRef{Thread: id}, nil))
		w.Turn(id, turn, "interrupted")
		w.CardIs(card.ID, ask.Resolved)
		w.tape.Once(t, "turn/interrupt", string(turn))
		if r := w.Choose(card, "accept"); r.Status != uicontract.Refused {
			t.Errorf("an answer to a withdrawn request: %+v", r)
		}
		if got := w.tape.Replies(w.tape.Asked(commandApproval)[0]); len(got) != 0 {
			t.Errorf("the request was answered with %q", got)
		}
		w.Wait("the abandoned command", func(v *headless.View) bool {
			for _, i := range v.Open(id).Window.Items {
				if i.Type == "commandExecution" && i.Status == uicontract.ItemRunning {
					return false
				}
			}
			return true
		})
	})
}
