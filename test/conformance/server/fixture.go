//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/internal/agent/mcpserver/tasks"
	"sekisho/internal/agent/mcpserver/taskstore"
)

// fixture is the set of tools that the scenarios describe. Its works end with ctx.
type fixture struct{ ctx context.Context }

func newFixture(ctx context.Context) *fixture { return &fixture{ctx: ctx} }

// body is what a work does: it may ask, and returns how it ended. Its context ends when it is cancelled.
type body func(context.Context, *work) taskstore.Outcome

// add registers the tools.
func (f *fixture) add(s *mcp.Server) {
	tool := func(name, properties string, handle mcp.ToolHandler) {
		s.AddTool(&mcp.Tool{Name: name, Description: "conformance fixture", InputSchema: json.RawMessage(`{"type":"object","properties":{` + properties + `}}`)}, handle)
	}
	tool("greet", `"name":{"type":"string"}`, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		a, err := arguments(req)
		return say("Hello, " + a.Name + "!"), err
	})
	tool("slow_compute", `"seconds":{"type":"number"},"label":{"type":"string"}`, f.optional(func(a args) body {
		return func(ctx context.Context, _ *work) taskstore.Outcome {
			select {
			case <-ctx.Done():
				return taskstore.Outcome{Status: taskstore.Cancelled}
			case <-time.After(time.Duration(a.Seconds * float64(time.Second))):
				return done("computed "+a.Label, false)
			}
		}
	}))
	tool("failing_job", ``, f.required(func(args) body {
		return func(context.Context, *work) taskstore.Outcome { return done("the job failed", true) }
	}))
	tool("protocol_error_job", ``, f.required(func(args) body {
		return func(context.Context, *work) taskstore.Outcome {
			return taskstore.Outcome{Status: taskstore.Failed, Error: &taskstore.Error{Code: -32603, Message: "internal error"}}
		}
	}))
	tool("confirm_delete", `"filename":{"type":"string"}`, f.required(asking("confirm")))
	tool("multi_input", ``, f.required(asking("first", "second")))
	tool("test_tool_with_task", ``, f.composed)
}

// asking is a work that asks for every key and completes when all are answered.
func asking(keys ...string) func(args) body {
	return func(args) body {
		return func(ctx context.Context, w *work) taskstore.Outcome {
			if !w.ask(ctx, keys) {
				return taskstore.Outcome{Status: taskstore.Cancelled}
			}
			return done("answered", false)
		}
	}
}

// optional answers with a task where the request opted in, and with the result itself else.
func (f *fixture) optional(make func(args) body) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		a, err := arguments(req)
		if err != nil {
			return nil, err
		}
		if tasks.Offered(ctx) == nil {
			o := make(a)(ctx, newWork(ctx))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: o.Result.Text}}, IsError: o.Result.IsError}, nil
		}
		return f.accept(ctx, make(a))
	}
}

// required needs the extension.
func (f *fixture) required(make func(args) body) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		a, err := arguments(req)
		if err == nil && tasks.Offered(ctx) == nil {
			err = tasks.MissingCapability()
		}
		if err != nil {
			return nil, err
		}
		return f.accept(ctx, make(a))
	}
}

// composed asks for a name in the request itself and then makes a task.
func (f *fixture) composed(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if tasks.Offered(ctx) == nil {
		return nil, tasks.MissingCapability()
	}
	answer, ok := req.Params.InputResponses["user_name"].(*mcp.ElicitResult)
	if !ok {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"user_name": &mcp.ElicitParams{Mode: "form", Message: "What is your name?",
			RequestedSchema: json.RawMessage(schema)}}}, nil
	}
	return f.accept(ctx, func(context.Context, *work) taskstore.Outcome {
		return done(fmt.Sprint("Hello, ", answer.Content["name"]), false)
	})
}

func (f *fixture) accept(ctx context.Context, do body) (*mcp.CallToolResult, error) {
	err := tasks.Offered(ctx).Accept(uuid.NewString(), "working", func() (tasks.Work, error) {
		w := newWork(f.ctx)
		go w.run(do)
		return w, nil
	})
	return say(""), err
}

type args struct {
	Name    string  `json:"name"`
	Label   string  `json:"label"`
	Seconds float64 `json:"seconds"`
}

func arguments(req *mcp.CallToolRequest) (a args, err error) {
	if len(req.Params.Arguments) > 0 {
		err = json.Unmarshal(req.Params.Arguments, &a)
	}
	return a, err
}

func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func done(text string, failed bool) taskstore.Outcome {
	return taskstore.Outcome{Status: taskstore.Completed, Result: &taskstore.Result{Text: text, IsError: failed}}
}

const schema = `{"type":"object","properties":{"name":{"type":"string"},"confirm":{"type":"boolean"}}}`

// work runs one body.
type work struct {
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	outcome  taskstore.Outcome
	inputs   map[string]json.RawMessage
	answered chan struct{}
}

func newWork(ctx context.Context) *work {
	w := &work{done: make(chan struct{}), answered: make(chan struct{}, 1)}
	w.ctx, w.cancel = context.WithCancel(ctx)
	return w
}

func (w *work) run(do body) {
	o := do(w.ctx, w)
	w.mu.Lock()
	w.outcome, w.inputs = o, nil
	w.mu.Unlock()
	w.cancel()
	close(w.done)
}

// ask returns true when every key is answered and false when the work was cancelled.
func (w *work) ask(ctx context.Context, keys []string) bool {
	request := json.RawMessage(`{"method":"elicitation/create","params":{"mode":"form","message":"Please answer.","requestedSchema":` + schema + `}}`)
	w.mu.Lock()
	w.inputs = map[string]json.RawMessage{}
	for _, k := range keys {
		w.inputs[k] = request
	}
	w.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-w.answered:
			w.mu.Lock()
			open := len(w.inputs)
			w.mu.Unlock()
			if open == 0 {
				return true
			}
		}
	}
}

// Done implements tasks.Work.
func (w *work) Done() <-chan struct{} { return w.done }

// Outcome implements tasks.Work.
func (w *work) Outcome() taskstore.Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outcome
}

// Progress implements tasks.Work.
func (w *work) Progress() tasks.Progress {
	w.mu.Lock()
	defer w.mu.Unlock()
	open := make(map[string]json.RawMessage, len(w.inputs))
	for k, v := range w.inputs {
		open[k] = v
	}
	return tasks.Progress{Inputs: open}
}

// Cancel implements tasks.Work.
func (w *work) Cancel() { w.cancel() }

// Answer implements tasks.Work.
func (w *work) Answer(responses map[string]json.RawMessage) {
	w.mu.Lock()
	for k := range responses {
		delete(w.inputs, k)
	}
	w.mu.Unlock()
	select {
	case w.answered <- struct{}{}:
	default:
	}
}
