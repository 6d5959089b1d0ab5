package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"go.uber.org/goleak"

	"sekisho/internal/agent/mcpserver/httpd"
	"sekisho/test/goroutines"
)

// hostile is one frame and what both transports must do with it.
type hostile struct {
	frame string
	code  int64  // of the JSON-RPC error; 0: it is served
	id    string // of the answer, as JSON
}

// hostileFrames are what clients and attackers have sent to servers, see docs/cases/mcp-reports.md.
func hostileFrames() map[string]hostile {
	const parse, invalid = jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest
	ping := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }
	nested := func(n int, open, end string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":` + strings.Repeat(open, n) + `1` + strings.Repeat(end, n) + `}}`
	}
	return map[string]hostile{
		"control":                     {ping(`1`), 0, `1`},
		"id 0":                        {ping(`0`), 0, `0`},
		"negative id":                 {ping(`-7`), 0, `-7`},
		"largest id":                  {ping(`9007199254740991`), 0, `9007199254740991`},
		"text id":                     {ping(`"a b"`), 0, `"a b"`},
		"text id like a number":       {ping(`"1"`), 0, `"1"`},
		"empty text id":               {ping(`""`), 0, `""`},
		"id with a line separator":    {ping("\"\u2028\""), 0, `"\u2028"`},
		"long text id":                {ping(`"` + strings.Repeat("i", 1024) + `"`), 0, `"` + strings.Repeat("i", 1024) + `"`},
		"spaces":                      {" \t" + ping(`1`) + " \t", 0, `1`},
		"unknown members":             {`{"jsonrpc":"2.0","id":1,"method":"ping","x":{"y":[null]}}`, 0, `1`},
		"NUL as an escape":            {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\u0000"}}`, 0, `1`},
		"huge number":                 {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1e999999999}}`, 0, `1`},
		"long number":                 {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":` + strings.Repeat("9", 100000) + `}}`, 0, `1`},
		"nested":                      {nested(200, "[", "]"), 0, `1`},
		"nested too deeply":           {nested(2000, "[", "]"), parse, `null`},
		"objects nested too deeply":   {nested(2000, `{"a":`, "}"), parse, `null`},
		"a million brackets":          {strings.Repeat("[", 1_000_000), parse, `null`},
		"byte order mark":             {"\xef\xbb\xbf" + ping(`1`), parse, `null`},
		"UTF-16":                      {"\xff\xfe{\x00}\x00", parse, `null`},
		"garbage":                     {"hello", parse, `null`},
		"a log line":                  {"2026-01-01 INFO started", parse, `null`},
		"cut":                         {`{"jsonrpc":"2.0","id":1,"meth`, parse, `null`},
		"two values":                  {ping(`1`) + ping(`2`), parse, `null`},
		"comment":                     {ping(`1`) + ` // x`, parse, `null`},
		"single quotes":               {`{'jsonrpc':'2.0'}`, parse, `null`},
		"trailing comma":              {`{"jsonrpc":"2.0","id":1,"method":"ping",}`, parse, `null`},
		"invalid UTF-8":               {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"\xff\"}}", parse, `null`},
		"overlong UTF-8":              {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"\xc0\xaf\"}}", parse, `null`},
		"surrogate as UTF-8":          {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"\xed\xa0\x80\"}}", parse, `null`},
		"lone surrogate":              {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\ud800"}}`, parse, `null`},
		"surrogates the wrong way":    {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\udc00\ud800"}}`, parse, `null`},
		"NUL byte":                    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"\x00\"}}", parse, `null`},
		"NUL bytes":                   {"\x00\x00", parse, `null`},
		"NaN":                         {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}`, parse, `null`},
		"two ids":                     {`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, parse, `null`},
		"two methods":                 {`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, parse, `null`},
		"two members far inside":      {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[{"b":1,"b":2}]}}`, parse, `null`},
		"two members by escape":       {`{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/list"}`, parse, `null`},
		"number":                      {`42`, invalid, `null`},
		"text":                        {`"ping"`, invalid, `null`},
		"null":                        {`null`, invalid, `null`},
		"batch":                       {`[` + ping(`1`) + `,` + ping(`2`) + `]`, invalid, `null`},
		"batch of one":                {`[` + ping(`1`) + `]`, invalid, `null`},
		"empty batch":                 {`[]`, invalid, `null`},
		"empty object":                {`{}`, invalid, `null`},
		"fractional id":               {ping(`1.5`), invalid, `null`},
		"whole number with fraction":  {ping(`1.0`), invalid, `null`},
		"exponent id":                 {ping(`1e3`), invalid, `null`},
		"huge id":                     {ping(`9007199254740993`), invalid, `null`},
		"id beyond 64 bits":           {ping(`18446744073709551617`), invalid, `null`},
		"null id":                     {ping(`null`), invalid, `null`},
		"true id":                     {ping(`true`), invalid, `null`},
		"object id":                   {ping(`{}`), invalid, `null`},
		"list id":                     {ping(`[1]`), invalid, `null`},
		"text id too long":            {ping(`"` + strings.Repeat("i", 1025) + `"`), invalid, `null`},
		"no version":                  {`{"id":1,"method":"ping"}`, invalid, `1`},
		"other version":               {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, invalid, `1`},
		"version as number":           {`{"jsonrpc":2.0,"id":1,"method":"ping"}`, invalid, `null`},
		"member in wrong case":        {`{"jsonrpc":"2.0","id":1,"Method":"ping"}`, invalid, `1`},
		"method as number":            {`{"jsonrpc":"2.0","id":1,"method":1}`, invalid, `null`},
		"empty method":                {`{"jsonrpc":"2.0","id":1,"method":""}`, invalid, `1`},
		"scalar params":               {`{"jsonrpc":"2.0","id":1,"method":"ping","params":7}`, invalid, `1`},
		"text params":                 {`{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}`, invalid, `1`},
		"method in wrong case":        {`{"jsonrpc":"2.0","id":1,"method":"PING"}`, jsonrpc.CodeMethodNotFound, `1`},
		"method with a space":         {`{"jsonrpc":"2.0","id":1,"method":"ping "}`, jsonrpc.CodeMethodNotFound, `1`},
		"method with a NUL":           {`{"jsonrpc":"2.0","id":1,"method":"ping\u0000"}`, jsonrpc.CodeMethodNotFound, `1`},
		"long method":                 {`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("m", 100000) + `"}`, jsonrpc.CodeMethodNotFound, `1`},
		"subscriptions/listen":        {`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}`, jsonrpc.CodeMethodNotFound, `1`},
		"longer than a 64 KiB buffer": {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("A", 200<<10) + `"}}`, 0, `1`},
	}
}

