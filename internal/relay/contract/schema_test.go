package contract

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/relay/codex"
	"sekisho/internal/strictjson"
)

// bundle makes a generator's bundle with one request, one server request and one notification.
func bundle(t testing.TB, types string) []byte {
	t.Helper()
	method := func(name, params string) string {
		return `{"oneOf":[{"type":"object","required":["method"],"properties":{"method":{"type":"string","enum":["` + name + `"]},"params":` + params + `}}]}`
	}
	return []byte(`{"$schema":"x","title":"T","type":"object","definitions":{
		"ClientRequest":` + method("a/read", `{"$ref":"#/definitions/v2/AReadParams"}`) + `,
		"ServerRequest":` + method("b/ask", `{"$ref":"#/definitions/BAskParams"}`) + `,
		"ServerNotification":` + method("c/done", `{"$ref":"#/definitions/v2/CDone"}`) + `,
		"ClientNotification":` + method("initialized", `{"type":"null"}`) + `,
		"BAskParams":{"type":"object"},"v2":{` + types + `}}}`)
}

func parse(t testing.TB, types string) *Schema {
	t.Helper()
	s, err := ParseSchema(bundle(t, types))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const plainTypes = `"AReadParams":{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"mode":{"anyOf":[{"$ref":"#/definitions/v2/Mode"},{"type":"null"}]}}},
	"Mode":{"description":"D","enum":["x","y"],"type":"string"},
	"AReadResponse":{"type":"object","properties":{"n":{"type":["integer","null"],"format":"int64"}},"additionalProperties":false},
	"CDone":{"oneOf":[{"type":"object","required":["type"],"properties":{"type":{"enum":["one"],"type":"string"}}},{"type":"object","required":["type","v"],"properties":{"type":{"enum":["two"],"type":"string"},"v":{"type":"array","items":{"type":"string"}}}}]}`

// proves R-CON-02
func TestCompareFindsEachKindOfDifference(t *testing.T) {
	for _, test := range []struct {
		old, new string // in plainTypes
		want     []string
	}{
		{`"x"`, `"x"`, nil},
		{`"description":"D","enum":["x","y"]`, `"enum":["y","x"],"description":"other words"`, nil},
		{`"required":["id"]`, `"required":["id","mode"]`, []string{"~ AReadParams {kinds=object required=id} -> {kinds=object required=id,mode}"}},
		{`"id":{"type":"string"}`, `"id":{"type":["string","null"]}`, []string{"~ AReadParams.id {kinds=string} -> {kinds=null,string}"}},
		{`["x","y"]`, `["x","y","z"]`, []string{"~ Mode {kinds=string enum=x,y} -> {kinds=string enum=x,y,z}"}},
		{`,"additionalProperties":false`, ``, []string{"~ AReadResponse {kinds=object additionalProperties=false} -> {kinds=object}"}},
		{`"format":"int64"`, `"format":"uint64"`, []string{"~ AReadResponse.n {kinds=integer,null format=int64} -> {kinds=integer,null format=uint64}"}},
		{`"properties":{"n":`, `"properties":{"m":true,"n":`, []string{"+ AReadResponse.m {any=true}"}},
		{`"items":{"type":"string"}`, `"items":{"type":"number"}`, []string{"~ CDone|two.v[] {kinds=string} -> {kinds=number}"}},
		{`["two"]`, `["three"]`, []string{"+ CDone|three {kinds=object required=type,v}", "+ CDone|three.type {kinds=string enum=three}", "+ CDone|three.v {kinds=array}", "+ CDone|three.v[] {kinds=string}",
			"- CDone|two {kinds=object required=type,v}", "- CDone|two.type {kinds=string enum=two}", "- CDone|two.v {kinds=array}", "- CDone|two.v[] {kinds=string}"}},
		{`"Mode":{`, `"Extra":{"type":"object"},"Mode":{`, []string{"+ type Extra"}},
	} {
		changed := strings.Replace(plainTypes, test.old, test.new, 1)
		if test.old != test.new && changed == plainTypes {
			t.Fatalf("%s is not in the types", test.old)
		}
		if diff := cmp.Diff(test.want, Compare(parse(t, plainTypes), parse(t, changed))); diff != "" {
			t.Errorf("%s: %s", test.new, diff)
		}
	}
	renamed := strings.ReplaceAll(string(bundle(t, plainTypes)), "b/ask", "b/order")
	s, err := ParseSchema([]byte(renamed))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"- server request b/ask", "+ server request b/order"}, Compare(parse(t, plainTypes), s)); diff != "" {
		t.Error(diff)
	}
}

