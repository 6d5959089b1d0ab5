package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/ledger"
)

func kinds(choices []Choice) string {
	var s []string
	for _, c := range choices {
		s = append(s, c.Kind)
	}
	return strings.Join(s, " ")
}

// proves R-INT-03
func TestCommandCardsOfferExactlyTheServersChoices(t *testing.T) {
	for available, want := range map[string]string{
		``: "accept acceptForSession decline cancel",
		`,"availableDecisions":["accept","cancel"]`: "accept cancel",
		`,"availableDecisions":[]`:                  "",
		`,"availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch","/x y"]}},{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"ex.org","action":"allow"}}},"cancel"]`: "accept acceptWithExecpolicyAmendment applyNetworkPolicyAmendment cancel",
	} {
		r, w := New(nil), newWire()
		c := add(t, r, w, request(t, codex.MethodCommandApproval, `{`+scope+`,"command":"/bin/bash -lc 'touch a'","cwd":"/w"`+available+`}`))
		if got := kinds(c.Choices); got != want {
			t.Errorf("%s: %q", available, got)
		}
		for _, ch := range c.Choices {
			if lasting := ch.Kind == "acceptWithExecpolicyAmendment" || ch.Kind == "applyNetworkPolicyAmendment"; ch.ChangesRules != lasting {
				t.Errorf("%s: changes rules %v", ch.Kind, ch.ChangesRules)
			}
		}
		if _, err := r.Answer(context.Background(), me, Answer{Key: c.Key, Choice: fmt.Sprint(len(c.Choices))}); code(err) != "answer.invalid.choice" {
			t.Error(err)
		}
		if len(w.frames) != 0 {
			t.Error(w.frames)
		}
	}
}

// proves R-INT-03, R-INT-08
func TestCommandCardShowsAllThatIsApproved(t *testing.T) {
	r, w := New(nil), newWire()
	c := add(t, r, w, request(t, codex.MethodCommandApproval, `{`+scope+`,"command":"/bin/bash -lc 'echo \u202eevil; rm -rf x'","cwd":"/w\u00a0","reason":"need\nit",
		"networkApprovalContext":{"host":"аpple.com","protocol":"https"},"additionalPermissions":{"network":{"enabled":true},"fileSystem":{"read":null,"write":["/w"],"entries":[{"path":{"type":"path","path":"/w"},"access":"write"}]}},
		"availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["rm","-rf\u200b"]}}]}`))
	got, err := json.Marshal(c.Command)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"line":{"lines":["/bin/bash -lc 'echo \\u{202e}evil; rm -rf x'"],"bytes":38},"argv":[{"lines":["/bin/bash"],"bytes":9},{"lines":["-lc"],"bytes":3},{"lines":["echo \\u{202e}evil; rm -rf x"],"bytes":22}],` +
		`"cwd":{"lines":["/w\\u{00a0}"],"bytes":4},"reason":{"lines":["need","it"],"bytes":7},"network":{"host":{"shown":"xn--pple-43d.com","unicode":"аpple.com"},"protocol":"https"},` +
		`"extra":{"grants":[{"id":"network","kind":"network"},{"id":"0","kind":"path","access":"write","value":{"lines":["/w"],"bytes":2}}]}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if rule := c.Choices[1].Rule; len(rule) != 2 || rule[1].Lines[0] != `-rf\u{200b}` {
		t.Errorf("%+v", rule)
	}
	if c.Profile != "p" || c.Host != "local" || c.Thread != "t" || c.Turn != "u" || c.Item != "i" {
		t.Errorf("%+v", c)
	}
}

// proves R-INT-08
func TestLongCardsMustBeReadToTheEnd(t *testing.T) {
	r, w := New(nil), newWire()
	c := add(t, r, w, request(t, codex.MethodCommandApproval, `{`+scope+`,"command":"echo `+strings.Repeat("x", LongText)+`"}`))
	if !c.Long {
		t.Fatal("not long")
	}
	if _, err := r.Answer(context.Background(), me, Answer{Key: c.Key, Choice: "0"}); code(err) != "answer.invalid.unseen" {
		t.Error(err)
	}
	if s, err := r.Answer(context.Background(), me, Answer{Key: c.Key, Choice: "0", SeenEnd: true}); s != ledger.Sent || err != nil {
		t.Error(s, err)
	}
	huge := request(t, codex.MethodCommandApproval, `{`+scope+`,"command":"echo `+strings.Repeat("x", MaxShown)+`"}`)
	huge.Key = key(1)
	if c := add(t, r, w, huge); c.State != Refused || c.Command != nil || c.Refusal.Variant != "too_large" {
		t.Errorf("%s", c.State)
	}
	// Few bytes in very many lines or elements are more than a page can show, too. What a text says counts for nothing.
	for i, c := range []struct {
		command string
		want    State
	}{
		{"echo" + strings.Repeat(`\n`, MaxLines), Refused},
		{"echo" + strings.Repeat(" x", MaxLines), Refused},
		{"echo " + strings.Repeat(`\",\"`, MaxLines), Pending},
		{"echo '" + strings.Repeat(`\"lines\":[`, MaxLines), Pending},
		{"echo |" + strings.Repeat(`\n`, MaxLines/2), Pending},
	} {
		many := request(t, codex.MethodCommandApproval, `{`+scope+`,"command":"`+c.command+`"}`)
		many.Key = key(int64(10 + i))
		if got := add(t, r, newWire(), many); got.State != c.want {
			t.Errorf("%d: %s, want %s", i, got.State, c.want)
		}
	}
	if diff := cmp.Diff([]string{`{"decision":"accept"}`, "error -32602"}, w.frames); diff != "" {
		t.Error(diff)
	}
}

