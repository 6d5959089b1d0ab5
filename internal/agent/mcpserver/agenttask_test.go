package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/agent/mcpserver/tasks"
	"sekisho/internal/agent/mcpserver/taskstore"
	"sekisho/internal/agent/runtime"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/statedir"
)

// endingRuntime is a runtime whose tasks the test ends.
type endingRuntime struct {
	mu          sync.Mutex
	busy        error
	requests    []runtime.Request
	status      map[string]agent.TaskStatus
	done        map[string]chan struct{}
	interrupted []string
}

func (r *endingRuntime) Enqueue(q runtime.Request) (runtime.Accepted, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy != nil {
		return runtime.Accepted{}, r.busy
	}
	if q.TaskID == "" {
		q.TaskID = NewOwner()
	}
	r.requests = append(r.requests, q)
	r.status[q.TaskID] = agent.TaskStatus{TaskID: q.TaskID, SessionID: goodUUID, Status: agent.Queued, Message: "message.status.queued"}
	r.done[q.TaskID] = make(chan struct{})
	return runtime.Accepted{TaskID: q.TaskID, SessionID: goodUUID}, nil
}

func (r *endingRuntime) Cancel(_ context.Context, id string) error { return r.Interrupt(id) }

func (r *endingRuntime) Interrupt(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interrupted = append(r.interrupted, id)
	return nil
}

func (r *endingRuntime) Done(id string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done[id]
}

func (r *endingRuntime) Status(id, _ string) (agent.TaskStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.status[id]; ok {
		return s, nil
	}
	return agent.TaskStatus{}, fault.New(fault.TaskNotFound, fault.Target(id))
}

func (r *endingRuntime) set(id string, change func(*agent.TaskStatus)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.status[id]
	change(&s)
	r.status[id] = s
	if s.Status.Terminal() {
		close(r.done[id])
	}
}

func (r *endingRuntime) last() runtime.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests[len(r.requests)-1]
}

// talk is a stdio client of a server with the Tasks extension.
type talk struct {
	t       *testing.T
	root    string
	runtime *endingRuntime
	in      io.Writer
	out     *bufio.Reader
	id      int
}

func newTalk(t *testing.T) *talk {
	t.Helper()
	c := &talk{t: t, root: filepath.Join(t.TempDir(), "state", "agent-mcp"), runtime: &endingRuntime{status: map[string]agent.TaskStatus{}, done: map[string]chan struct{}{}}}
	dir, err := statedir.Open(fileop.OS(), c.root)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := dir.NewInstance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store := taskstore.Open(taskstore.Options{Files: fileop.OS(), Root: dir, Instance: instance, TTL: time.Hour, Poll: time.Second})
	log := slog.New(slog.DiscardHandler)
	extension := tasks.New(store, log)
	s := New(Deps{Runtime: c.runtime, Texts: keyTexts{}, Log: log, Version: "test", Tasks: extension,
		Images: ImageLimits{MaxCount: 1, MaxBytesEach: 10, MaxTotalBytes: 10}})
	in, clientIn := io.Pipe()
	clientOut, out := io.Pipe()
	c.in, c.out = clientIn, bufio.NewReader(clientOut)
	served := make(chan error, 1)
	go func() { served <- s.ServeStdio(context.Background(), in, out, "owner", func() {}); out.Close() }()
	t.Cleanup(func() {
		clientIn.Close()
		io.Copy(io.Discard, c.out)
		if err := <-served; err != nil {
			t.Error(err)
		}
		for id, done := range c.runtime.done {
			select {
			case <-done:
			default:
				c.runtime.set(id, func(s *agent.TaskStatus) { s.Status = agent.Cancelled })
			}
		}
		if err := extension.Wait(context.Background()); err != nil {
			t.Error(err)
		}
		store.Close()
		instance.Close()
		dir.Close()
	})
	return c
}

const optedMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

type toolAnswer struct {
	ResultType, TaskID, Status, StatusMessage string
	Content                                   []struct{ Text string }
	IsError                                   bool
	Result                                    *struct {
		Content []struct{ Text string }
		IsError bool
	}
}

