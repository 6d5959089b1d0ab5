//go:build realcodex

package e2ecore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"sekisho/internal/relay/ask"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/fakes/mcp"
	"sekisho/test/headless"
	"sekisho/test/relayworld"
)

const (
	userInput   = "item/tool/requestUserInput"
	elicitation = "mcpServer/elicitation/request"
	which       = `SCN call request_user_input {"questions":[{"id":"q1","header":"Pick","question":"Which?","options":[{"label":"A (Recommended)","description":"first"},{"label":"B","description":"second"}]}]}`
)

// proves R-INT-02
func TestNonBlockingQuestion(t *testing.T) {
	both(t, options{config: "[features]\ndefault_mode_request_user_input = true\n"}, func(t *testing.T, w *world) {
		id := w.Thread()
		turn := w.Send(id, which)
		card := w.Card(id)
		if card.Kind != uicontract.CardKind(ask.QuestionCard) || card.Questions.Blocking || len(card.Questions.Questions) != 1 {
			t.Fatalf("the card asks %+v", card.Questions)
		}
		q := card.Questions.Questions[0]
		second := q.Options[1].ID
		w.Must(w.Do(uicontract.CmdCardAnswer, uicontract.Answer{Card: card.ID, Replies: map[string]ask.Reply{q.ID: {Option: &second}}}, nil))
		w.CardIs(card.ID, ask.Answered)
		w.tape.Answered(t, userInput, `{"answers":{"q1":{"answers":["B"]}}}`)
		w.Turn(id, turn, "completed")
	})
}

// A secret question is refused before anyone could see it.
//
// proves R-INT-02
func TestSecretQuestion(t *testing.T) {
	w := newWorld(t, options{config: "[features]\ndefault_mode_request_user_input = true\n"})
	id := w.Thread()
	turn := w.Send(id, `SCN call request_user_input {"questions":[{"id":"q1","header":"Canary","question":"canary-secret-question?","options":[{"label":"A (Recommended)","description":"first"},{"label":"B","description":"second"}],"is_secret":true,"isSecret":true}]}`)
	w.Wait("the refusal", func(v *headless.View) bool {
		for _, n := range v.Notices {
			if n.Kind == uicontract.NoticeRefused && n.Problem != nil && n.Problem.Variant == "secret" {
				return true
			}
		}
		return false
	})
	w.Turn(id, turn, "completed")
	w.Watch.Look(func(v *headless.View) {
		for _, c := range v.Seen {
			if c.Questions != nil {
				t.Errorf("the secret question was shown: %+v", c)
			}
		}
	})
	ids := w.tape.Asked(userInput)
	if len(ids) != 1 || len(w.tape.Replies(ids[0])) != 1 {
		t.Errorf("asked %q, answered %q", ids, w.tape.Replies(ids[0]))
	}
	if bytes.Contains([]byte(w.log.String()), []byte("canary-secret-question")) {
		t.Error("the secret question is in the log")
	}
	w.fit()
}

// mcpConfig makes codex start the fake MCP server, which notes its calls in the file that is returned.
func mcpConfig(t *testing.T) (config, calls string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	calls = filepath.Join(t.TempDir(), "calls")
	return fmt.Sprintf("[mcp_servers.fake]\ncommand = %s\nargs = [%q, %s]\n", strconv.Quote(self), relayworld.ServeMCP, strconv.Quote(calls)), calls
}

