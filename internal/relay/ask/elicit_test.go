package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/relay/codex"
)

const form = `{"threadId":"t","turnId":"u","serverName":"srv","mode":"form","_meta":null,"message":"Please fill","requestedSchema":{"type":"object","required":["name","age"],"properties":{
	"age":{"type":"integer","minimum":0,"maximum":150},"agree":{"type":"boolean","default":true},"color":{"type":"string","enum":["red","green"],"default":"green"},
	"email":{"type":"string","format":"email"},"name":{"type":"string","title":"Name","minLength":2,"maxLength":4},"opts":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"},{"const":"y","title":"Y"}]},"default":["y"]},
	"score":{"type":"number","default":"high"},"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},
	"tags":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b","c"]}},"when":{"type":"string","format":"date-time"},"day":{"type":"string","format":"date"},"link":{"type":"string","format":"uri"}}}}`

// Fields of form by their ids: required ones first, then by name.
var formIDs = strings.Fields("name age agree color day email link opts score size tags when")

// proves R-INT-04
func TestFormValidation(t *testing.T) {
	base := map[string]string{"name": `"Bob"`, "age": `3`}
	for name, tc := range map[string]struct{ field, value, want string }{
		"minimal":           {"", "", `{"age":3,"name":"Bob"}`},
		"required":          {"age", "", "answer.invalid.required"},
		"null":              {"age", "null", "answer.invalid.type"},
		"fraction":          {"age", "3.5", "answer.invalid.type"},
		"whole fraction":    {"age", "3.0", `{"age":3,"name":"Bob"}`},
		"as text":           {"age", `"3"`, "answer.invalid.type"},
		"below":             {"age", "-1", "answer.invalid.range"},
		"above":             {"age", "151", "answer.invalid.range"},
		"infinite":          {"score", "1e999", "answer.invalid.type"},
		"number":            {"score", "1.25", `{"age":3,"name":"Bob","score":1.25}`},
		"short":             {"name", `"B"`, "answer.invalid.length"},
		"long":              {"name", `"Bobby"`, "answer.invalid.length"},
		"characters":        {"name", `"日本語字"`, `{"age":3,"name":"日本語字"}`},
		"boolean":           {"agree", "false", `{"age":3,"agree":false,"name":"Bob"}`},
		"boolean as text":   {"agree", `"true"`, "answer.invalid.type"},
		"select":            {"color", `"0"`, `{"age":3,"color":"red","name":"Bob"}`},
		"select by value":   {"color", `"red"`, "answer.invalid.choice"},
		"titled select":     {"size", `"1"`, `{"age":3,"name":"Bob","size":"l"}`},
		"multi":             {"tags", `["2","0"]`, `{"age":3,"name":"Bob","tags":["c","a"]}`},
		"too few":           {"tags", `[]`, "answer.invalid.count"},
		"too many":          {"tags", `["0","1","2"]`, "answer.invalid.count"},
		"twice":             {"tags", `["1","1"]`, "answer.invalid.choice"},
		"no such choice":    {"tags", `["7"]`, "answer.invalid.choice"},
		"not a list":        {"tags", `"0"`, "answer.invalid.type"},
		"email":             {"email", `"a@b.org"`, `{"age":3,"email":"a@b.org","name":"Bob"}`},
		"no email":          {"email", `"a@b@c"`, "answer.invalid.format"},
		"date":              {"day", `"2026-02-28"`, `{"age":3,"day":"2026-02-28","name":"Bob"}`},
		"no date":           {"day", `"2026-02-30"`, "answer.invalid.format"},
		"no date-time":      {"when", `"2026-02-28"`, "answer.invalid.format"},
		"uri":               {"link", `"urn:x:y"`, `{"age":3,"link":"urn:x:y","name":"Bob"}`},
		"no uri":            {"link", `"/path"`, "answer.invalid.format"},
		"unknown field":     {"99", `1`, "answer.invalid.not_asked"},
		"field by its name": {"name!", `1`, "answer.invalid.not_asked"},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := New(nil), newWire()
			c := add(t, r, w, request(t, codex.MethodElicitation, form))
			values := map[string]json.RawMessage{}
			for field, v := range base {
				values[fieldID(field)] = json.RawMessage(v)
			}
			if tc.value != "" {
				values[fieldID(tc.field)] = json.RawMessage(tc.value)
			} else {
				delete(values, fieldID(tc.field))
			}
			_, err := r.Answer(context.Background(), me, Answer{Key: c.Key, Choice: "accept", Content: values})
			got := strings.Join(w.frames, "\n")
			if err != nil {
				got = code(err)
			} else {
				tc.want = `{"action":"accept","content":` + tc.want + `}`
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func fieldID(name string) string {
	for i, n := range formIDs {
		if n == name {
			return fmt.Sprint(i)
		}
	}
	return name
}

// proves R-INT-04
func TestFormCard(t *testing.T) {
	r, w := New(nil), newWire()
	c := add(t, r, w, request(t, codex.MethodElicitation, form))
	var got []string
	for i, f := range c.Form.Fields {
		if f.ID != fmt.Sprint(i) || f.Name.Lines[0] != formIDs[i] {
			t.Errorf("field %d is %s %v", i, f.ID, f.Name)
		}
		got = append(got, fmt.Sprintf("%s %v %d %s", f.Kind, f.Required, len(f.Options), f.Default))
	}
	want := []string{"string true 0 ", "integer true 0 ", "boolean false 0 true", `select false 2 "1"`, "string false 0 ", "string false 0 ", "string false 0 ",
		`multiselect false 2 ["1"]`, "number false 0 ", "select false 2 ", "multiselect false 3 ", "string false 0 "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, choice := range []string{"", "yes", "Accept"} {
		if _, err := r.Answer(context.Background(), me, Answer{Key: c.Key, Choice: choice}); code(err) != "answer.invalid.choice" {
			t.Error(choice, err)
		}
	}
	if _, err := r.Answer(context.Background(), me, Answer{Key: c.Key, Choice: "decline", Content: map[string]json.RawMessage{}}); code(err) != "answer.invalid.not_asked" {
		t.Error(err)
	}
	if _, err := r.Answer(context.Background(), me, Answer{Key: c.Key, Choice: "decline"}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{`{"action":"decline","content":null}`}, w.frames); diff != "" {
		t.Error(diff)
	}
}

// report 4
// proves R-INT-04
func TestToolApprovalsAreTheirOwnKind(t *testing.T) {
	meta := func(persist, properties string) string {
		return `{"threadId":"t","turnId":null,"serverName":"srv","mode":"form","message":"Allow?","_meta":{"codex_approval_kind":"mcp_tool_call"` + persist + `,"tool_description":"destructive","tool_params":{"path":"/\u202e"}},"requestedSchema":{"type":"object","properties":{` + properties + `}}}`
	}
	for name, tc := range map[string]struct{ persist, kinds, choice, want string }{
		"once":    {"", "accept decline cancel", "0", `{"action":"accept","content":null}`},
		"both":    {`,"persist":["session","always"]`, "accept acceptSession acceptAlways decline cancel", "2", `{"action":"accept","content":null,"_meta":{"persist":"always"}}`},
		"session": {`,"persist":"session"`, "accept acceptSession decline cancel", "1", `{"action":"accept","content":null,"_meta":{"persist":"session"}}`},
		"unknown": {`,"persist":["forever"]`, "accept decline cancel", "1", `{"action":"decline","content":null}`},
		"cancel":  {"", "accept decline cancel", "2", `{"action":"cancel","content":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := New(nil), newWire()
			c := add(t, r, w, request(t, codex.MethodElicitation, meta(tc.persist, "")))
			if c.Kind != ToolCard || c.Form != nil || kinds(c.Choices) != tc.kinds || c.Tool.Params == nil || strings.Contains(c.Tool.Params.Lines[0], "\u202e") {
				t.Errorf("%s %s %+v", c.Kind, kinds(c.Choices), c.Tool)
			}
			if _, err := r.Answer(context.Background(), me, Answer{Key: c.Key, Choice: tc.choice}); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff([]string{tc.want}, w.frames); diff != "" {
				t.Error(diff)
			}
		})
	}
	r, w := New(nil), newWire()
	if c := add(t, r, w, request(t, codex.MethodElicitation, meta("", `"x":{"type":"string"}`))); c.State != Refused || c.Refusal.Variant != "approval" {
		t.Errorf("%+v", c)
	}
}

// proves R-CON-05, R-INT-07, R-INT-05
func TestOtherModesAreDeclinedWithAReason(t *testing.T) {
	for params, variant := range map[string]string{
		`"mode":"url","message":"Open","url":"https://example.com/canary","elicitationId":"e"`:          "url",
		`"mode":"openai/form","message":"canary","requestedSchema":{"x":1}`:                             "form",
		`"mode":"openaiForm","message":"canary","requestedSchema":null`:                                 "form",
		`"mode":"openai/userVerification","challenge":"canary","description":"canary","title":"canary"`: "verification",
	} {
		data := `{"threadId":"t","serverName":"s\u202ev",` + params + `}`
		r, w := New(nil), newWire()
		body, err := codex.DecodeServerRequest(codex.MethodElicitation, []byte(data))
		if err != nil {
			t.Errorf("%s: %v", data, err)
			continue
		}
		req := request(t, codex.MethodCommandApproval, `{`+scope+`,"command":"ls"}`)
		req.Body, req.Asked = body, nil
		c := add(t, r, w, req)
		shown, _ := json.Marshal(r.Cards(me))
		if c.State != Refused || c.Refusal.Variant != variant || c.Refusal.Target != `s\u{202e}v` || strings.Contains(string(shown), "canary") {
			t.Errorf("%s: %s %+v", params, shown, c.Refusal)
		}
		if diff := cmp.Diff([]string{`{"action":"decline","content":null}`}, w.frames); diff != "" {
			t.Error(diff)
		}
	}
}
