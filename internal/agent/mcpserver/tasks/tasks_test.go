package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"sekisho/internal/agent/mcpserver/taskstore"
	"sekisho/internal/fileop"
	"sekisho/test/crashfs"
)

// proves A-MCP-07, A-MCP-11
func TestShapes(t *testing.T) {
	for name, c := range map[string]struct {
		end  taskstore.Outcome
		want string
	}{
		"completed": {taskstore.Outcome{Status: taskstore.Completed, Message: "m", Result: &taskstore.Result{Text: "a\nb"}},
			`"statusMessage":"m","status":"completed","result":{"resultType":"complete","content":[{"type":"text","text":"a\nb"}],"isError":false}`},
		"completed with an error": {taskstore.Outcome{Status: taskstore.Completed, Result: &taskstore.Result{Text: "x", IsError: true}},
			`"status":"completed","result":{"resultType":"complete","content":[{"type":"text","text":"x"}],"isError":true}`},
		"failed":    {taskstore.Outcome{Status: taskstore.Failed, Error: &taskstore.Error{Code: -32603, Message: "e"}}, `"status":"failed","error":{"code":-32603,"message":"e"}`},
		"cancelled": {taskstore.Outcome{Status: taskstore.Cancelled}, `"status":"cancelled"`},
	} {
		w := newWorld(t, fileop.OS())
		created := w.result("tools/call", `{"name":"run",`+opted+`}`)
		id, _ := created["taskId"].(string)
		same(t, name+": created", created, `{"resultType":"task","taskId":"`+id+`","status":"working","statusMessage":"waits",
			"createdAt":"2026-08-01T12:00:00.005Z","lastUpdatedAt":"2026-08-01T12:00:00.005Z","ttlMs":3600000,"pollIntervalMs":1000}`)
		head := `{"resultType":"complete","taskId":"` + id + `","createdAt":"2026-08-01T12:00:00.005Z","ttlMs":3600000,"pollIntervalMs":1000,`
		same(t, name+": waiting", w.of("tasks/get", id), head+`"status":"working","statusMessage":"waits","lastUpdatedAt":"2026-08-01T12:00:00.005Z"}`)
		w.jobs[0].set(Progress{Message: "step 1", Updated: w.now.Add(time.Second)})
		same(t, name+": working", w.of("tasks/get", id), head+`"status":"working","statusMessage":"step 1","lastUpdatedAt":"2026-08-01T12:00:01.005Z"}`)
		w.jobs[0].set(Progress{Inputs: map[string]json.RawMessage{"k": json.RawMessage(`{"method":"elicitation/create"}`)}})
		same(t, name+": asking", w.of("tasks/get", id),
			head+`"status":"input_required","statusMessage":"waits","inputRequests":{"k":{"method":"elicitation/create"}},"lastUpdatedAt":"2026-08-01T12:00:00.005Z"}`)
		same(t, name+": answered", w.result("tasks/update", `{"taskId":"`+id+`","inputResponses":{"k":{"x":1}},`+opted+`}`), `{"resultType":"complete"}`)
		if got := string(w.jobs[0].answers["k"]); got != `{"x":1}` {
			t.Errorf("the work was answered %q", got)
		}
		w.now = w.now.Add(time.Minute)
		w.jobs[0].end(c.end)
		for range 2 { // terminal is terminal, whatever comes later
			same(t, name, w.of("tasks/get", id), head+c.want+`,"lastUpdatedAt":"2026-08-01T12:01:00.005Z"}`)
			same(t, name+": cancel", w.of("tasks/cancel", id), `{"resultType":"complete"}`)
			same(t, name+": update", w.of("tasks/update", id), `{"resultType":"complete"}`)
			w.jobs[0].set(Progress{Message: "late"})
		}
		if w.jobs[0].cancelled > 0 {
			t.Errorf("%s: ended work was cancelled", name)
		}
	}
}

// proves A-MCP-07, A-MCP-11
func TestCancelIsCooperative(t *testing.T) {
	w := newWorld(t, fileop.OS())
	id, j := w.start()
	for range 2 {
		same(t, "cancel", w.of("tasks/cancel", id), `{"resultType":"complete"}`)
	}
	if j.cancelled != 2 {
		t.Errorf("the work was told %d times", j.cancelled)
	}
	if s := w.of("tasks/get", id)["status"]; s != "working" {
		t.Errorf("%v while the work goes on", s)
	}
	j.end(taskstore.Outcome{Status: taskstore.Cancelled})
	if s := w.of("tasks/get", id)["status"]; s != "cancelled" {
		t.Errorf("%v afterwards", s)
	}
}