// answerOf reads one JSON-RPC answer.
func answerOf(t *testing.T, name, text string) (id string, code int64) {
	t.Helper()
	var m struct {
		JSONRPC string
		ID      json.RawMessage
		Result  json.RawMessage
		Error   *struct{ Code int64 }
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil || m.JSONRPC != "2.0" || (m.Result == nil) == (m.Error == nil) {
		t.Errorf("%s: answer %.300q: %v", name, text, err)
		return
	}
	if m.Error != nil {
		code = m.Error.Code
	}
	return string(m.ID), code
}

func equalJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && fmt.Sprintf("%T%v", x, x) == fmt.Sprintf("%T%v", y, y)
}

// Whatever a frame is, it gets its one answer, and the request after it is served on the same connection.
//
// proves A-MCP-04, A-MCP-08
// mcp report 1, 2, 3, 4
func TestHostileFramesOverStdio(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		for name, h := range hostileFrames() {
			answers, unnamed, log := serve(t, &fakeRuntime{}, initialize+h.frame+end+`{"jsonrpc":"2.0","id":"after","method":"ping"}`+end)
			if answers[`"after"`] == nil {
				t.Errorf("%s: the session ended\n%s", name, log)
				continue
			}
			delete(answers, `"after"`)
			delete(answers, `"init"`)
			for _, a := range answers {
				unnamed = append(unnamed, string(a))
			}
			if len(unnamed) != 1 {
				t.Errorf("%s: answers %.300q, want one", name, unnamed)
				continue
			}
			if id, code := answerOf(t, name, unnamed[0]); code != h.code || !equalJSON(id, h.id) {
				t.Errorf("%s: id %s, code %d; want %s, %d", name, id, code, h.id, h.code)
			}
		}
	}
}

