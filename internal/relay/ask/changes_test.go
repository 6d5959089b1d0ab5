package ask

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

func update(diff string) []codex.FileUpdate {
	return []codex.FileUpdate{{Path: "/w/a", Kind: codex.ChangeKind{Type: "update"}, Diff: diff}}
}

// proves R-INT-01, R-INT-08: changes that cannot be shown whole cannot be accepted, whenever they come.
func TestChangesThatAreNotShownWholeAreNotAccepted(t *testing.T) {
	for name, tc := range map[string]Facts{
		"none":      {},
		"empty":     {Changes: []codex.FileUpdate{}},
		"cut":       {Changes: update("+safe"), Cut: true},
		"too large": {Changes: update(strings.Repeat("+safe line\n", MaxShown/10))},
	} {
		t.Run(name, func(t *testing.T) {
			changed := 0
			r, w := New(func(relay.Owner, relay.Key) { changed++ }), newWire()
			c := add(t, r, w, request(t, codex.MethodFileApproval, `{`+scope+`}`))
			r.SetChanges(me, 1, "t", "u", "i", tc.Changes, tc.Cut)
			if changed != 1 {
				t.Errorf("told %d times that nothing changed", changed-1)
			}
			for _, known := range []bool{false, true} {
				if known { // what was known is not known any more
					r.SetChanges(me, 1, "t", "u", "i", update("+safe"), false)
					r.SetChanges(me, 1, "t", "u", "i", tc.Changes, tc.Cut)
				}
				if c, _ = r.Card(me, c.Key); c.File.Known || len(c.File.Changes) != 0 {
					t.Errorf("shown: %d", len(c.File.Changes))
				}
				if _, err := r.Answer(context.Background(), me, Answer{Key: c.Key, Choice: c.Choices[0].ID, SeenEnd: true}); code(err) != "answer.invalid.unseen" {
					t.Error(err)
				}
			}
			req := request(t, codex.MethodFileApproval, `{`+scope+`}`)
			req.Key = key(1)
			if c, _ := r.Add(context.Background(), w, from, req, tc); c.File != nil && c.File.Known {
				t.Error("known at once")
			}
			if _, err := r.Answer(context.Background(), me, Answer{Key: c.Key, Choice: c.Choices[2].ID}); err != nil {
				t.Error(err)
			}
		})
	}
}

// proves R-INT-01, R-INT-08: what replaces a shown change is accepted only by an answer to it.
func TestOtherChangesReplaceTheCard(t *testing.T) {
	r, w := New(nil), newWire()
	req := request(t, codex.MethodFileApproval, `{`+scope+`}`)
	first, _ := r.Add(context.Background(), w, from, req, Facts{Changes: update("+safe")})
	r.SetChanges(me, 1, "t", "u", "i", update("+safe"), false)
	if c, _ := r.Card(me, first.Key); !reflect.DeepEqual(c, first) {
		t.Error("the same changes changed the card")
	}
	answer := func(a Answer) string {
		a.Key = first.Key
		_, err := r.Answer(context.Background(), me, a)
		return code(err)
	}
	for _, between := range [][]codex.FileUpdate{nil, {}} {
		r.SetChanges(me, 1, "t", "u", "i", between, false)
		r.SetChanges(me, 1, "t", "u", "i", update("+evil"+strings.Repeat("!", len(between))), false)
	}
	c, _ := r.Card(me, first.Key)
	if got := c.File.Changes[0].Diff.Lines[0]; got != "+evil" || !c.Long || first.Long {
		t.Errorf("%q, long %v", got, c.Long)
	}
	for _, a := range []Answer{{Choice: first.Choices[0].ID}, {Choice: first.Choices[0].ID, SeenEnd: true}, {Choice: c.Choices[0].ID}} {
		if got := answer(a); got != "answer.invalid.unseen" {
			t.Errorf("%+v: %s", a, got)
		}
	}
	if got := answer(Answer{Choice: "9.1"}); got != "answer.invalid.choice" {
		t.Error(got)
	}
	if got := answer(Answer{Choice: c.Choices[0].ID, SeenEnd: true}); got != "<nil>" {
		t.Error(got)
	}
	if diff := cmp.Diff([]string{`{"decision":"accept"}`}, w.frames); diff != "" {
		t.Error(diff)
	}
}

// proves R-INT-01: to decline needs no sight of the changes.
func TestAFormerCardCanBeDeclined(t *testing.T) {
	r, w := New(nil), newWire()
	c, _ := r.Add(context.Background(), w, from, request(t, codex.MethodFileApproval, `{`+scope+`}`), Facts{Changes: update("+a")})
	r.SetChanges(me, 1, "t", "u", "i", update("+b"), false)
	if _, err := r.Answer(context.Background(), me, Answer{Key: c.Key, Choice: c.Choices[2].ID}); err != nil || len(w.frames) != 1 || w.frames[0] != `{"decision":"decline"}` {
		t.Error(err, w.frames)
	}
}

// proves R-INT-08: a word that is not known is not repeated, wherever the server may have put one.
func TestWordsThatAreNotKnown(t *testing.T) {
	const hostile = "\u202eadd\n<approved>"
	v := &FileView{}
	describe(v, []codex.FileUpdate{{Path: "/a", Kind: codex.ChangeKind{Type: hostile}, Diff: "x"}, {Path: "/a", Kind: codex.ChangeKind{Type: "add"}, Diff: "x"}}, false)
	if v.Changes[0].Kind != "other" || v.Changes[1].Kind != "add" {
		t.Errorf("%+v", v.Changes)
	}
	list := choices([]codex.Decision{{Kind: codex.ApplyNetwork, Network: &codex.NetworkAmendment{Host: "h", Action: hostile}}})
	c := &Card{}
	if no := projectCommand(c, &codex.CommandApproval{Command: "ls", Network: &codex.NetworkContext{Host: "h", Protocol: hostile}}, nil); no != nil || c.Command.Network.Protocol != "other" || list[0].RuleAction != "other" {
		t.Errorf("%+v %+v", c.Command.Network, list)
	}
}

// proves R-INT-02: the same answers make the same reply, and the same error.
func TestAnswersAreDeterministic(t *testing.T) {
	body := request(t, codex.MethodUserInput, `{"threadId":"t","turnId":"u","itemId":"i","isBlocking":true,"questions":[
		{"id":"a","header":"h","question":"?","options":[{"label":"x","description":""}]},{"id":"b","header":"h","question":"?"}]}`).Body
	bad, want := "7", ""
	for range 50 {
		_, err := reply(&Card{Kind: QuestionCard}, body, Answer{Replies: map[string]Reply{"0": {Option: &bad}, "1": {Option: &bad}, "2": {}, "x": {}}})
		if want == "" {
			want = fault.As(err).Target
		}
		if got := fault.As(err).Target; got != want {
			t.Fatalf("%s, and %s", got, want)
		}
		_, err = reply(&Card{Kind: FileCard}, body, Answer{Grants: []string{}, Scope: "turn", Replies: map[string]Reply{}, Content: map[string]json.RawMessage{}})
		if got := fault.As(err).Target; got != "content" {
			t.Fatal(got)
		}
	}
	form := &codex.FormSchema{Properties: map[string]codex.Field{"p": {Kind: codex.FieldBoolean}, "q": {Kind: codex.FieldBoolean}}}
	for range 50 {
		if _, err := content(form, map[string]json.RawMessage{"0": []byte("1"), "1": []byte("1")}); fault.As(err).Target != "p" {
			t.Fatal(err)
		}
	}
}