// Opting in counts for the very request only, and only in the era that has the extension.
//
// proves A-MCP-07, A-MCP-11, A-MCP-06
func TestOptIn(t *testing.T) {
	w := newWorld(t, fileop.OS())
	id, _ := w.start()
	discovered := w.result("server/discover", `{`+plain+`}`)
	capabilities, _ := discovered["capabilities"].(map[string]any)
	if x, _ := capabilities["extensions"].(map[string]any); x[ID] == nil || capabilities["tasks"] != nil {
		t.Errorf("server/discover declares %v", capabilities)
	}
	capable := func(extensions string) string {
		return `"_meta":{` + era + `,"io.modelcontextprotocol/clientCapabilities":{` + extensions + `}}`
	}
	for name, meta := range map[string]string{
		"nothing":          plain,
		"another":          capable(`"extensions":{"io.modelcontextprotocol/ui":{}}`),
		"other case":       capable(`"extensions":{"IO.modelcontextprotocol/tasks":{}}`),
		"null":             capable(`"extensions":{"io.modelcontextprotocol/tasks":null}`),
		"true":             capable(`"extensions":{"io.modelcontextprotocol/tasks":true}`),
		"legacy tasks":     capable(`"tasks":{}`),
		"experimental":     capable(`"experimental":{"io.modelcontextprotocol/tasks":{}}`),
		"elsewhere in it":  plain[:len(plain)-1] + `,"extensions":{"io.modelcontextprotocol/tasks":{}}}`,
		"legacy task hint": `"task":{"ttl":1000},` + plain,
	} {
		r := w.result("tools/call", `{"name":"run",`+meta+`}`)
		if r["resultType"] != "complete" || r["taskId"] != nil || r["content"] == nil {
			t.Errorf("%s: got a task without asking: %v", name, r)
		}
		for _, method := range Methods() {
			_, failure := w.call(method, `{"taskId":"`+id+`","inputResponses":{},`+meta+`}`)
			want := `{"code":-32021,"message":"missing required client capability io.modelcontextprotocol/tasks",
				"data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}`
			same(t, name+" "+method, failure, want)
		}
	}
	if r := w.result("tools/call", `{"name":"run","arguments":{"x":"refuse"},`+opted+`}`); r["resultType"] != "complete" || r["content"] == nil {
		t.Errorf("an offer that was not taken: %v", r)
	}
}