// post sends one body through the transport's inside.
func post(s *Server, body string, header ...string) (*httptest.ResponseRecorder, httpd.Routing) {
	r := httptest.NewRequest("POST", "http://127.0.0.1:8080/mcp", http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	return w, s.Answer(w, r, []byte(body))
}

// proves A-MCP-05, A-MCP-08
// mcp report 1, 2, 4
func TestHostileFramesOverHTTP(t *testing.T) {
	s := newServer(&fakeRuntime{}, io.Discard)
	for name, h := range hostileFrames() {
		w, routing := post(s, h.frame)
		status := http.StatusOK
		if h.code == jsonrpc.CodeParseError || h.code == jsonrpc.CodeInvalidRequest {
			status = http.StatusBadRequest
		}
		id, code := answerOf(t, name, w.Body.String())
		if w.Code != status || code != h.code || !equalJSON(id, h.id) || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d, id %s, code %d; want %d, %s, %d", name, w.Code, id, code, status, h.id, h.code)
		}
		if m := routing.Method; m != "" && m != "ping" && m != "other" || len(routing.Protocol) > 10 || routing.Tool != "" {
			t.Errorf("%s: routing %+v", name, routing)
		}
	}
}

// The log tells size and reason of a refused frame, on both transports, and nothing of it.
//
// proves A-MCP-08, A-MCP-09
func TestRefusedFramesAreLoggedWithoutTheirContent(t *testing.T) {
	const canary = "canary-4711"
	var log bytes.Buffer
	s := newServer(&fakeRuntime{}, &log)
	for name, h := range hostileFrames() {
		if h.code == 0 {
			continue
		}
		frame := strings.Replace(h.frame, `"2.0"`, `"2.0","x":"`+canary+`"`, 1) + canary
		post(s, frame, "Mcp-Session-Id", canary, "Cookie", canary, "X-Forwarded-For", canary, "Authorization", canary, "Mcp-Protocol-Version", canary, "Mcp-Name", canary, "Mcp-Method", canary)
		if strings.Contains(log.String(), canary) {
			t.Fatalf("%s: %s", name, log.String())
		}
	}
	if !strings.Contains(log.String(), "refused a frame") {
		t.Error("nothing was logged")
	}
}