// proves R-CON-06
func TestFingerprintFollowsTypes(t *testing.T) {
	a, b := parse(t, plainTypes), parse(t, strings.Replace(plainTypes, `["x","y"]`, `["x"]`, 1))
	if a.fingerprint(Call, "a/read") == b.fingerprint(Call, "a/read") {
		t.Error("a change of a type that the params refer to is not seen")
	}
	if a.fingerprint(Notification, "c/done") != b.fingerprint(Notification, "c/done") {
		t.Error("a change elsewhere changes a method")
	}
	c := parse(t, strings.Replace(plainTypes, `"format":"int64"`, `"format":"int32"`, 1))
	if a.fingerprint(Call, "a/read") == c.fingerprint(Call, "a/read") {
		t.Error("a change of the result is not seen")
	}
}

func TestBundlesThatAreNone(t *testing.T) {
	for _, data := range []string{``, `[]`, `{}`, `{"definitions":{}}`, `{"definitions":{"v2":[]}}`, `{"definitions":{"v2":{}}}`, `{"definitions":{"v2":{},"ClientRequest":{"oneOf":[{}]}}}`, strings.Repeat("[", 1000)} {
		if _, err := ParseSchema([]byte(data)); err == nil {
			t.Errorf("%.60s is a bundle", data)
		}
	}
	endless := parse(t, `"A":{"$ref":"#/definitions/v2/A"},"AReadParams":{"$ref":"#/definitions/v2/A"}`)
	if err := NewValidator(endless).Params(Call, "a/read", []byte(`{}`)); err == nil {
		t.Error("a type that is itself says yes")
	}
	endless.fingerprint(Call, "a/read")
}

// proves R-CON-03
func TestValidator(t *testing.T) {
	v := NewValidator(parse(t, plainTypes))
	for _, test := range []struct {
		json string
		ok   bool
	}{
		{`{"id":"x"}`, true}, {`{"id":"x","mode":"y","more":1}`, true}, {`{"id":"x","mode":null}`, true},
		{`{}`, false}, {`{"id":1}`, false}, {`{"id":null}`, false}, {`{"id":"x","mode":"z"}`, false}, {`null`, false}, {``, false}, {`{"id":"x"`, false},
	} {
		if err := v.Params(Call, "a/read", []byte(test.json)); (err == nil) != test.ok || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("params %s: %v", test.json, err)
		}
	}
	for _, test := range []struct {
		json string
		ok   bool
	}{{`{"n":3}`, true}, {`{"n":null}`, true}, {`{}`, true}, {`{"n":3.5}`, false}, {`{"m":1}`, false}} {
		if err := v.Result(Call, "a/read", []byte(test.json)); (err == nil) != test.ok {
			t.Errorf("result %s: %v", test.json, err)
		}
	}
	for _, test := range []struct {
		json string
		ok   bool
	}{{`{"type":"one"}`, true}, {`{"type":"two","v":["a"]}`, true}, {`{"type":"two"}`, false}, {`{"type":"two","v":[1]}`, false}, {`{"type":"three"}`, false}} {
		if err := v.Params(Notification, "c/done", []byte(test.json)); (err == nil) != test.ok {
			t.Errorf("notification %s: %v", test.json, err)
		}
	}
	for _, err := range []error{v.Params(Call, "b/ask", nil), v.Params(Notification, "a/read", nil), v.Result(ServerRequest, "a/read", nil)} {
		if !errors.Is(err, ErrNoMethod) {
			t.Errorf("got %v, want no method", err)
		}
	}
}

