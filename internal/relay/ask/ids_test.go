package ask

import (
	"context"
	"encoding/json"
	"testing"

	"sekisho/internal/relay/codex"
)

// proves R-INT-01, R-INT-02, R-INT-03, R-INT-04: an id has one form. Another form of the same number would name the same thing
// twice in one answer, and the second value would replace the first unseen.
func TestAnIdHasOneForm(t *testing.T) {
	const questions = `{"threadId":"t","turnId":"u","itemId":"i","isBlocking":false,"autoResolutionMs":null,"questions":[
		{"id":"q1","header":"h","question":"?","options":[{"label":"A","description":""},{"label":"B","description":""}]},{"id":"q2","header":"h","question":"?"}]}`
	const permissions = `{` + scope + `,"cwd":"/w","permissions":` + wanted + `}`
	for name, tc := range map[string]struct {
		method, params string
		answer         func(id string) Answer
	}{
		"question": {codex.MethodUserInput, questions, func(id string) Answer { return Answer{Replies: map[string]Reply{id: {Text: "x"}}} }},
		"option":   {codex.MethodUserInput, questions, func(id string) Answer { return Answer{Replies: map[string]Reply{"0": {Option: &id}}} }},
		"grant":    {codex.MethodPermissionsApproval, permissions, func(id string) Answer { return Answer{Grants: []string{id}} }},
		"field": {codex.MethodElicitation, form, func(id string) Answer {
			return Answer{Choice: "accept", Content: map[string]json.RawMessage{"0": json.RawMessage(`"Bob"`), id: json.RawMessage(`3`)}}
		}},
		"choice": {codex.MethodElicitation, form, func(id string) Answer {
			list, _ := json.Marshal([]string{id})
			return Answer{Choice: "accept", Content: map[string]json.RawMessage{"0": json.RawMessage(`"Bob"`), "1": json.RawMessage(`3`), fieldID("tags"): list}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for id, good := range map[string]bool{"1": true, "01": false, "+1": false, "1 ": false, " 1": false, "1.0": false, "0x1": false, "-1": false, "": false, "１": false} {
				r, w := New(nil), newWire()
				c := add(t, r, w, request(t, tc.method, tc.params))
				a := tc.answer(id)
				a.Key = c.Key
				if _, err := r.Answer(context.Background(), me, a); (err == nil) != good || (len(w.frames) == 1) != good {
					t.Errorf("%q: %v, sent %q", id, err, w.frames)
				}
			}
		})
	}
}