// proves A-MCP-01, A-MCP-06
func TestEverythingOutsideTheSurfaceIsMethodNotFoundOverHTTP(t *testing.T) {
	s := newServer(&fakeRuntime{}, io.Discard)
	for _, m := range []string{"prompts/list", "prompts/get", "resources/list", "resources/read", "resources/templates/list", "resources/subscribe",
		"logging/setLevel", "completion/complete", "subscriptions/listen", "tasks/list", "tasks/result", "no/such", "roots/list", "sampling/createMessage"} {
		legacy, _ := post(s, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{}}`, m), versionHeader, "2025-11-25")
		modern, routing := post(s, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, m, modernMeta), versionHeader, modernVersion, methodHeader, m, nameHeader, "x")
		for era, w := range map[int]*httptest.ResponseRecorder{http.StatusOK: legacy, http.StatusNotFound: modern} {
			if _, code := answerOf(t, m, w.Body.String()); code != jsonrpc.CodeMethodNotFound || w.Code != era || strings.Contains(w.Header().Get("Content-Type"), "stream") {
				t.Errorf("%s: %d %s, want %d", m, w.Code, w.Body, era)
			}
		}
		if routing.Method != "other" || routing.Reason != "method" || routing.Protocol != modernVersion {
			t.Errorf("%s: routing %+v", m, routing)
		}
	}
	for _, m := range []string{"notifications/roots/list_changed", "notifications/progress", "no/such", "notifications/initialized"} {
		if w, _ := post(s, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, m)); w.Code != http.StatusAccepted || w.Body.Len() > 0 {
			t.Errorf("notification %s: %d %s", m, w.Code, w.Body)
		}
	}
	if w, _ := post(s, `{"jsonrpc":"2.0","id":1,"result":{}}`); w.Code != http.StatusBadRequest {
		t.Errorf("a response: %d %s", w.Code, w.Body)
	}
}

// proves A-MCP-06, A-MCP-11
func TestRoutingHeadersMustSayWhatTheBodySays(t *testing.T) {
	rt := &fakeRuntime{}
	s := newServer(rt, io.Discard)
	run := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_run","arguments":{"request":"x"},` + modernMeta + `}}`
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`
	task := `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"` + goodUUID + `",` + modernMeta + `}}`
	const mismatch = -32020
	for name, c := range map[string]struct {
		body   string
		header []string
		code   int64 // -1: any but a mismatch
	}{
		"control: tool":        {run, []string{versionHeader, modernVersion, methodHeader, "tools/call", nameHeader, "agent_run"}, 0},
		"control: Base64":      {run, []string{versionHeader, modernVersion, methodHeader, "tools/call", nameHeader, "=?base64?YWdlbnRfcnVu?="}, 0},
		"control: list":        {list, []string{versionHeader, modernVersion, methodHeader, "tools/list"}, 0},
		"control: task":        {task, []string{versionHeader, modernVersion, methodHeader, "tasks/get", nameHeader, goodUUID}, -1},
		"control: task Base64": {task, []string{versionHeader, modernVersion, methodHeader, "tasks/get", nameHeader, "=?base64?MTIzZTQ1NjctZTg5Yi00MmQzLWE0NTYtNDI2NjE0MTc0MDAw?="}, -1},
		"no version":           {list, []string{methodHeader, "tools/list"}, mismatch},
		"other version":        {list, []string{versionHeader, "2025-11-25", methodHeader, "tools/list"}, mismatch},
		"two versions":         {list, []string{versionHeader, modernVersion, versionHeader, "2025-11-25", methodHeader, "tools/list"}, mismatch},
		"no method":            {list, []string{versionHeader, modernVersion}, mismatch},
		"other method":         {list, []string{versionHeader, modernVersion, methodHeader, "ping"}, mismatch},
		"method in other case": {list, []string{versionHeader, modernVersion, methodHeader, "Tools/List"}, mismatch},
		"two methods":          {list, []string{versionHeader, modernVersion, methodHeader, "tools/list", methodHeader, "tools/list"}, mismatch},
		"no name":              {run, []string{versionHeader, modernVersion, methodHeader, "tools/call"}, mismatch},
		"other name":           {run, []string{versionHeader, modernVersion, methodHeader, "tools/call", nameHeader, "agent_status"}, mismatch},
		"name in other case":   {run, []string{versionHeader, modernVersion, methodHeader, "tools/call", nameHeader, "Agent_Run"}, mismatch},
		"two names":            {run, []string{versionHeader, modernVersion, methodHeader, "tools/call", nameHeader, "agent_run", nameHeader, "agent_run"}, mismatch},
		"broken Base64":        {run, []string{versionHeader, modernVersion, methodHeader, "tools/call", nameHeader, "=?base64?YWdlbnRfcnVu!?="}, mismatch},
		"loose Base64":         {run, []string{versionHeader, modernVersion, methodHeader, "tools/call", nameHeader, "=?base64?YWdlbnRfcnVuIA?="}, mismatch},
		"Base64 of no text":    {run, []string{versionHeader, modernVersion, methodHeader, "tools/call", nameHeader, "=?base64?/w==?="}, mismatch},
		"task without name":    {task, []string{versionHeader, modernVersion, methodHeader, "tasks/get"}, mismatch},
		"task of another name": {task, []string{versionHeader, modernVersion, methodHeader, "tasks/get", nameHeader, "123e4567-e89b-42d3-a456-426614174001"}, mismatch},
		"task id in other case too": {strings.Replace(task, `"taskId"`, `"taskId":"`+goodUUID+`","TASKID":"123e4567-e89b-42d3-a456-426614174001","x"`, 1),
			[]string{versionHeader, modernVersion, methodHeader, "tasks/get", nameHeader, "123e4567-e89b-42d3-a456-426614174001"}, mismatch},
		"task, other method": {task, []string{versionHeader, modernVersion, methodHeader, "tasks/cancel", nameHeader, goodUUID}, mismatch},
		"task id as number":  {strings.Replace(task, `"`+goodUUID+`"`, "7", 1), []string{versionHeader, modernVersion, methodHeader, "tasks/get", nameHeader, "7"}, mismatch},
		"no task id":         {strings.Replace(task, `"taskId":"`+goodUUID+`",`, "", 1), []string{versionHeader, modernVersion, methodHeader, "tasks/get", nameHeader, "7"}, mismatch},
	} {
		before := len(rt.enqueued)
		w, _ := post(s, c.body, c.header...)
		_, code := answerOf(t, name, w.Body.String())
		switch {
		case c.code == -1 && code == mismatch, c.code != -1 && code != c.code:
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, c.code)
		case code == mismatch && w.Code != http.StatusBadRequest:
			t.Errorf("%s: status %d", name, w.Code)
		case code != 0 && len(rt.enqueued) != before:
			t.Errorf("%s: refused, and run all the same", name)
		}
	}
	if len(rt.enqueued) != 2 {
		t.Errorf("%d runs, want the two controls", len(rt.enqueued))
	}
}

// Nothing of a request but what routes it goes further inside, and no connection owns what it starts.
//
// proves A-MCP-05, A-MCP-09
func TestRequestsOverHTTPBelongToNobody(t *testing.T) {
	rt := &fakeRuntime{}
	s := newServer(rt, io.Discard)
	w, routing := post(s, call("1", "agent_run", `{"request":"x"}`), "Cookie", "a=b", "Mcp-Session-Id", "s", requestIDHeader, "int64:1")
	if _, code := answerOf(t, "run", w.Body.String()); code != 0 || len(rt.enqueued) != 1 || rt.enqueued[0].Owner != "" || routing.Tool != "agent_run" || routing.Method != "tools/call" {
		t.Fatalf("%d %s, %+v, %+v", w.Code, w.Body, rt.enqueued, routing)
	}
	w, _ = post(s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if w.Code != http.StatusAccepted || len(rt.cancelled) > 0 {
		t.Errorf("a cancellation without a connection: %d, cancelled %v", w.Code, rt.cancelled)
	}
	if _, routing = post(s, call("1", "canary-9", `{}`)); routing.Tool != "other" {
		t.Errorf("a tool that does not exist is logged as %q", routing.Tool)
	}
}

// proves A-MCP-05
// mcp report 10
func TestManyRequestsOverHTTPLeaveNothing(t *testing.T) {
	s := newServer(&fakeRuntime{}, io.Discard)
	modern := []string{versionHeader, modernVersion, methodHeader, "tools/list"}
	round := func(n int) {
		for range n {
			post(s, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			post(s, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`, modern...)
			post(s, "garbage")
			post(s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		}
	}
	round(10)
	leaks := goleak.IgnoreCurrent()
	round(500)
	goroutines.None(t, leaks)
}

