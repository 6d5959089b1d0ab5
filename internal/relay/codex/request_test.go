package codex

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// examples has one complete payload per handled server request.
var examples = map[string]string{
	MethodCommandApproval: `{"threadId":"t","turnId":"u","itemId":"i","startedAtMs":1,"kind":"command","command":"rm x","cwd":"/w","reason":"r",
		"commandActions":[{"type":"read","command":"c","name":"n","path":"p"}],"networkApprovalContext":{"host":"h","protocol":"https"},
		"additionalPermissions":{"network":{"enabled":true}},"proposedExecpolicyAmendment":["rm"],"proposedNetworkPolicyAmendments":[{"host":"h","action":"allow"}],
		"availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["rm"]}},"cancel"]}`,
	MethodFileApproval: `{"threadId":"t","turnId":"u","itemId":"i","startedAtMs":1,"reason":null,"grantRoot":"/w"}`,
	MethodPermissionsApproval: `{"threadId":"t","turnId":"u","itemId":"i","startedAtMs":1,"cwd":"/w","reason":"r","permissions":{"network":{"enabled":true},
		"fileSystem":{"read":null,"write":["/w"],"entries":[{"path":{"type":"path","path":"/w"},"access":"write"},{"path":{"type":"special","value":{"kind":"tmpdir"}},"access":"read"},{"path":{"type":"glob_pattern","pattern":"*"},"access":"deny"}]}}}`,
	MethodUserInput: `{"threadId":"t","turnId":"u","itemId":"i","isBlocking":true,"questions":[{"id":"q","header":"h","question":"?","isOther":true,
		"options":[{"label":"A","description":"a"}]}]}`,
	MethodElicitation: `{"threadId":"t","turnId":"u","serverName":"s","mode":"form","message":"m","requestedSchema":{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}}`,
}

// without returns the JSON object with one member replaced; a nil value removes it.
func without(t testing.TB, object, member string, value any) []byte {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(object), &m); err != nil {
		t.Fatal(err)
	}
	if value == nil {
		delete(m, member)
	} else {
		m[member] = value
	}
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// proves R-CON-05, R-CON-03
func TestServerRequestShapes(t *testing.T) {
	for _, r := range ServerRequests() {
		example := examples[r.Name]
		v, err := DecodeServerRequest(r.Name, []byte(example))
		if err != nil {
			t.Fatalf("%s: %v", r.Name, err)
		}
		if v.Method() != r.Name || v.Scope().Thread != "t" || v.Scope().Turn != "u" {
			t.Errorf("%s: method %s, scope %+v", r.Name, v.Method(), v.Scope())
		}
		if _, err := DecodeServerRequest(r.Name, without(t, example, "emittedAtMs", 5)); err != nil {
			t.Errorf("%s: a member that the schema does not list is refused: %v", r.Name, err)
		}
		for _, m := range MembersOf(r.Params) {
			wrong := map[string][]byte{"of another type": without(t, example, m.Name, []any{map[string]any{"x": 1}}), "null": without(t, example, m.Name, json.RawMessage("null")), "missing": without(t, example, m.Name, nil)}
			for how, payload := range wrong {
				_, err := DecodeServerRequest(r.Name, payload)
				tolerated := m.Type == rawType && r.Name != MethodElicitation || m.Optional && how != "of another type" && !(r.Name == MethodElicitation && (m.Name == "message" || m.Name == "requestedSchema")) || m.Name == "_meta"
				if tolerated && err != nil {
					t.Errorf("%s: %s %s: %v", r.Name, m.Name, how, err)
				}
				if !tolerated && !errors.Is(err, ErrBadParams) {
					t.Errorf("%s: %s %s: got %v, want bad params", r.Name, m.Name, how, err)
				}
			}
		}
	}
}

