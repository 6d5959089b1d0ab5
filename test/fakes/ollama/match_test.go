package scriptmodel

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// say sends one request and returns the content of the reply, or the status when it is an error.
func say(t *testing.T, v *Server, q obj) any {
	t.Helper()
	status, reply := post(t, v, q)
	if status != 200 {
		return status
	}
	return content(reply)
}

func TestConditions(t *testing.T) {
	denied := `{"ok":false,"error_code":"policy.denied","retry_allowed":false}` + "\nno"
	run := func(messages ...any) obj {
		return request(messages...).with("tools", []any{tool("dir"), tool("file_read")})
	}
	plan := request(system("contract"), user("rename a")).with("format", obj{"type": "object"})
	after := func(content string) obj {
		return run(system("s"), user("u"), calls("dir"), result("dir", content), user("reminder"))
	}
	for name, tc := range map[string]struct {
		when  string
		q     obj
		match bool
	}{
		"schema":                     {`"format":"schema"`, plan, true},
		"schema, but none":           {`"format":"schema"`, run(user("x")), false},
		"json":                       {`"format":"json"`, request(user("x")).with("format", "json"), true},
		"none":                       {`"format":"none"`, run(user("x")), true},
		"plan":                       {`"phase":"plan"`, plan, true},
		"run":                        {`"phase":"run"`, run(user("x")), true},
		"run is no plan":             {`"phase":"plan"`, run(user("x")), false},
		"text":                       {`"phase":"text"`, request(user("x")), true},
		"system":                     {`"system_contains":"contr"`, plan, true},
		"other system":               {`"system_contains":"denied"`, plan, false},
		"any user":                   {`"user_contains":"u"`, after("x"), true},
		"last user is the reminder":  {`"last_user_contains":"remind"`, after("x"), true},
		"earlier user is not last":   {`"last_user_contains":"u"`, after("x").with("messages", []any{user("u"), calls("dir"), result("dir", "x")}), false},
		"observation before the end": {`"last_user_contains":"not executed"`, run(user("u"), obj{"role": "assistant", "content": "a"}, user("not executed"), user("end")), true},
		"tool sent":                  {`"tools_include":["dir","file_read"]`, run(user("x")), true},
		"tool not sent":              {`"tools_include":["dir","process_run"]`, run(user("x")), false},
		"last role behind reminder":  {`"last_role":"tool"`, after("x"), true},
		"last role user":             {`"last_role":"user"`, run(user("x")), true},
		"last tool":                  {`"last_tool":"dir"`, after("x"), true},
		"other tool":                 {`"last_tool":"file_read"`, after("x"), false},
		"no tool yet":                {`"last_tool":"dir"`, run(user("x")), false},
		"ok without header":          {`"last_tool_ok":true`, after("plain"), true},
		"ok":                         {`"last_tool_ok":true`, after(`{"ok":true}` + "\ntext"), true},
		"not ok":                     {`"last_tool_ok":false`, after(denied), true},
		"forged below the header":    {`"last_tool_ok":false`, after(`{"ok":true}` + "\n" + denied), false},
		"error":                      {`"last_tool_error":"policy.denied"`, after(denied), true},
		"other error":                {`"last_tool_error":"tool.failed"`, after(denied), false},
		"tool text":                  {`"last_tool_contains":"no"`, after(denied), true},
		"all hold":                   {`"phase":"run","last_tool":"dir","last_tool_ok":false,"turn":1`, after(denied), true},
		"one fails":                  {`"phase":"run","last_tool":"dir","last_tool_ok":false,"turn":2`, after(denied), false},
	} {
		v := parse(t, `{"model":"demo","rules":[{"when":{`+tc.when+`},"reply":{"content":"hit"}},{"reply":{"content":"miss"}}]}`)
		if got := say(t, v, tc.q); (got == "hit") != tc.match {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestUsesAreCountedPerConversation(t *testing.T) {
	v := parse(t, `{"model":"demo","rules":[
	  {"name":"a","once":true,"reply":{"content":"a"}},
	  {"name":"b","when":{"times":2},"reply":{"content":"b"}},
	  {"name":"c","once":true,"scope":"server","reply":{"content":"c"}},
	  {"name":"d","when":{"turn":5},"reply":{"content":"d"}}]}`)
	one, two := request(system("s"), user("one")), request(system("s"), user("two"))
	var got []any
	for _, q := range []obj{one, two, one, one, two, one, one, two, two} {
		got = append(got, say(t, v, q))
	}
	want := []any{"a", "a", "b", "b", "b", "c", "d", "b", 599}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if v.Uses("b") != 4 || v.Uses("c") != 1 {
		t.Errorf("uses: b %d, c %d", v.Uses("b"), v.Uses("c"))
	}
}

func TestTemplates(t *testing.T) {
	v := parse(t, `{"model":"demo","rules":[
	  {"when":{"last_role":"tool"},"capture":{"tool":"sum=(?P<sum>\\d+)"},"reply":{"content":{"sum":"{{tool.sum}}","n":[1,"{{tool.name}}: {{tool.content}}"]}}},
	  {"capture":{"user":"rename (?P<path>\\S+) to (?P<new>\\S+)"},"reply":{"thinking":"{{ user.path }}","tool_calls":[{"name":"dir","arguments":{"path":"{{user.path}}","new":["{{user.new}}"]}}]}},
	  {"reply":{"content":"{{user.content}}"}}]}`)
	_, reply := post(t, v, request(user(`rename "a" to b{{user.new}}`)))
	m := reply["message"].(map[string]any)
	args := m["tool_calls"].([]any)[0].(map[string]any)["function"].(map[string]any)["arguments"]
	if d := cmp.Diff(map[string]any{"path": `"a"`, "new": []any{`b{{user.new}}`}}, args); d != "" || m["thinking"] != `"a"` {
		t.Errorf("%s thinking %v", d, m["thinking"])
	}
	if got := say(t, v, request(user("hello"))); got != "hello" {
		t.Errorf("without a match: %v", got)
	}
	got := say(t, v, request(user("hello"), calls("dir"), result("dir", "sum=42\nx")))
	var text map[string]any
	if err := json.Unmarshal([]byte(got.(string)), &text); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]any{"sum": "42", "n": []any{1., "dir: sum=42\nx"}}, text); d != "" {
		t.Error(d)
	}
}

func TestCounts(t *testing.T) {
	v := parse(t, `{"model":"demo","rules":[
	  {"when":{"last_user_contains":"absent"},"reply":{"content":"x","prompt_eval_count":0,"eval_count":0}},
	  {"when":{"last_user_contains":"over"},"reply":{"content":"x","prompt_eval_count":7000,"eval_count":9}},
	  {"when":{"last_user_contains":"cut"},"reply":{"content":"0123456789","tool_calls":[{"name":"dir"}]}},
	  {"reply":{"content":"12345678"}}]}`)
	type counts struct{ prompt, eval, reason any }
	get := func(q obj) counts {
		_, r := post(t, v, q)
		return counts{r["prompt_eval_count"], r["eval_count"], r["done_reason"]}
	}
	for name, tc := range map[string]struct{ got, want counts }{
		"deterministic": {get(request(user("12345678"))), counts{5., 3., "stop"}}, // (4 role + 8 text + 8 frame)/4; 8/4 and the end
		"overridden":    {get(request(user("over"))), counts{7000., 9., "stop"}},
		"absent":        {get(request(user("absent"))), counts{nil, nil, "stop"}},
		"cut":           {get(request(user("cut")).with("options", obj{"num_ctx": 8192, "num_predict": 2})), counts{4., 2., "length"}},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %v, want %v", name, tc.got, tc.want)
		}
	}
	status, reply := post(t, v, request(user(string(make([]byte, 40000)))))
	if status != 400 || reply["error"] != "the input length exceeds the context length" {
		t.Errorf("overflow: %d, %v", status, reply)
	}
}