func FuzzRoutingHeaders(f *testing.F) {
	f.Add("2026-07-28", "tools/call", "agent_run", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_run","arguments":{"request":"x"},`+modernMeta+`}}`)
	f.Add("2026-07-28", "tasks/get", "=?base64?YQ==?=", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"a",`+modernMeta+`}}`)
	f.Add("2025-11-25", "", "=?base64??=", `{"jsonrpc":"2.0","id":"x","method":"tools/list"}`)
	rt := &fakeRuntime{}
	s := newServer(rt, io.Discard)
	f.Fuzz(func(t *testing.T, version, method, name, body string) {
		before := len(rt.enqueued)
		w, routing := post(s, body, versionHeader, version, methodHeader, method, nameHeader, name)
		if strings.Contains(w.Header().Get("Content-Type"), "stream") || w.Header().Get("Mcp-Session-Id") != "" {
			t.Errorf("headers %v", w.Header())
		}
		if known(versions, routing.Protocol) != routing.Protocol && routing.Protocol != "other" || len(routing.Method) > 30 || len(routing.Tool) > 12 {
			t.Errorf("routing %+v", routing)
		}
		decoded, _ := decodeHeader(name)
		if len(rt.enqueued) > before && version >= modernVersion && (method != "tools/call" || decoded != "agent_run") {
			t.Errorf("a run with the headers %q %q %q", version, method, name)
		}
	})
}

// Bad parameters over HTTP are JSON-RPC errors with a code as well, never the text of a Go error.
//
// proves A-MCP-08
func TestBadParametersOverHTTPHaveACode(t *testing.T) {
	rt := &fakeRuntime{}
	s := newServer(rt, io.Discard)
	for body, want := range map[string]int64{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                                               0,
		`{"jsonrpc":"2.0","id":1,"method":"initialize"}`:                                         -32602,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`:                             -32602,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}`:          -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`:                                         -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`:                             -32602,
		`{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled","params":{"requestId":"1"}}`: -32600,
	} {
		w, _ := post(s, body)
		if _, code := answerOf(t, body, w.Body.String()); code != want {
			t.Errorf("%s: %d %s, want %d", body, w.Code, w.Body, want)
		}
	}
	w, _ := post(s, `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"agent_run","arguments":{"request":"x"}}}`)
	if w.Code != http.StatusAccepted || w.Body.Len() > 0 || len(rt.enqueued) > 0 {
		t.Errorf("a call without an id: %d %s, %d runs", w.Code, w.Body, len(rt.enqueued))
	}
}