// proves R-CON-05
func TestServerRequestDispositions(t *testing.T) {
	for _, test := range []struct {
		method, params string
		err            error
		code           int
	}{
		{"item/tool/call", `{}`, ErrRefused, CodeMethodNotFound},
		{"attestation/generate", `{}`, ErrRefused, CodeMethodNotFound},
		{"account/chatgptAuthTokens/refresh", `{"reason":"unauthorized"}`, ErrRefused, CodeMethodNotFound},
		{"applyPatchApproval", `{}`, ErrUnknownMethod, CodeMethodNotFound},
		{"execCommandApproval", `{}`, ErrUnknownMethod, CodeMethodNotFound},
		{"currentTime/read", `{"threadId":"t"}`, ErrUnknownMethod, CodeMethodNotFound},
		{"item/commandexecution/requestApproval", examples[MethodCommandApproval], ErrUnknownMethod, CodeMethodNotFound},
		{MethodCommandApproval + " ", examples[MethodCommandApproval], ErrUnknownMethod, CodeMethodNotFound},
		{"", `{}`, ErrUnknownMethod, CodeMethodNotFound},
		{MethodCommandApproval, ``, ErrBadParams, CodeInvalidParams},
		{MethodCommandApproval, `null`, ErrBadParams, CodeInvalidParams},
		{MethodCommandApproval, `[]`, ErrBadParams, CodeInvalidParams},
		{MethodCommandApproval, `{"threadId":"t"`, ErrBadParams, CodeInvalidParams},
		{MethodCommandApproval, string(without(t, examples[MethodCommandApproval], "kind", "humanCommand")), ErrBadParams, CodeInvalidParams},
		{MethodCommandApproval, string(without(t, examples[MethodCommandApproval], "availableDecisions", []any{"accept", "acceptForever"})), ErrBadParams, CodeInvalidParams},
		{MethodCommandApproval, `{"threadId":"t","threadId":"v","turnId":"u","itemId":"i","startedAtMs":1}`, ErrBadParams, CodeInvalidParams},
		{MethodCommandApproval, `{"threadId":"t","turnId":"u","itemId":"i","startedAtMs":1.5}`, ErrBadParams, CodeInvalidParams},
		{MethodCommandApproval, `{"threadId":"t","turnId":"u","itemId":"i","startedAtMs":1}`, ErrBadParams, CodeInvalidParams},
		{MethodCommandApproval, `{"threadId":"t","turnId":"u","itemId":"i","startedAtMs":1,"command":" \n","cwd":"/","reason":"trust me","additionalPermissions":{"network":{"enabled":false},"fileSystem":{"read":[],"write":null}}}`, ErrBadParams, CodeInvalidParams},
		{MethodCommandApproval, string(without(t, examples[MethodCommandApproval], "availableDecisions", []any{"accept", map[string]any{"acceptWithExecpolicyAmendment": map[string]any{"execpolicy_amendment": []any{}}}})), ErrBadParams, CodeInvalidParams},
		{MethodCommandApproval, string(without(t, examples[MethodCommandApproval], "availableDecisions", []any{map[string]any{"applyNetworkPolicyAmendment": map[string]any{"network_policy_amendment": map[string]any{"host": "", "action": "allow"}}}})), ErrBadParams, CodeInvalidParams},
		{MethodUserInput, strings.Replace(examples[MethodUserInput], `"questions":[`, `"questions":[{"id":"q","header":"h","question":"?"},`, 1), ErrBadParams, CodeInvalidParams},
		{MethodPermissionsApproval, strings.Replace(examples[MethodPermissionsApproval], `"deny"`, `"own"`, 1), ErrBadParams, CodeInvalidParams},
		{MethodPermissionsApproval, strings.Replace(examples[MethodPermissionsApproval], `"glob_pattern"`, `"regexp"`, 1), ErrBadParams, CodeInvalidParams},
		{MethodUserInput, string(without(t, examples[MethodUserInput], "questions", []any{})), ErrBadParams, CodeInvalidParams},
		{MethodElicitation, string(without(t, examples[MethodElicitation], "mode", "openai/new")), ErrBadParams, CodeInvalidParams},
	} {
		v, err := DecodeServerRequest(test.method, []byte(test.params))
		if v != nil || !errors.Is(err, test.err) {
			t.Errorf("%s %.60s: got %v, %v; want %v", test.method, test.params, v, err, test.err)
		}
		if reply := ReplyError(err); reply.Code != test.code || reply.Data != nil {
			t.Errorf("%s: answered with %+v, want code %d", test.method, reply, test.code)
		}
	}
}

