package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// What an error tells of the client's own parameters is bounded and can be shown, on both transports: names, versions, and
// values of the wrong shape.
//
// proves A-MCP-08
func TestErrorsRepeatLittleAndVisibly(t *testing.T) {
	hostile := "\u202e\u009b2J\u2028\u200b" // raw: JSON allows it, and an encoder does not escape it
	long := strings.Repeat("canary ", 100_000)
	for name, c := range map[string]struct{ method, params string }{
		"a tool":                  {"tools/call", `{"name":"VALUE","arguments":{}}`},
		"a tool of another shape": {"tools/call", `{"name":["VALUE"]}`},
		"meta of another shape":   {"tools/list", `{"_meta":["VALUE"]}`},
		"a cursor":                {"tools/list", `{"cursor":"VALUE"}`},
		"a client's name":         {"tools/list", `{` + strings.Replace(modernMeta, `{"name":"t"`, `{"name":["VALUE"]`, 1) + `}`},
		"a version":               {"tools/list", `{` + strings.Replace(modernMeta, "2026-07-28", "2026-07-28 VALUE", 1) + `}`},
		"initialize":              {"initialize", `{"protocolVersion":"2025-06-18","capabilities":{"roots":["VALUE"]},"clientInfo":{"name":"t","version":"1"}}`},
		"a task":                  {"tasks/get", `{"taskId":"VALUE",` + modernMeta + `}`},
		"a task of another shape": {"tasks/get", `{"taskId":{"x":"VALUE"},` + modernMeta + `}`},
	} {
		for kind, value := range map[string]string{"hostile": hostile, "long": long} {
			params := strings.ReplaceAll(c.params, "VALUE", value)
			frame := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, c.method, params)
			answers, _, _ := serve(t, &fakeRuntime{}, initialize+frame+"\n")
			judgeError(t, name+", "+kind+", stdio", string(answers["1"]))
			s := newServer(&fakeRuntime{}, io.Discard)
			for era, header := range map[string][]string{
				"old": {versionHeader, "2025-11-25"}, "new": {versionHeader, modernVersion, methodHeader, c.method, nameHeader, "x"},
			} {
				w, _ := post(s, frame, header...)
				judgeError(t, fmt.Sprintf("%s, %s, HTTP %s", name, kind, era), w.Body.String())
			}
		}
	}
}

func judgeError(t *testing.T, name, answer string) {
	t.Helper()
	if strings.HasPrefix(answer, "JSON RPC not handled: ") && len(answer) <= lineLimit+1 { // tasks/get of the old era: this server has no tasks
		return
	}
	var m struct {
		Result json.RawMessage
		Error  *jsonrpc.Error
	}
	if err := json.Unmarshal([]byte(answer), &m); err != nil || m.Result == nil && (m.Error == nil || m.Error.Code == 0) {
		t.Errorf("%s: %v %.300q", name, err, answer)
		return
	}
	if m.Error != nil && (len(m.Error.Message) > lineLimit || len(m.Error.Data) > dataLimit) {
		t.Errorf("%s: a message of %d bytes, data of %d", name, len(m.Error.Message), len(m.Error.Data))
	}
	if i := strings.IndexFunc(strings.TrimSuffix(answer, "\n"), func(r rune) bool { return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) }); i >= 0 {
		t.Errorf("%s: %.300q", name, answer[i:])
	}
}

func TestSafeErrors(t *testing.T) {
	wire := &jsonrpc.Error{Code: -32602, Message: "invalid params", Data: json.RawMessage(`{"requested":"a` + "\u202e" + `"}`)}
	if got := safeError(fmt.Errorf("%w: b\n", wire)); got.Code != -32602 || got.Message != `invalid params: b\n` || string(got.Data) != `{"requested":"a\u202e"}` {
		t.Errorf("%+v %s", got, got.Data)
	}
	wire.Data = json.RawMessage(`"` + strings.Repeat("x", dataLimit) + `"`)
	if got := safeError(wire); got.Data != nil {
		t.Errorf("data of %d bytes", len(got.Data))
	}
	if got := safeError(errors.New("a path of this machine")); got.Code != jsonrpc.CodeInternalError || got.Message != "internal error" {
		t.Errorf("%+v", got)
	}
}

// What is no error over HTTP passes as it is, also where a text looks like one.
func TestSafeAnswersPass(t *testing.T) {
	for _, body := range []string{`{"jsonrpc":"2.0","id":1,"result":{"text":"{\"error\":{}}"}}`, `{"jsonrpc":"2.0","id":1,"result":{"error":{"code":1}}}`} {
		w := httptest.NewRecorder()
		a := &safeAnswer{ResponseWriter: w}
		a.Header().Set("Content-Type", "application/json")
		io.WriteString(a, body)
		a.send()
		if w.Body.String() != body || w.Code != http.StatusOK {
			t.Errorf("%d %s, want %s", w.Code, w.Body, body)
		}
	}
	w := httptest.NewRecorder()
	a := &safeAnswer{ResponseWriter: w}
	http.Error(a, strings.Repeat("\u202e", 10_000), http.StatusBadRequest)
	a.send()
	if w.Code != http.StatusBadRequest || w.Body.Len() > lineLimit+1 || strings.Contains(w.Body.String(), "\u202e") {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}