// proves A-MCP-06, A-MCP-07
func TestLegacyEra(t *testing.T) {
	w := newWorld(t, fileop.OS())
	r := w.result("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}},"clientInfo":{"name":"t","version":"1"}}`)
	capabilities, _ := r["capabilities"].(map[string]any)
	if capabilities["tools"] == nil || capabilities["extensions"] != nil || capabilities["tasks"] != nil {
		t.Errorf("initialize declares %v", capabilities)
	}
	if err := w.conn.Write(t.Context(), &jsonrpc.Request{Method: "notifications/initialized"}); err != nil {
		t.Fatal(err)
	}
	legacy := `"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	if r := w.result("tools/call", `{"name":"run",`+legacy+`,"task":{}}`); r["taskId"] != nil || r["content"] == nil {
		t.Errorf("a task in the legacy era: %v", r)
	}
	for _, method := range Methods() {
		for _, params := range []string{`{"taskId":"` + uuid.NewString() + `",` + legacy + `}`, `{}`, `null`} {
			_, failure := w.call(method, params)
			if failure["code"] != -32601.0 {
				t.Errorf("%s: %v", method, failure)
			}
		}
	}
}

// proves A-MCP-07, A-MCP-12
func TestUnknownIDs(t *testing.T) {
	w := newWorld(t, fileop.OS())
	id, j := w.start()
	expired, _ := w.start()
	for name, raw := range map[string]string{
		"unknown": `"` + uuid.NewString() + `"`, "upper case": `"` + strings.ToUpper(id) + `"`, "empty": `""`, "number": `7`, "null": `null`,
		"array": `["` + id + `"]`, "path": `"../` + id + `"`, "long": `"` + strings.Repeat("x", 1<<20) + `"`, "missing": "",
	} {
		for _, method := range Methods() {
			params := `{"taskId":` + raw + `,"inputResponses":{},` + opted + `}`
			if raw == "" {
				params = `{"inputResponses":{},` + opted + `}`
			}
			_, failure := w.call(method, params)
			same(t, name+" "+method, failure, `{"code":-32602,"message":"unknown or expired task"}`)
		}
	}
	for _, params := range []string{`{"TaskID":"` + id + `","inputResponses":{},` + opted + `}`, `{"task_id":"` + id + `","inputResponses":{},` + opted + `}`} {
		for _, method := range Methods() {
			if _, failure := w.call(method, params); failure["code"] != -32602.0 {
				t.Errorf("%s takes %s: %v", method, params, failure)
			}
		}
	}
	for _, responses := range []string{`7`, `null`, `[]`, `{"a":1,"a":2}`} {
		_, failure := w.call("tasks/update", `{"taskId":"`+id+`","inputResponses":`+responses+`,`+opted+`}`)
		same(t, "responses "+responses, failure, `{"code":-32602,"message":"inputResponses must be an object"}`)
	}
	j.end(taskstore.Outcome{Status: taskstore.Completed, Result: &taskstore.Result{Text: "x"}})
	if s := w.of("tasks/get", id)["status"]; s != "completed" {
		t.Errorf("the control is %v", s)
	}
	w.now = w.now.Add(time.Hour)
	for _, id := range []string{id, expired} {
		for _, method := range Methods() {
			_, failure := w.call(method, `{"taskId":"`+id+`","inputResponses":{},`+opted+`}`)
			same(t, "expired "+method, failure, `{"code":-32602,"message":"unknown or expired task"}`)
		}
	}
}

// What could not be started leaves no record; an end that could not be written is told once it is.
//
// proves A-MCP-12
func TestFailures(t *testing.T) {
	w := newWorld(t, fileop.OS())
	w.startErr = fmt.Errorf("refused")
	if r := w.result("tools/call", `{"name":"run",`+opted+`}`); r["isError"] != true || r["taskId"] != nil {
		t.Errorf("%v", r)
	}
	if left, err := filepath.Glob(filepath.Join(w.root, "instances", "*", taskstore.Dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
	full := &fullOnce{FS: fileop.OS()}
	w = newWorld(t, full)
	id, j := w.start()
	full.fail(2) // the watcher's attempt and the next request's
	j.end(taskstore.Outcome{Status: taskstore.Cancelled})
	if err := w.extension.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, failure := w.call("tasks/get", `{"taskId":"`+id+`",`+opted+`}`)
	same(t, "not on disk", failure, `{"code":-32603,"message":"the end of the task could not be written"}`)
	if s := w.of("tasks/get", id)["status"]; s != "cancelled" {
		t.Errorf("%v once there is room", s)
	}
}

// fullOnce fails some writes.
type fullOnce struct {
	fileop.FS
	mu   sync.Mutex
	left int
}

func (f *fullOnce) fail(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = n
}

// Write implements fileop.FS.
func (f *fullOnce) Write(file *os.File, p []byte) error {
	f.mu.Lock()
	fail := f.left > 0
	if fail {
		f.left--
	}
	f.mu.Unlock()
	if fail {
		return crashfs.ErrStopped
	}
	return f.FS.Write(file, p)
}

// Tasks that are accepted while the server ends are waited for or refused; none is forgotten.
//
// proves A-MCP-12, A-STOP-01
func TestAcceptingWhileEnding(t *testing.T) {
	for range 20 {
		w := newWorld(t, fileop.OS())
		var accepting sync.WaitGroup
		var mu sync.Mutex
		var accepted []string
		for range 8 {
			accepting.Go(func() {
				id := uuid.NewString()
				o := &Offer{extension: w.extension}
				err := o.Accept(id, "m", func() (Work, error) {
					j := &job{done: make(chan struct{})}
					j.end(taskstore.Outcome{Status: taskstore.Cancelled})
					return j, nil
				})
				switch {
				case err == nil:
					mu.Lock()
					accepted = append(accepted, id)
					mu.Unlock()
				case !errors.Is(err, ErrClosing):
					t.Error(err)
				}
			})
		}
		if err := w.extension.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		accepting.Wait()
		for _, id := range accepted {
			if r, err := w.extension.store.Get(t.Context(), id); err != nil || r.Status != taskstore.Cancelled {
				t.Errorf("%+v %v", r, err)
			}
		}
		if err := (&Offer{extension: w.extension}).Accept(uuid.NewString(), "m", nil); !errors.Is(err, ErrClosing) {
			t.Error("after the end:", err)
		}
	}
}