// proves R-INT-03
func TestDecisionsOnTheWire(t *testing.T) {
	for _, test := range []struct {
		decision Decision
		wire     string
		rules    bool
	}{
		{Decision{Kind: Accept}, `"accept"`, false},
		{Decision{Kind: AcceptForSession}, `"acceptForSession"`, false},
		{Decision{Kind: Decline}, `"decline"`, false},
		{Decision{Kind: Cancel}, `"cancel"`, false},
		{Decision{Kind: AcceptExecpolicy, Execpolicy: []string{"touch", "/a b"}}, `{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch","/a b"]}}`, true},
		{Decision{Kind: ApplyNetwork, Network: &NetworkAmendment{"h", "deny"}}, `{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"h","action":"deny"}}}`, true},
	} {
		reply, err := Encode(DecisionReply{test.decision})
		if got, want := string(reply), `{"decision":`+test.wire+`}`; err != nil || got != want {
			t.Errorf("encoded %s, %v, want %s", got, err, want)
		}
		back, err := Decode[Decision]([]byte(test.wire))
		if err != nil || !back.Equal(test.decision) || back.ChangesRules() != test.rules {
			t.Errorf("%s: decoded %+v, %v", test.wire, back, err)
		}
	}
	for _, wire := range []string{`"Accept"`, `""`, `null`, `{}`, `{"accept":{}}`, `{"acceptWithExecpolicyAmendment":{}}`, `{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":[1]}}`,
		`{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":[]},"x":1}`, `{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"h","action":"maybe"}}}`} {
		if d, err := Decode[Decision]([]byte(wire)); err == nil {
			t.Errorf("%s decodes as %+v", wire, d)
		}
	}
	for _, d := range []Decision{{}, {Kind: "approve"}, {Kind: ApplyNetwork}} {
		if wire, err := Encode(DecisionReply{d}); err == nil {
			t.Errorf("%+v goes out as %s", d, wire)
		}
	}
}

// proves R-INT-03
func TestChoicesAreTheServers(t *testing.T) {
	r, err := Decode[CommandApproval]([]byte(examples[MethodCommandApproval]))
	if err != nil {
		t.Fatal(err)
	}
	want := []Decision{{Kind: Accept}, {Kind: AcceptExecpolicy, Execpolicy: []string{"rm"}}, {Kind: Cancel}}
	if diff := cmp.Diff(want, r.Choices()); diff != "" {
		t.Error(diff)
	}
	r.Available = []Decision{}
	if got := r.Choices(); len(got) != 0 {
		t.Errorf("an empty list offers %v", got)
	}
}