// The comparison of Go types with a contract finds each way in which they can part.
//
// proves R-CON-06, R-CON-03
func TestFitFindsEachMisfit(t *testing.T) {
	turn := `{"type":"object","required":["threadId","turnId","itemId","startedAtMs"],"properties":{"threadId":{"type":"string"},"turnId":{"type":"string"},"itemId":{"type":"string"},
		"startedAtMs":{"type":"integer"},"kind":{"enum":["command","writeStdin"],"type":"string"},"availableDecisions":{"type":["array","null"],"items":{"oneOf":[{"enum":["accept"],"type":"string"}]}},
		"commandActions":{"type":"array","items":{"oneOf":[{"type":"object","required":["type","command"],"properties":{"type":{"enum":["unknown"]},"command":{"type":"string"}}}]}},
		"networkApprovalContext":{"anyOf":[{"type":"object","required":["host","protocol"],"properties":{"host":{"type":"string"},"protocol":{"enum":["http"],"type":"string"}}},{"type":"null"}]}}}`
	for _, test := range []struct {
		old, new string
		want     []string
	}{
		{``, ``, nil},
		{`"threadId":{"type":"string"}`, `"extra":{"type":"string"},"threadId":{"type":"string"}`, nil},
		{`"required":["threadId",`, `"required":[`, []string{"p.threadId: not_required"}},
		{`"turnId":{"type":"string"}`, `"turnId":{"type":["string","null"]}`, []string{"p.turnId: null"}},
		{`"itemId":{"type":"string"}`, `"itemId":{"type":["string","integer"]}`, []string{"p.itemId: type integer"}},
		{`"writeStdin"`, `"writeStdin","humanCommand"`, []string{"p.kind: unknown_value humanCommand"}},
		{`{"enum":["command","writeStdin"],"type":"string"}`, `{"type":"string"}`, []string{"p.kind: open_values"}},
		{`["accept"]`, `["accept","acceptTwice"]`, []string{"p.availableDecisions[]: unknown_decision acceptTwice"}},
		{`["type","command"]`, `["type"]`, []string{"p.commandActions[]|unknown.command: not_required"}},
		{`["http"]`, `["http","gopher"]`, []string{"p.networkApprovalContext.protocol: unknown_value gopher"}},
		{`["unknown"]`, `["unheardOf"]`, nil}, // shown by its name: the union is open
	} {
		changed := strings.Replace(turn, test.old, test.new, 1)
		f := &fitter{s: parse(t, `"X":{}`)}
		f.read(reflect.TypeFor[codex.CommandApproval](), tree(t, changed), "p", false)
		var got []string
		for _, p := range f.problems {
			got = append(got, p.String())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.new, diff)
		}
	}
	params := `{"type":"object","required":["threadId","input"],"properties":{"threadId":{"type":"string"},"clientUserMessageId":{"type":["string","null"]},"input":{"type":"array","items":{"oneOf":[
		{"type":"object","required":["type","text"],"properties":{"type":{"enum":["text"]},"text":{"type":"string"}}}]}},"expectedTurnId":{"type":"string"}}}`
	for _, test := range []struct {
		old, new, want string
	}{
		{`"required":["threadId",`, `"required":["threadId","clientUserMessageId",`, "p.clientUserMessageId: may_omit"},
		{`"required":["threadId",`, `"required":["threadId","consent",`, "p.consent: may_omit"},
		{`"expectedTurnId":{"type":"string"}`, `"expectedTurnId":{"type":"integer"}`, "p.expectedTurnId: type_refused string"},
		{`"clientUserMessageId":{`, `"messageId":{`, "p.clientUserMessageId: absent"},
		{`["type","text"]`, `["type","text","tone"]`, "p.input[]|text.tone: may_omit"},
	} {
		f := &fitter{s: parse(t, `"X":{}`)}
		f.write(reflect.TypeFor[codex.TurnSteerParams](), tree(t, strings.Replace(params, test.old, test.new, 1)), "p")
		if !slices.ContainsFunc(f.problems, func(p Problem) bool { return p.String() == test.want }) {
			t.Errorf("%s: got %v, want %s", test.new, f.problems, test.want)
		}
	}
}

func tree(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := strictjson.UnmarshalOpen([]byte(text), 1<<20, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// proves R-CON-02, R-CON-05
func TestCheckReportsBothWays(t *testing.T) {
	o := &Outcome{}
	o.unexpected("standard", []string{"same", "+ new"}, []string{"same", "- old"})
	o.requests(parse(t, plainTypes))
	if want := []string{"standard: not recorded: + new", "standard: recorded, but gone: - old", "server request: not recorded: b/ask"}; !slices.Equal(o.Problems[:3], want) || len(o.Problems) != 3+11 {
		t.Errorf("problems %q", o.Problems)
	}
	o = &Outcome{}
	o.fits(codex.Regression, parse(t, plainTypes), false)
	if !slices.Contains(o.Problems, "0.155.1: no request turn/start") || slices.ContainsFunc(o.Problems, func(p string) bool { return strings.Contains(p, "gatewayOAuth") }) {
		t.Errorf("problems %q", o.Problems)
	}
	for _, surface := range []codex.Surface{codex.Standard, codex.Experimental} {
		lines := Expected(surface)
		for _, want := range []string{"+ request account/gatewayOAuth/read", "+ request account/gatewayOAuth/login", "+ request account/gatewayOAuth/cancel",
			"+ notification account/gatewayOAuth/changed", "- request thread/rollback"} {
			if !slices.Contains(lines, want) {
				t.Errorf("%s: %s is not recorded", surface, want)
			}
		}
		if slices.Contains(lines, "+ request rollout/compress") != (surface == codex.Experimental) {
			t.Errorf("%s: rollout/compress", surface)
		}
	}
}
