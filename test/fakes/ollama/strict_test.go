package scriptmodel

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

const anyScript = `{"model":"demo","capabilities":["completion","tools","thinking","vision"],"extra_options":["draft_num_predict"],"rules":[{"reply":{"content":"ok"}}]}`

// What Ollama would accept in silence although the client must not send it is loud here.
//
// proves A-OLL-01, A-OLL-02, A-OLL-04, A-OLL-08
func TestStrictChecks(t *testing.T) {
	exchange := []any{user("go"), calls("dir"), result("dir", "x")}
	thinking := func(m obj) obj { return m.with("thinking", "t") }
	good := request(exchange...).with("tools", []any{tool("dir")})
	for name, tc := range map[string]struct {
		body any
		want string // "" = accepted
	}{
		"good":                     {good, ""},
		"good with reminder":       {good.with("messages", append(exchange[:3:3], user("reminder"))), ""},
		"extra option":             {good.with("options", obj{"draft_num_predict": 1}), ""},
		"ignored option":           {good.with("options", obj{"tfs_z": 1}), ""},
		"thinking continued":       {good.with("messages", []any{user("go"), thinking(calls("dir")), result("dir", "x"), user("reminder")}), ""},
		"image":                    {good.with("messages", []any{user("go").with("images", []string{"QUJD"})}), ""},
		"truncate":                 {good.with("truncate", nil), "truncate"},
		"truncate true":            {good.with("truncate", true), "truncate"},
		"shift":                    {good.with("shift", nil), "shift"},
		"think":                    {good.with("think", nil), "think"},
		"no messages":              {good.with("messages", []any{}), "without messages"},
		"format and tools":         {good.with("format", "json"), "format and tools"},
		"unknown option":           {good.with("options", obj{"foo": 1}), `unknown option "foo"`},
		"tool without properties":  {good.with("tools", []any{obj{"type": "function", "function": obj{"name": "x"}}}), "properties"},
		"open call":                {good.with("messages", exchange[:2]), "no result"},
		"open call before user":    {good.with("messages", []any{calls("dir"), user("x")}), "no result"},
		"orphan result":            {good.with("messages", []any{user("x"), result("dir", "x")}), "without a call"},
		"result of another":        {good.with("messages", []any{calls("dir"), result("file_read", "x")}), "another call"},
		"call without id":          {good.with("messages", []any{obj{"role": "assistant", "tool_calls": []any{obj{"function": obj{"name": "dir", "arguments": obj{}}}}}}), "without id"},
		"call without arguments":   {good.with("messages", []any{obj{"role": "assistant", "tool_calls": []any{obj{"id": "1", "function": obj{"name": "dir"}}}}}), "arguments"},
		"role":                     {good.with("messages", []any{obj{"role": "wizard", "content": "x"}}), "unknown role"},
		"thinking without a call":  {good.with("messages", []any{thinking(obj{"role": "assistant", "content": "x"}), user("y")}), "reasoning"},
		"thinking of a past round": {good.with("messages", []any{thinking(calls("dir")), result("dir", "x"), obj{"role": "assistant", "content": "x"}, user("y")}), "reasoning"},
		"repeated option":          {[]byte(`{"model":"demo","messages":[{"role":"user","content":"x"}],"stream":false,"truncate":false,"shift":false,"think":false,"options":{"seed":1,"seed":2}}`), "strict JSON"},
	} {
		v := parse(t, anyScript)
		status, reply := post(t, v, tc.body)
		failures := v.Failures()
		if tc.want == "" && (status != http.StatusOK || len(failures) != 0) {
			t.Errorf("%s: status %d, %q", name, status, failures)
		}
		if tc.want != "" && (status != 599 || len(failures) != 1 || !strings.Contains(failures[0], tc.want) || !strings.Contains(reply["error"].(string), tc.want)) {
			t.Errorf("%s: status %d, %q, %v", name, status, failures, reply)
		}
	}
}

// proves A-OLL-01
func TestForgottenStreamFalseStreams(t *testing.T) {
	for _, stream := range []any{nil, true} {
		v := parse(t, anyScript)
		status, reply := post(t, v, request(user("x")).with("stream", stream))
		if status != http.StatusOK || reply != nil || len(v.Failures()) != 1 {
			t.Errorf("%v: status %d, one JSON value %v, failures %q", stream, status, reply, v.Failures())
		}
	}
}

// proves A-OLL-08
func TestWindowMayNotChange(t *testing.T) {
	v := parse(t, anyScript)
	for i, n := range []any{8192, 8192, 4096} {
		status, _ := post(t, v, request(user("x")).with("options", obj{"num_ctx": n}))
		if want := map[bool]int{true: 599, false: 200}[i == 2]; status != want {
			t.Errorf("call %d: status %d", i, status)
		}
	}
	if f := v.Failures(); len(f) != 1 || !strings.Contains(f[0], "num_ctx changed") {
		t.Errorf("failures %q", f)
	}
}

// proves A-OLL-05
func TestImagesNeedVision(t *testing.T) {
	v := parse(t, strings.Replace(anyScript, `,"vision"`, ``, 1))
	status, _ := post(t, v, request(user("x").with("images", []string{"QUJD"})))
	if f := v.Failures(); status != 599 || len(f) != 1 || !strings.Contains(f[0], "vision") {
		t.Errorf("status %d, %q", status, f)
	}
}

// A string as echoed arguments is Ollama's own 400.
//
// proves A-OLL-08
func TestEchoedStringArguments(t *testing.T) {
	m := calls("dir")
	m["tool_calls"].([]any)[0].(obj)["function"].(obj)["arguments"] = "{}"
	status, reply := post(t, parse(t, anyScript), request(m, result("dir", "x")))
	if status != http.StatusBadRequest || !strings.Contains(reply["error"].(string), "closing '}'") {
		t.Errorf("status %d, %v", status, reply)
	}
}

func TestUnmatchedRequestIsLoud(t *testing.T) {
	v := parse(t, `{"model":"demo","rules":[{"when":{"last_user_contains":"other"},"reply":{"content":"x"}}]}`)
	status, reply := post(t, v, request(user("rename a.txt")))
	if f := v.Failures(); status != 599 || len(f) != 1 || !strings.Contains(f[0], "rename a.txt") || !strings.Contains(reply["error"].(string), "no rule matches") {
		t.Errorf("status %d, %v, %q", status, reply, f)
	}
	if got := v.Received(); len(got) != 1 || got[0].Rule != "" || !json.Valid(got[0].Body) {
		t.Errorf("received %+v", got)
	}
}
