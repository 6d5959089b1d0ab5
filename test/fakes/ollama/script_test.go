package scriptmodel

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const yamlScript = `
model: demo:latest
capabilities: [completion, tools]
context_length: 32768
rules:
  - name: plan
    when: {format: schema, phase: plan, last_user_contains: rename}
    once: true
    reply: {content: {tasks: [{id: t1}]}}
  - name: step
    when: {tools_include: file_read, turn: 1}
    reply:
      tool_calls: [{name: file_read, arguments: {path: a.txt, start: 0}}]
otherwise: fail
`

const jsonScript = `{"model":"demo:latest","capabilities":["completion","tools"],"context_length":32768,"rules":[
 {"name":"plan","when":{"format":"schema","phase":"plan","last_user_contains":"rename"},"once":true,"reply":{"content":{"tasks":[{"id":"t1"}]}}},
 {"name":"step","when":{"tools_include":["file_read"],"turn":1},"reply":{"tool_calls":[{"name":"file_read","arguments":{"path":"a.txt","start":0}}]}}],
 "otherwise":"fail"}`

func TestBothNotationsAgree(t *testing.T) {
	y, err := Parse([]byte(yamlScript))
	if err != nil {
		t.Fatal(err)
	}
	j, err := Parse([]byte(jsonScript))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(j, y, cmpopts.IgnoreUnexported(Rule{})); d != "" {
		t.Error(d)
	}
}

func TestScriptErrorsAreHelpful(t *testing.T) {
	rule := func(text string) string { return `{"model":"m","rules":[{"name":"r",` + text + `}]}` }
	for script, want := range map[string]string{
		``:                                          "empty",
		`{"rules":[]}`:                              "model",
		`{"model":"m","rules":[]}`:                  "at least one",
		`{"model":"m","rulez":[]}`:                  "rulez",
		`{"model":"m","model":"n","rules":[]}`:      "duplicate",
		rule(`"wen":{}`):                            "wen",
		rule(`"when":{"trun":1}`):                   "trun",
		rule(`"when":{"format":"xml"}`):             "when.format",
		rule(`"when":{"phase":"planning"}`):         "when.phase",
		rule(`"when":{"last_role":"bot"}`):          "when.last_role",
		rule(`"once":true,"times":2`):               "exclude",
		rule(`"times":-1`):                          "negative",
		rule(`"scope":"global"`):                    "scope",
		rule(`"reply":{"content":"{{user.path}}"}`): "{{user.path}}",
		rule(`"reply":{"content":"x"},"capture":{"model":"x"}`):                       "capture",
		rule(`"reply":{"content":"x"},"capture":{"user":"("}`):                        "capture.user",
		rule(`"drop_connection":"later"`):                                             "drop_connection",
		rule(`"drop_connection":"half_body","reply":{"drop_connection":"half_body"}`): "twice",
		`{"model":"m","rules":[{"when":{"tools_include":7}}]}`:                        "list of strings",
		rule(`"reply":{"status":99}`):                                                 "status",
		rule(`"reply":{"delay_ms":-1}`):                                               "delay_ms",
		`{"model":"m","otherwise":"echo","rules":[{}]}`:                               "otherwise",
		"model: m\nrules:\n  - name: a\n    name: b\n":                                "line 4",
		"model: m\nrules: &a\n  - {}\nx: *a\n":                                        "line",
		"model: m\n? [a]\n: b\n":                                                      "line",
	} {
		_, err := Parse([]byte(script))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want it to name %q", script, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(yamlScript))
	f.Add([]byte(jsonScript))
	f.Add([]byte(`{"model":"demo","rules":[{"reply":{"content":"x","drop_connection":"half_body","gzip":true,"headers":{"A":"b"}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			return
		}
		for i := range s.Rules {
			s.Rules[i].Reply.DelayMS, s.Rules[i].Reply.PadTo = 0, 0
		}
		post(t, New(s), request(user("x"))) // whatever was accepted can be served
	})
}