// proves R-INT-01, R-INT-03, R-INT-08
func TestFileCardsNeedTheirChanges(t *testing.T) {
	r, w := New(nil), newWire()
	c := add(t, r, w, request(t, codex.MethodFileApproval, `{`+scope+`,"reason":null,"grantRoot":"/w"}`))
	accept, decline := Answer{Key: c.Key, Choice: "0"}, Answer{Key: c.Key, Choice: "2"}
	if _, err := r.Answer(context.Background(), me, accept); code(err) != "answer.invalid.unseen" || c.File.GrantRoot == nil {
		t.Error(err)
	}
	changes := []codex.FileUpdate{{Path: "/w/a", Kind: codex.ChangeKind{Type: "update", MovePath: "/w/b"}, Diff: "-a\n+b"}}
	r.SetChanges(other, 1, "t", "u", "i", changes, false)
	r.SetChanges(me, 2, "t", "u", "i", changes, false)
	r.SetChanges(me, 1, "t", "u", "j", changes, false)
	if c, _ := r.Card(me, c.Key); c.File.Known {
		t.Error("another item's changes are shown")
	}
	r.SetChanges(me, 1, "t", "u", "i", changes, false)
	c, _ = r.Card(me, c.Key)
	if v := c.File; !v.Known || len(v.Changes) != 1 || v.Changes[0].Diff.Lines[1] != "+b" || v.Changes[0].Moved.Lines[0] != "/w/b" {
		t.Errorf("%+v", v)
	}
	if s, err := r.Answer(context.Background(), me, accept); s != ledger.Sent || err != nil {
		t.Error(s, err)
	}
	if _, err := r.Answer(context.Background(), me, decline); code(err) != "request.gone.answered" {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{`{"decision":"accept"}`}, w.frames); diff != "" {
		t.Error(diff)
	}
}

const wanted = `{"network":{"enabled":true},"fileSystem":{"read":["/r"],"write":["/w"],"globScanMaxDepth":3,"entries":[` +
	`{"path":{"type":"path","path":"/w"},"access":"write"},{"path":{"type":"glob_pattern","pattern":"/g/*"},"access":"read"},` +
	`{"path":{"type":"special","value":{"kind":"tmpdir"}},"access":"write"},{"path":{"type":"path","path":"/w/.git"},"access":"deny"}]}}`

