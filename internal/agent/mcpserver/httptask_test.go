package mcpserver

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/agent/mcpserver/tasks"
	"sekisho/internal/agent/mcpserver/taskstore"
	"sekisho/internal/fileop"
	"sekisho/internal/statedir"
)

// newHTTPServer is a server with the Tasks extension, without a port.
func newHTTPServer(t *testing.T) (*Server, *endingRuntime) {
	t.Helper()
	dir, err := statedir.Open(fileop.OS(), filepath.Join(t.TempDir(), "state", "agent-mcp"))
	if err != nil {
		t.Fatal(err)
	}
	instance, err := dir.NewInstance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store := taskstore.Open(taskstore.Options{Files: fileop.OS(), Root: dir, Instance: instance, TTL: time.Hour, Poll: time.Second})
	extension := tasks.New(store, slog.New(slog.DiscardHandler))
	rt := &endingRuntime{status: map[string]agent.TaskStatus{}, done: map[string]chan struct{}{}}
	s := New(Deps{Runtime: rt, Texts: keyTexts{}, Log: slog.New(slog.DiscardHandler), Version: "test", Tasks: extension})
	t.Cleanup(func() {
		for id, done := range rt.done {
			select {
			case <-done:
			default:
				rt.set(id, func(s *agent.TaskStatus) { s.Status = agent.Cancelled })
			}
		}
		if err := extension.Wait(context.Background()); err != nil {
			t.Error(err)
		}
		store.Close()
		instance.Close()
		dir.Close()
	})
	return s, rt
}

// postTask answers one request; name is the Mcp-Name header, version the protocol version.
func postTask(ctx context.Context, s *Server, version, method, name, params string) (status int, result map[string]any, code float64) {
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {version}}
	if version == modernVersion {
		r.Header["Mcp-Method"] = []string{method}
	}
	if name != "" {
		r.Header["Mcp-Name"] = []string{name}
	}
	w := httptest.NewRecorder()
	s.Answer(w, r, []byte(body))
	var m struct {
		Result map[string]any
		Error  struct{ Code float64 }
	}
	json.NewDecoder(bytes.NewReader(w.Body.Bytes())).Decode(&m)
	return w.Code, m.Result, m.Error.Code
}

// Over HTTP the statuses tell what the codes tell, the name header must be the task's id, and a request that is gone cancels
// nothing.
//
// proves A-MCP-05, A-MCP-07, A-MCP-11
func TestTasksOverHTTP(t *testing.T) {
	s, rt := newHTTPServer(t)
	gone, goes := context.WithCancel(t.Context())
	status, created, _ := postTask(gone, s, modernVersion, "tools/call", "agent_run", `{"name":"agent_run","arguments":{"request":"x"},`+optedMeta+`}`)
	id, _ := created["taskId"].(string)
	if status != 200 || created["resultType"] != "task" || id == "" || rt.last().Owner != "" {
		t.Fatalf("%d %v", status, created)
	}
	goes()
	if len(rt.interrupted) > 0 {
		t.Error("the end of the request cancelled the task")
	}
	task := `{"taskId":"` + id + `","inputResponses":{},`
	other := `{"taskId":"` + goodUUID + `","inputResponses":{},`
	for _, method := range tasks.Methods() {
		for what, c := range map[string]struct {
			version, name, params string
			status                int
			code                  float64
		}{
			"the control":     {modernVersion, id, task + optedMeta + `}`, 200, 0},
			"name in Base64":  {modernVersion, "=?base64?" + base64.StdEncoding.EncodeToString([]byte(id)) + "?=", task + optedMeta + `}`, 200, 0},
			"no name":         {modernVersion, "", task + optedMeta + `}`, 400, -32020},
			"another name":    {modernVersion, goodUUID, task + optedMeta + `}`, 400, -32020},
			"not opted in":    {modernVersion, id, task + modernMeta + `}`, 400, -32021},
			"unknown id":      {modernVersion, goodUUID, other + optedMeta + `}`, 400, -32602},
			"legacy era":      {"2025-11-25", "", task + `"_meta":{}}`, 200, -32601},
			"legacy, opts in": {"2025-11-25", "", task + `"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}`, 200, -32601},
		} {
			if status, _, code := postTask(t.Context(), s, c.version, method, c.name, c.params); status != c.status || code != c.code {
				t.Errorf("%s, %s: %d %v, want %d %v", method, what, status, code, c.status, c.code)
			}
		}
	}
	for _, method := range []string{"tasks/result", "tasks/list"} {
		if status, _, code := postTask(t.Context(), s, modernVersion, method, id, task+optedMeta+`}`); status != 404 || code != -32601 {
			t.Errorf("%s: %d %v", method, status, code)
		}
	}
}
