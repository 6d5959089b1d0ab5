package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/internal/agent/mcpserver/taskstore"
	"sekisho/internal/fileop"
	"sekisho/internal/statedir"
	"sekisho/test/goroutines"
)

func TestMain(m *testing.M) { goroutines.Main(m) }

// job is a Work that the test ends.
type job struct {
	done chan struct{}

	mu        sync.Mutex
	outcome   taskstore.Outcome
	progress  Progress
	cancelled int
	answers   map[string]json.RawMessage
}

func (j *job) Done() <-chan struct{} { return j.done }

func (j *job) Outcome() taskstore.Outcome {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.outcome
}

func (j *job) Progress() Progress {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.progress
}

func (j *job) Cancel() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cancelled++
}

func (j *job) Answer(a map[string]json.RawMessage) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.answers = a
}

func (j *job) end(o taskstore.Outcome) {
	j.mu.Lock()
	j.outcome = o
	j.mu.Unlock()
	close(j.done)
}

func (j *job) set(p Progress) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.progress = p
}

// world is a server with one tool, run, and a raw connection to it.
type world struct {
	t         *testing.T
	root      string
	extension *Extension
	conn      mcp.Connection
	now       time.Time
	startErr  error

	mu   sync.Mutex
	jobs []*job
	ids  int
}

func newWorld(t *testing.T, files fileop.FS) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 8, 1, 12, 0, 0, 5e6, time.UTC)}
	w.root = filepath.Join(t.TempDir(), "state", "agent-mcp")
	dir, err := statedir.Open(fileop.OS(), w.root)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := dir.NewInstance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store := taskstore.Open(taskstore.Options{Files: files, Root: dir, Instance: instance, TTL: time.Hour, Poll: time.Second, Now: func() time.Time { return w.now }})
	w.extension = New(store, slog.New(slog.DiscardHandler))
	capabilities := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	Declare(capabilities)
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{Capabilities: capabilities})
	s.AddTool(&mcp.Tool{Name: "run", InputSchema: json.RawMessage(`{"type":"object"}`)}, w.run)
	w.extension.Attach(s)
	ours, theirs := mcp.NewInMemoryTransports()
	session, err := s.Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w.conn, err = ours.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.conn.Close()
		session.Wait()
		for _, j := range w.jobs {
			select {
			case <-j.done:
			default:
				j.end(taskstore.Outcome{Status: taskstore.Cancelled})
			}
		}
		if err := w.extension.Wait(context.Background()); err != nil {
			t.Error(err)
		}
		store.Close()
		instance.Close()
		dir.Close()
	})
	return w
}

// run accepts a task where it may, and answers with its argument else.
func (w *world) run(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	plain := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "plain"}}}
	o := Offered(ctx)
	if o == nil || strings.Contains(string(req.Params.Arguments), "refuse") {
		return plain, nil
	}
	err := o.Accept(uuid.NewString(), "waits", func() (Work, error) {
		if w.startErr != nil {
			return nil, w.startErr
		}
		j := &job{done: make(chan struct{})}
		w.mu.Lock()
		w.jobs = append(w.jobs, j)
		w.mu.Unlock()
		return j, nil
	})
	if err != nil {
		plain.IsError = true
	}
	return plain, nil
}

const (
	era   = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	plain = `"_meta":{` + era + `,"io.modelcontextprotocol/clientCapabilities":{}}`
	opted = `"_meta":{` + era + `,"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
)

// call returns the result or the error of one request as a map.
func (w *world) call(method, params string) (result, failure map[string]any) {
	w.t.Helper()
	w.ids++
	id, err := jsonrpc.MakeID(float64(w.ids))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.conn.Write(w.t.Context(), &jsonrpc.Request{ID: id, Method: method, Params: json.RawMessage(params)}); err != nil {
		w.t.Fatal(err)
	}
	m, err := w.conn.Read(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		w.t.Fatal(err)
	}
	var r struct{ Result, Error map[string]any }
	if err := json.Unmarshal(data, &r); err != nil {
		w.t.Fatalf("%v in %s", err, data)
	}
	delete(r.Result, "_meta") // the SDK names the server there
	return r.Result, r.Error
}

func (w *world) result(method, params string) map[string]any {
	w.t.Helper()
	result, failure := w.call(method, params)
	if failure != nil {
		w.t.Fatalf("%s: %v", method, failure)
	}
	return result
}

// start makes a task and returns its id and work.
func (w *world) start() (string, *job) {
	w.t.Helper()
	r := w.result("tools/call", `{"name":"run",`+opted+`}`)
	id, ok := r["taskId"].(string)
	if !ok {
		w.t.Fatalf("no task: %v", r)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return id, w.jobs[len(w.jobs)-1]
}

func (w *world) of(method, id string) map[string]any {
	w.t.Helper()
	return w.result(method, fmt.Sprintf(`{"taskId":%q,"inputResponses":{},%s}`, id, opted))
}

func same(t *testing.T, what string, got map[string]any, want string) {
	t.Helper()
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%v in %s", err, want)
	}
	canonical, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != string(canonical) {
		t.Errorf("%s:\n got %s\nwant %s", what, data, canonical)
	}
}