func (c *talk) call(method, params string) (a toolAnswer) {
	c.t.Helper()
	c.id++
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,%s}}`+"\n", c.id, method, params, optedMeta); err != nil {
		c.t.Fatal(err)
	}
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	var m struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(line, &m); err != nil || m.Error != nil {
		c.t.Fatalf("%s: %s %v", method, line, err)
	}
	if err := json.Unmarshal(m.Result, &a); err != nil {
		c.t.Fatal(err)
	}
	return a
}

func (c *talk) run(arguments string) toolAnswer {
	return c.call("tools/call", `"name":"agent_run","arguments":`+arguments)
}

func (c *talk) records() []string {
	c.t.Helper()
	files, err := filepath.Glob(filepath.Join(c.root, "instances", "*", taskstore.Dir, "*"))
	if err != nil {
		c.t.Fatal(err)
	}
	return files
}

// The result of a task holds exactly the lines of agent_status, and is an error unless the agent task completed.
//
// proves A-MCP-07, A-MCP-03, A-MCP-12
func TestAgentRunAsATask(t *testing.T) {
	for end, want := range map[agent.Status]struct {
		status  string
		isError bool
	}{agent.Completed: {"completed", false}, agent.Failed: {"completed", true}, agent.Cancelled: {"cancelled", false}} {
		c := newTalk(t)
		a := c.run(`{"request":"do it","temperature":0.5}`)
		q := c.runtime.last()
		if a.ResultType != "task" || a.Status != "working" || a.TaskID != q.TaskID || a.StatusMessage != "message.status.queued" || a.Content != nil {
			t.Fatalf("%+v for %+v", a, q)
		}
		if q.Text != "do it" || q.Owner != "owner" || *q.Temperature != 0.5 {
			t.Errorf("enqueued %+v", q)
		}
		if got := c.records(); len(got) != 1 || filepath.Base(got[0]) != a.TaskID+".json" {
			t.Errorf("records %v", got)
		}
		get := func() toolAnswer { return c.call("tasks/get", `"taskId":"`+a.TaskID+`"`) }
		c.runtime.set(a.TaskID, func(s *agent.TaskStatus) {
			s.Status, s.Message, s.CurrentTask = agent.Running, "running", "step\n1 of 2"
		})
		if g := get(); g.Status != "working" || g.StatusMessage != `step\n1 of 2` || g.Result != nil {
			t.Errorf("%+v", g)
		}
		c.call("tasks/cancel", `"taskId":"`+a.TaskID+`"`)
		if g := get(); g.Status != "working" || g.StatusMessage != "mcp.task.cancelling" || len(c.runtime.interrupted) != 1 {
			t.Errorf("%+v, interrupted %v", g, c.runtime.interrupted)
		}
		c.runtime.set(a.TaskID, func(s *agent.TaskStatus) {
			s.Status, s.Message, s.CurrentTask, s.LastErrorCode, s.LastError = end, "over", "", "agent.internal", "why"
			if end == agent.Completed {
				s.Result = "answer\nof two lines"
			}
		})
		g := get()
		status := c.call("tools/call", `"name":"agent_status","arguments":{"task_id":"`+a.TaskID+`"}`)
		if g.Status != want.status || g.StatusMessage != "over" {
			t.Errorf("%s: %+v", end, g)
		}
		if end == agent.Cancelled {
			if g.Result != nil {
				t.Errorf("a cancelled task has a result: %+v", g)
			}
			continue
		}
		if len(g.Result.Content) != 1 || g.Result.Content[0].Text != status.Content[0].Text || g.Result.IsError != want.isError {
			t.Errorf("%s: result %+v, agent_status says %+v", end, g.Result, status)
		}
	}
}

// What agent_run refuses is answered at once, also to a client that opted in, and leaves no record.
//
// proves A-MCP-07, A-MCP-08, A-MCP-12
func TestARefusedRunIsNoTask(t *testing.T) {
	c := newTalk(t)
	for _, arguments := range []string{`{}`, `{"request":""}`, `{"request":"x","y":1}`, `{"request":"x","images":[{"mime_type":"image/png","data_base64":"aaaa"}]}`} {
		if a := c.run(arguments); a.ResultType != "complete" || !a.IsError || a.TaskID != "" || !strings.Contains(a.Content[0].Text, "error_code: request.invalid") {
			t.Errorf("%s: %+v", arguments, a)
		}
	}
	if len(c.runtime.requests) > 0 || len(c.records()) > 0 {
		t.Errorf("%d tasks, records %v", len(c.runtime.requests), c.records())
	}
	c.runtime.busy = fault.New(fault.ServerBusy, fault.Arg("count", 64))
	if a := c.run(`{"request":"x"}`); a.ResultType != "complete" || !a.IsError || !strings.Contains(a.Content[0].Text, "error_code: server.busy") {
		t.Errorf("%+v", a)
	}
	if left := c.records(); len(left) > 0 {
		t.Errorf("a refused run left %v", left)
	}
	c.runtime.busy = nil
	if a := c.call("tools/call", `"name":"agent_status","arguments":{"task_id":"`+goodUUID+`"}`); a.ResultType != "complete" || !a.IsError {
		t.Errorf("agent_status: %+v", a)
	}
	// Where no record can be written, nothing is started.
	instances, err := filepath.Glob(filepath.Join(c.root, "instances", "*"))
	if err != nil || len(instances) != 1 {
		t.Fatal(instances, err)
	}
	if err := os.RemoveAll(filepath.Join(instances[0], taskstore.Dir)); err != nil {
		t.Fatal(err)
	}
	if a := c.run(`{"request":"x"}`); !a.IsError || !strings.Contains(a.Content[0].Text, "error_code: state.unusable") || len(c.runtime.requests) > 0 {
		t.Errorf("%+v, %d tasks", a, len(c.runtime.requests))
	}
}

// proves A-MCP-03, A-MCP-12
func TestAnEndlessResultIsCut(t *testing.T) {
	s := agent.TaskStatus{TaskID: goodUUID, SessionID: goodUUID, Status: agent.Completed, Result: strings.Repeat("あ", taskstore.ResultLimit)}
	text := statusText(s)
	if len(text) > taskstore.ResultLimit || len(text) < taskstore.ResultLimit-3 || !strings.HasSuffix(text, "あ…") {
		t.Errorf("%d bytes, ends with %q", len(text), text[len(text)-9:])
	}
}