// proves R-INT-02
func TestSecretQuestionsAreWithheld(t *testing.T) {
	const canary = "tell-me-your-password"
	payload := `{"threadId":"t","turnId":"u","itemId":"i","isBlocking":true,"questions":[{"id":"a","header":"h","question":"plain"},
		{"id":"b","header":"` + canary + `","question":"` + canary + `","isSecret":true,"options":[{"label":"` + canary + `","description":""}]}]}`
	v, err := DecodeServerRequest(MethodUserInput, []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	r := v.(*UserInputRequest)
	text, err := json.Marshal(r)
	if err != nil || !r.Secret || strings.Contains(string(text), canary) || strings.Contains(string(text), "plain") {
		t.Errorf("secret %t, kept %s, %v", r.Secret, text, err)
	}
}

// proves R-INT-07, R-CON-05
func TestDeclinedElicitationsKeepNothing(t *testing.T) {
	for _, test := range []struct{ mode, members string }{
		{"openai/userVerification", `"challenge":"C4N4RY","description":"C4N4RY","title":"C4N4RY","_meta":{"x":"C4N4RY"}`},
		{"openai/form", `"message":"C4N4RY","requestedSchema":{"anything":"C4N4RY"}`},
		{"openaiForm", `"message":"C4N4RY","requestedSchema":true`},
	} {
		v, err := DecodeServerRequest(MethodElicitation, []byte(`{"threadId":"t","serverName":"s","mode":"`+test.mode+`",`+test.members+`}`))
		if err != nil {
			t.Errorf("%s: %v", test.mode, err)
			continue
		}
		r := v.(*Elicitation)
		text, _ := json.Marshal(r)
		if r.Mode.Handled() || r.ServerName != "s" || strings.Contains(string(text), "C4N4RY") {
			t.Errorf("%s: kept %s", test.mode, text)
		}
	}
	reply, err := Encode(ElicitReply{Action: ElicitDecline})
	if err != nil || string(reply) != `{"action":"decline","content":null}` {
		t.Errorf("the decline is %s, %v", reply, err)
	}
}

// proves R-INT-04
func TestToolApprovalIsNoForm(t *testing.T) {
	form := func(meta string) *Elicitation {
		t.Helper()
		v, err := DecodeServerRequest(MethodElicitation, []byte(`{"threadId":"t","serverName":"s","mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}},"_meta":`+meta+`}`))
		if err != nil {
			t.Fatal(err)
		}
		return v.(*Elicitation)
	}
	got := form(`{"codex_approval_kind":"mcp_tool_call","persist":["session","always"],"tool_description":"d","tool_params":{"a":1}}`).Approval
	want := &ToolApproval{Kind: "mcp_tool_call", Persist: []string{"session", "always"}, Description: "d", Params: Raw(`{"a":1}`)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := form(`{"codex_approval_kind":"something_new","persist":"session"}`).Approval; got == nil || got.Kind != "something_new" || !reflect.DeepEqual(got.Persist, []string{"session"}) {
		t.Errorf("an approval of a new kind is %+v", got)
	}
	if form(`{"other":1}`).Approval != nil || form(`null`).Approval != nil || form(`7`).Approval != nil {
		t.Error("other metadata is taken for an approval")
	}
	meta, err := Persisting("session")
	if err != nil || string(meta) != `{"persist":"session"}` {
		t.Errorf("persisting is %s, %v", meta, err)
	}
}

// proves R-INT-04
func TestFormFields(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	for wire, want := range map[string]Field{
		`{"type":"string","title":"N","minLength":2,"maxLength":10,"format":"email"}`:                     {Kind: FieldString, Title: "N", MinLength: n(2), MaxLength: n(10), Format: "email"},
		`{"type":"integer","default":3}`:                                                                  {Kind: FieldInteger, Default: Raw(`3`)},
		`{"type":"number"}`:                                                                               {Kind: FieldNumber},
		`{"type":"boolean","default":true}`:                                                               {Kind: FieldBoolean, Default: Raw(`true`)},
		`{"type":"string","enum":["r","g"]}`:                                                              {Kind: FieldSelect, Choices: []Choice{{"r", "r"}, {"g", "g"}}},
		`{"type":"string","enum":["r","g"],"enumNames":["Red"]}`:                                          {Kind: FieldSelect, Choices: []Choice{{"r", "Red"}, {"g", "g"}}},
		`{"type":"string","oneOf":[{"const":"s","title":"Small"}]}`:                                       {Kind: FieldSelect, Choices: []Choice{{"s", "Small"}}},
		`{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a"]}}`:               {Kind: FieldMulti, Choices: []Choice{{"a", "a"}}, MinItems: n(1), MaxItems: n(2)},
		`{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}`:                                  {Kind: FieldMulti, Choices: []Choice{{"x", "X"}}},
		`{"type":"string","title":null,"description":null,"default":null,"minLength":null,"format":null}`: {Kind: FieldString, Default: Raw("null")},
	} {
		got, err := Decode[Field]([]byte(wire))
		if err != nil {
			t.Errorf("%s: %v", wire, err)
			continue
		}
		if diff := cmp.Diff(want, *got, cmpopts.IgnoreUnexported(Field{})); diff != "" {
			t.Errorf("%s: %s", wire, diff)
		}
		if back, err := Encode(got); err != nil || !jsonEqual(string(back), wire) {
			t.Errorf("%s goes out as %s, %v", wire, back, err)
		}
	}
	for _, wire := range []string{`{}`, `{"type":"object"}`, `{"type":"string","pattern":"x"}`, `{"type":"array"}`, `{"type":"array","items":{}}`, `{"type":"string","enum":[1]}`,
		`{"type":"string","format":"hostname"}`, `{"type":"string","enum":["a"],"oneOf":[{"const":"a","title":"A"}]}`, `{"type":"array","items":{"enum":["a"],"anyOf":[]}}`, `null`, `[]`} {
		if f, err := Decode[Field]([]byte(wire)); err == nil {
			t.Errorf("%s decodes as %+v", wire, f)
		}
	}
	if _, err := decodeForm([]byte(`{"type":"object","properties":{},"patternProperties":{}}`)); !errors.Is(err, ErrBadParams) {
		t.Errorf("a form with a member that is not understood: %v", err)
	}
}

func jsonEqual(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// proves R-INT-03, R-INT-01
func TestReplyForms(t *testing.T) {
	yes := true
	for want, reply := range map[string]any{
		`{"permissions":{"fileSystem":{"write":["/w"]}},"scope":"turn"}`: PermissionsReply{Permissions{FileSystem: &FilePermissions{Write: []string{"/w"}}}, ScopeTurn},
		`{"permissions":{},"scope":"turn"}`:                              PermissionsReply{Scope: ScopeTurn},
		`{"permissions":{"network":{"enabled":true}},"scope":"session"}`: PermissionsReply{Permissions{Network: &NetworkPermissions{&yes}}, ScopeSession},
		`{"answers":{"q":{"answers":["B","user_note: hi"]}}}`:            UserInputReply{map[string]Answer{"q": {[]string{"B", "user_note: hi"}}}},
		`{"answers":{}}`: UserInputReply{},
		`{"action":"accept","content":{"age":3}}`:                          ElicitReply{Action: ElicitAccept, Content: Raw(`{"age":3}`)},
		`{"action":"accept","content":null,"_meta":{"persist":"session"}}`: ElicitReply{Action: ElicitAccept, Meta: Raw(`{"persist":"session"}`)},
	} {
		if got, err := Encode(reply); err != nil || string(got) != want {
			t.Errorf("encoded %s, %v, want %s", got, err, want)
		}
	}
}

// proves R-CON-05
func TestEveryServerRequestHasOneDisposition(t *testing.T) {
	all := map[string]int{}
	for _, r := range ServerRequests() {
		all[r.Name]++
	}
	for _, name := range RefusedRequests() {
		all[name]++
	}
	if len(all) != 11 {
		t.Errorf("%d names: %v", len(all), maps.Keys(all))
	}
	for name, n := range all {
		if n != 1 {
			t.Errorf("%s is listed %d times", name, n)
		}
	}
}

// proves R-INT-03: what else but a command can be approved.
func TestCommandApprovalsWithoutACommand(t *testing.T) {
	for _, more := range []string{`"kind":"writeStdin","command":"\n"`, `"networkApprovalContext":{"host":"h","protocol":"https"}`, `"additionalPermissions":{"network":{"enabled":true}}`,
		`"additionalPermissions":{"fileSystem":{"write":["/w"]}}`} {
		if _, err := DecodeServerRequest(MethodCommandApproval, []byte(`{"threadId":"t","turnId":"u","itemId":"i","startedAtMs":1,`+more+`}`)); err != nil {
			t.Errorf("%s: %v", more, err)
		}
	}
}