func readCalls(t *testing.T, path string) []mcp.Call {
	t.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var list []mcp.Call
	for line := range bytes.Lines(data) {
		var c mcp.Call
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// proves R-INT-04
func TestMCPForm(t *testing.T) {
	for name, remote := range map[string]bool{"stdio": false, "websocket": true} {
		t.Run(name, func(t *testing.T) {
			config, calls := mcpConfig(t)
			w := newWorld(t, options{config: config, remote: remote})
			id := w.Thread()
			turn := w.Send(id, "SCN nscall mcp__fake ask_form {}")
			card := w.Card(id)
			if card.Kind != uicontract.CardKind(ask.FormCard) || len(card.Form.Fields) != 8 {
				t.Fatalf("the form is %+v", card.Form)
			}
			fields := map[string]ask.FieldView{}
			for _, f := range card.Form.Fields {
				fields[f.Name.Lines[0]] = f
			}
			content := map[string]json.RawMessage{
				fields["name"].ID: json.RawMessage(`"B"`), fields["age"].ID: json.RawMessage(`3`), fields["agree"].ID: json.RawMessage(`true`),
				fields["color"].ID: json.RawMessage(strconv.Quote(fields["color"].Options[0].ID)),
			}
			if r := w.Do(uicontract.CmdCardAnswer, uicontract.Answer{Card: card.ID, Choice: "accept", Content: content}, nil); r.Status != uicontract.Refused || r.Problem.Code != "answer.invalid" {
				t.Errorf("a name that is too short: %+v", r)
			}
			content[fields["name"].ID] = json.RawMessage(`"Bob"`)
			w.Must(w.Do(uicontract.CmdCardAnswer, uicontract.Answer{Card: card.ID, Choice: "accept", Content: content}, nil))
			w.Turn(id, turn, "completed")
			w.tape.Answered(t, elicitation, `{"action":"accept","content":{"age":3,"agree":true,"color":"red","name":"Bob"}}`)
			got := readCalls(t, calls)
			if len(got) != 1 || got[0].Action != "accept" || got[0].Got["name"] != "Bob" {
				t.Errorf("the MCP server got %+v", got)
			}
			w.fit()
		})
	}
}

// A URL elicitation is declined by a valid answer, and the person is told.
//
// proves R-CON-05
func TestMCPURLIsDeclined(t *testing.T) {
	config, calls := mcpConfig(t)
	w := newWorld(t, options{config: config})
	id := w.Thread()
	turn := w.Send(id, "SCN nscall mcp__fake ask_url {}")
	w.Turn(id, turn, "completed")
	w.tape.Answered(t, elicitation, `{"action":"decline","content":null}`)
	if got := readCalls(t, calls); len(got) != 1 || got[0].Action != "decline" {
		t.Errorf("the MCP server got %+v", got)
	}
	w.Wait("the reason", func(v *headless.View) bool {
		for _, n := range v.Notices {
			if n.Kind == uicontract.NoticeRefused && n.Problem != nil && n.Problem.Variant == "url" {
				return true
			}
		}
		return false
	})
}

// The approval of an MCP tool comes as a form and is an approval.
//
// proves R-INT-04
func TestMCPToolApproval(t *testing.T) {
	for name, remote := range map[string]bool{"stdio": false, "websocket": true} {
		t.Run(name, func(t *testing.T) {
			config, calls := mcpConfig(t)
			w := newWorld(t, options{config: config, remote: remote})
			id := w.Thread()
			turn := w.Send(id, "SCN nscall mcp__fake danger {}")
			card := w.Card(id)
			if card.Kind != uicontract.CardKind(ask.ToolCard) || card.Form != nil || card.Tool == nil {
				t.Fatalf("the card is %+v", card)
			}
			if got := readCalls(t, calls); len(got) != 0 {
				t.Errorf("called before it was approved: %+v", got)
			}
			w.Must(w.Choose(card, "decline"))
			w.Turn(id, turn, "completed")
			w.tape.Answered(t, elicitation, `{"action":"decline","content":null}`)
			if got := readCalls(t, calls); len(got) != 0 {
				t.Errorf("called although it was declined: %+v", got)
			}
			turn = w.Send(id, "SCN nscall mcp__fake danger {}")
			w.Must(w.Choose(w.Card(id), "accept"))
			w.Turn(id, turn, "completed")
			if ids := w.tape.Asked(elicitation); len(ids) != 2 || len(w.tape.Replies(ids[1])) != 1 {
				t.Errorf("asked %q", ids)
			}
			if got := readCalls(t, calls); len(got) != 1 {
				t.Errorf("the tool was called %d times", len(got))
			}
			w.fit()
		})
	}
}
