package codex

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// proves R-CONN-07, R-PRI-03, R-PRI-04
func TestOnlyReadOnlyMethodsAreRetried(t *testing.T) {
	var retried []string
	for _, m := range Methods() {
		if m.Retry {
			retried = append(retried, m.Name)
			if m.Effect != ReadOnly {
				t.Errorf("%s is sent again though it is not read-only", m.Name)
			}
		}
	}
	slices.Sort(retried)
	want := []string{ConfigRead, ModelList, AttachmentList, ThreadItemsList, ThreadList, ThreadLoadedList, ThreadRead, ThreadTurnsList}
	slices.Sort(want)
	if !slices.Equal(retried, want) {
		t.Errorf("the list is %v", retried)
	}
	for _, name := range []string{ThreadResume, ThreadStart, TurnStart, TurnSteer, TurnInterrupt, ThreadFork, AttachmentAdd, AttachmentRemove, ThreadShellCommand, GatewayOAuthLogin} {
		if m, ok := Lookup(name); !ok || m.Effect != Mutating || m.Retry {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// proves R-CONN-09, R-INT-06, R-CON-04
func TestMethodTable(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Methods() {
		if seen[m.Name] {
			t.Errorf("%s is listed twice", m.Name)
		}
		seen[m.Name] = true
		if d := m.Limit.Duration(); d <= 0 || d > time.Minute*10 || (d == 10*time.Minute) != (m.Name == GatewayOAuthLogin) {
			t.Errorf("%s may take %v", m.Name, d)
		}
		if m.Support(Target) != Supported || m.Support("0.171.0") != SupportUnknown || m.Support("") != SupportUnknown {
			t.Errorf("%s: support", m.Name)
		}
		want := Supported
		if strings.HasPrefix(m.Name, "account/gatewayOAuth/") {
			want = Unsupported
		}
		if m.Support(Regression) != want {
			t.Errorf("%s: support on %s", m.Name, Regression)
		}
	}
	if _, ok := Lookup("thread/Read"); ok {
		t.Error("names are not exact")
	}
	text, err := Encode(InitializeParams{ClientInfo: ClientInfo{Name: "relaycodex", Version: Target}, Capabilities: &Capabilities{ExperimentalAPI: true}})
	if want := `{"clientInfo":{"name":"relaycodex","version":"0.159.1"},"capabilities":{"experimentalApi":true}}`; err != nil || string(text) != want {
		t.Errorf("initialize is %s, %v", text, err)
	}
	for i := range reflect.TypeFor[Capabilities]().NumField() {
		if name := reflect.TypeFor[Capabilities]().Field(i).Name; !slices.Contains([]string{"ExperimentalAPI", "ExplicitGatewayOAuth", "OptOut"}, name) {
			t.Errorf("%s can be declared", name)
		}
	}
}

// proves R-REC-04
func TestCursors(t *testing.T) {
	for want, p := range map[string]ItemsListParams{
		`{"threadId":"t","limit":100,"sortDirection":"desc"}`:                 {ThreadID: "t", Limit: 100, SortDirection: Descending},
		`{"threadId":"t","cursor":"c"}`:                                       {ThreadID: "t", Cursor: ItemsCursor{Page: "c"}},
		`{"threadId":"t","turnId":"u","cursor":{"type":"item","itemId":"i"}}`: {ThreadID: "t", TurnID: "u", Cursor: ItemsCursor{Anchor: "i"}},
	} {
		if got, err := Encode(p); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

// proves R-CON-03, R-CON-07
func TestItemsThatAreUnknownOrMalformed(t *testing.T) {
	known, err := Decode[Item]([]byte(`{"type":"agentMessage","id":"i","text":"hi","phase":"new_phase","more":1}`))
	if err != nil || known.Body.(*AgentMessage).Text != "hi" || known.Body.(*AgentMessage).Phase != "new_phase" {
		t.Errorf("%+v, %v", known, err)
	}
	later, err := Decode[Item]([]byte(`{"type":"hologram","id":"i","depth":3}`))
	if err != nil || later.Body != nil || later.Malformed || later.Type != "hologram" || string(later.Raw) != `{"type":"hologram","id":"i","depth":3}` {
		t.Errorf("%+v, %v", later, err)
	}
	malformed, err := Decode[Item]([]byte(`{"type":"agentMessage","id":"i","text":7}`))
	if err != nil || malformed.Body != nil || !malformed.Malformed {
		t.Errorf("%+v, %v", malformed, err)
	}
	for _, wire := range []string{`{"type":"agentMessage","text":"x"}`, `{"id":"i"}`, `{"id":"","type":"x"}`, `{"id":7,"type":"x"}`, `"x"`, `null`} {
		if _, err := DecodeNotification("item/started", []byte(`{"threadId":"t","turnId":"u","startedAtMs":1,"item":`+wire+`}`)); err == nil {
			t.Errorf("%s is an item", wire)
		}
	}
	for name, typ := range ItemTypes() {
		if got := itemBodies[name]().itemType(); got != name {
			t.Errorf("%s is kept in %v of %s", name, typ, got)
		}
	}
	page := `{"data":[{"turnId":"u","item":{"type":"plan","id":"a","text":null}},{"turnId":"u","item":{"type":"plan","id":"b","text":"p"}}]}`
	var result ItemsListResult
	if err := DecodeResult([]byte(page), &result); err != nil || !result.Data[0].Item.Malformed || result.Data[1].Item.Body.(*Plan).Text != "p" {
		t.Errorf("a page with one malformed item: %+v, %v", result, err)
	}
}

// proves R-CON-07
func TestUnusedNotificationsAreIgnoredByName(t *testing.T) {
	for name, known := range map[string]bool{"remoteControl/status/changed": true, "thread/search/partial": false, "Turn/started": false, "": false} {
		n, err := DecodeNotification(name, []byte(`{not json`))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		o, ok := n.(*Other)
		if !ok || o.Known != known || o.Method() != name || o.Scope() != (Scope{}) {
			t.Errorf("%s: %+v", name, n)
		}
	}
}

// proves R-CONN-08
func TestReasoningDeltasCarryTheirIndex(t *testing.T) {
	for method, member := range map[string]string{"item/reasoning/textDelta": "contentIndex", "item/reasoning/summaryTextDelta": "summaryIndex"} {
		payload := `{"threadId":"t","turnId":"u","itemId":"i","delta":"d","` + member + `":2}`
		n, err := DecodeNotification(method, []byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		if d := n.(*ItemDelta); d.Index != 2 || d.Method() != method || d.Delta != "d" || d.Scope() != (Scope{"t", "u", "i"}) {
			t.Errorf("%s: %+v", method, d)
		}
		if _, err := DecodeNotification(method, without(t, payload, member, nil)); err == nil {
			t.Errorf("%s without %s", method, member)
		}
	}
}

// proves R-PRI-01
func TestBound(t *testing.T) {
	for _, test := range []struct {
		s            string
		limit        int
		head, tail   string
		lHead, lTail int
	}{
		{"abc", 3, "abc", "abc", 0, 0},
		{"abcd", 3, "abc", "bcd", 1, 1},
		{"aあb", 3, "a", "b", 4, 4},
		{"あ", 2, "", "", 3, 3},
		{"abc", 0, "", "", 3, 3},
		{"abc", -1, "", "", 3, 3},
	} {
		if got, left := Bound(test.s, test.limit); got != test.head || left != test.lHead {
			t.Errorf("Bound(%q, %d) = %q, %d", test.s, test.limit, got, left)
		}
		if got, left := BoundTail(test.s, test.limit); got != test.tail || left != test.lTail {
			t.Errorf("BoundTail(%q, %d) = %q, %d", test.s, test.limit, got, left)
		}
	}
}

// proves R-REC-07
func TestUserMessageCarriesItsClientID(t *testing.T) {
	text, err := Encode(TurnStartParams{ThreadID: "t", Input: []UserInput{TextInput("hi"), LocalImageInput("/a"), SkillInput("s", "p")}, ClientUserMessageID: "c"})
	if want := `{"threadId":"t","input":[{"type":"text","text":"hi"},{"type":"localImage","path":"/a"},{"type":"skill","path":"p","name":"s"}],"clientUserMessageId":"c"}`; err != nil || !jsonEqual(string(text), want) {
		t.Errorf("got %s, %v", text, err)
	}
	item, err := Decode[Item]([]byte(`{"type":"userMessage","id":"i","clientId":"c","content":[{"type":"text","text":"hi"},{"type":"smell","scent":"x"}]}`))
	if err != nil || item.Malformed || item.Body.(*UserMessage).ClientID != "c" || item.Body.(*UserMessage).Content[1].Type != "smell" {
		t.Errorf("%+v, %v", item, err)
	}
	if _, err := json.Marshal(item); err != nil {
		t.Error(err)
	}
}