// proves R-INT-01, R-INT-03
func TestPermissionsAreGrantedInPart(t *testing.T) {
	for name, tc := range map[string]struct {
		answer Answer
		want   string
	}{
		"none":        {Answer{}, `{"permissions":{},"scope":"turn"}`},
		"network":     {Answer{Grants: []string{"network"}, Scope: codex.ScopeSession}, `{"permissions":{"network":{"enabled":true}},"scope":"session"}`},
		"write":       {Answer{Grants: []string{"1"}}, `{"permissions":{"fileSystem":{"write":["/w"],"entries":[{"path":{"type":"path","path":"/w"},"access":"write"},{"path":{"type":"path","path":"/w/.git"},"access":"deny"}]}},"scope":"turn"}`},
		"glob":        {Answer{Grants: []string{"2"}}, `{"permissions":{"fileSystem":{"entries":[{"path":{"type":"glob_pattern","pattern":"/g/*"},"access":"read"},{"path":{"type":"path","path":"/w/.git"},"access":"deny"}],"globScanMaxDepth":3}},"scope":"turn"}`},
		"read":        {Answer{Grants: []string{"0"}, Scope: codex.ScopeTurn}, `{"permissions":{"fileSystem":{"read":["/r"],"entries":[{"path":{"type":"path","path":"/w/.git"},"access":"deny"}]}},"scope":"turn"}`},
		"not asked":   {Answer{Grants: []string{"9"}}, "answer.invalid.not_asked"},
		"odd id":      {Answer{Grants: []string{"01"}}, "answer.invalid.not_asked"},
		"the denial":  {Answer{Grants: []string{"4"}}, "answer.invalid.not_asked"},
		"scope":       {Answer{Grants: []string{"0"}, Scope: "forever"}, "answer.invalid.choice"},
		"other kind":  {Answer{Grants: []string{"0"}, Choice: "0"}, "answer.invalid.not_asked"},
		"with values": {Answer{Content: map[string]json.RawMessage{}}, "answer.invalid.not_asked"},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := New(nil), newWire()
			c := add(t, r, w, request(t, codex.MethodPermissionsApproval, `{`+scope+`,"cwd":"/w","permissions":`+wanted+`}`))
			if c.Permissions == nil || len(c.Permissions.Grants) != 6 || !c.Permissions.Grants[5].Fixed {
				t.Fatalf("%+v", c.Permissions)
			}
			tc.answer.Key = c.Key
			_, err := r.Answer(context.Background(), me, tc.answer)
			got := strings.Join(w.frames, "\n")
			if err != nil {
				got = code(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// proves R-INT-03, R-PRI-02
func TestUnknownPermissionsAreRefusedWithTheirName(t *testing.T) {
	for params, name := range map[string]string{
		`{"camera":true}`:                         "camera",
		`{"network":{"enabled":true,"hosts":[]}}`: "hosts",
		`{"fileSystem":{"execute":["/x"]}}`:       "execute",
		`{"fileSystem":{"entries":[{"path":{"type":"path","path":"/x","follow":true},"access":"read"}]}}`: "follow",
	} {
		for _, method := range []string{codex.MethodPermissionsApproval, codex.MethodCommandApproval} {
			member := `"permissions"`
			if method == codex.MethodCommandApproval {
				member = `"additionalPermissions"`
			}
			r, w := New(nil), newWire()
			c := add(t, r, w, request(t, method, `{`+scope+`,"command":"ls","cwd":"/w",`+member+`:`+params+`}`))
			if c.State != Refused || c.Refusal.Variant != "permission" || c.Refusal.Args["detail"] != name {
				t.Errorf("%s %s: %+v", method, params, c.Refusal)
			}
			if diff := cmp.Diff([]string{"error -32602"}, w.frames); diff != "" {
				t.Error(diff)
			}
			if _, err := r.Answer(context.Background(), me, Answer{Key: c.Key}); code(err) != "request.gone.answered" {
				t.Error(err)
			}
		}
	}
}

// proves R-INT-02, R-PRI-07
func TestSecretQuestionsReachNothing(t *testing.T) {
	const canary = "canary-7f"
	r, w := New(nil), newWire()
	c := add(t, r, w, request(t, codex.MethodUserInput, `{"threadId":"t","turnId":"u","itemId":"i","isBlocking":true,"questions":[
		{"id":"q1","header":"plain","question":"ok `+canary+`?"},{"id":"`+canary+`","header":"`+canary+`","question":"`+canary+`","isSecret":true,"options":[{"label":"`+canary+`","description":"`+canary+`"}]}]}`))
	shown, _ := json.Marshal(r.Cards(me))
	if c.State != Refused || c.Refusal.Variant != "secret" || strings.Contains(string(shown), canary) || strings.Contains(fmt.Sprintf("%+v %v", c, c.Refusal), canary) {
		t.Errorf("%s", shown)
	}
	if diff := cmp.Diff([]string{"error -32602"}, w.frames); diff != "" {
		t.Error(diff)
	}
}

// proves R-INT-02
func TestQuestions(t *testing.T) {
	one := "1"
	bad := "2"
	for name, tc := range map[string]struct {
		replies map[string]Reply
		want    string
	}{
		"option":         {map[string]Reply{"0": {Option: &one}}, `{"answers":{"q1":{"answers":["B"]}}}`},
		"other":          {map[string]Reply{"0": {Text: " mine "}}, `{"answers":{"q1":{"answers":["user_note: mine"]}}}`},
		"both":           {map[string]Reply{"0": {Option: &one, Text: "hi"}}, `{"answers":{"q1":{"answers":["B","user_note: hi"]}}}`},
		"free":           {map[string]Reply{"2": {Text: "text"}}, `{"answers":{"q3":{"answers":["user_note: text"]}}}`},
		"nothing":        {nil, `{"answers":{}}`},
		"no such option": {map[string]Reply{"0": {Option: &bad}}, "answer.invalid.choice"},
		"no other":       {map[string]Reply{"1": {Text: "mine"}}, "answer.invalid.not_asked"},
		"not asked":      {map[string]Reply{"3": {Text: "mine"}}, "answer.invalid.not_asked"},
		"their id":       {map[string]Reply{"q1": {Option: &one}}, "answer.invalid.not_asked"},
		"too large":      {map[string]Reply{"2": {Text: strings.Repeat("x", MaxAnswer+1)}}, "answer.invalid.too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := New(nil), newWire()
			c := add(t, r, w, request(t, codex.MethodUserInput, `{"threadId":"t","turnId":"u","itemId":"i","isBlocking":false,"autoResolutionMs":null,"questions":[
				{"id":"q1","header":"h","question":"?","isOther":true,"options":[{"label":"A","description":"first"},{"label":"B","description":"second"}]},
				{"id":"q2","header":"h","question":"?","options":[{"label":"A","description":""}]},{"id":"q3","header":"h","question":"?"}]}`))
			if v := c.Questions; v.Blocking || len(v.Questions) != 3 || !v.Questions[0].Other || v.Questions[1].Other || !v.Questions[2].FreeText {
				t.Errorf("%+v", v)
			}
			_, err := r.Answer(context.Background(), me, Answer{Key: c.Key, Replies: tc.replies})
			got := strings.Join(w.frames, "\n")
			if err != nil {
				got = code(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
