// Package tasks is the Tasks extension of MCP (io.modelcontextprotocol/tasks, A-MCP-07) on the SDK's custom methods: a
// tools/call that opted in may be answered with a task, which tasks/get, tasks/update and tasks/cancel then tell about.
//
// The package knows requests and records, not what the work is: a tool handler takes the Offer of its request's context and
// gives it a Work. A task is on disk before its id is answered, and terminal only once its work has ended with everything
// that it started (A-MCP-11). Nothing hangs on the request's context: a client that is gone cancels nothing.
//
// Threat: a client that guesses, forges or forgets. Opt-in counts on the very request only; an id that is malformed, unknown
// or expired has one answer; input responses reach only the work of that id and are bounded by the frame.
package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/internal/agent/mcpserver/taskstore"
	"sekisho/internal/strictjson"
)

// Work is what a task stands for. Its methods are safe for concurrent use.
type Work interface {
	// Done is closed when the work has ended, with every process that it started.
	Done() <-chan struct{}
	// Outcome tells how it ended; it is called after Done, and always tells the same.
	Outcome() taskstore.Outcome
	// Progress describes unfinished work.
	Progress() Progress
	// Cancel asks the work to end and does not wait. It may be repeated, also after the end.
	Cancel()
	// Answer delivers responses to input requests. Keys that are not outstanding are ignored.
	Answer(map[string]json.RawMessage)
}

// Progress is a snapshot of unfinished work. Zero members say nothing new.
type Progress struct {
	Message string // localized
	Updated time.Time
	// Inputs are the outstanding input requests by key; with one the task is input_required.
	Inputs map[string]json.RawMessage
}

// Extension ties the tasks of one server together.
type Extension struct {
	store *taskstore.Store
	log   *slog.Logger

	mu       sync.Mutex
	live     map[string]*live
	closing  bool
	watching sync.WaitGroup // added to under mu, and never once closing is set
}

// ErrClosing reports that the server ends and takes no further task.
var ErrClosing = errors.New("the server is ending")

// live is a task whose record is not known to be terminal.
type live struct {
	id   string
	work Work
	mu   sync.Mutex // held while the end is written
}

// New returns the extension over a store, which it does not close.
func New(store *taskstore.Store, log *slog.Logger) *Extension {
	return &Extension{store: store, log: log, live: map[string]*live{}}
}

// Declare adds the extension to what a server says it can.
func Declare(c *mcp.ServerCapabilities) { c.AddExtension(ID, nil) }

// Attach adds the extension's methods and its middleware to a server.
func (x *Extension) Attach(s *mcp.Server) {
	handlers := map[string]func(context.Context, *params) (mcp.Result, error){
		methodGet: x.get, methodUpdate: x.update, methodCancel: x.cancel,
	}
	for method, handle := range handlers {
		err := mcp.AddReceivingCustomMethod(s, method, func(ctx context.Context, _ *mcp.ServerSession, p *params) (mcp.Result, error) {
			switch {
			case p == nil || !isModern(p.GetMeta()):
				return nil, notFound()
			case !optedIn(p.GetMeta()):
				return nil, MissingCapability()
			}
			return handle(ctx, p)
		})
		if err != nil { // cannot happen: the protocol has no method of these names
			panic(err)
		}
	}
	s.AddReceivingMiddleware(x.offer)
}

// offer is the middleware: it offers a task to the handlers of requests that opted in, and takes the extension out of what
// the initialize handshake declares, whose era does not have it.
func (x *Extension) offer(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "tools/call":
			call, ok := req.(*mcp.CallToolRequest)
			if !ok || call.Params == nil || !isModern(call.Params.GetMeta()) || !optedIn(call.Params.GetMeta()) {
				break
			}
			o := &Offer{extension: x}
			// The handler's own result goes the SDK's way, which completes it; only an accepted offer takes its place.
			result, err := next(context.WithValue(ctx, offerKey{}, o), method, req)
			if err == nil && o.accepted != nil {
				return o.accepted, nil
			}
			return result, err
		case "initialize":
			result, err := next(ctx, method, req)
			if r, ok := result.(*mcp.InitializeResult); ok && r != nil && r.Capabilities != nil {
				capabilities := *r.Capabilities
				capabilities.Extensions = nil
				r.Capabilities = &capabilities
			}
			return result, err
		}
		return next(ctx, method, req)
	}
}

type offerKey struct{}

// Offer lets the handler of one request answer with a task.
type Offer struct {
	extension *Extension
	accepted  *created
}

// Offered returns the offer of a request that opted in, or nil.
func Offered(ctx context.Context) *Offer {
	o, _ := ctx.Value(offerKey{}).(*Offer)
	return o
}

// Accept makes a task: first its record, then, by start, its work. The id must be new. When start fails the record is removed
// and its error returned: the request is then answered as without an offer. Any other error means that no record could be
// written, or ErrClosing, and nothing was started.
func (o *Offer) Accept(id, message string, start func() (Work, error)) error {
	x := o.extension
	x.mu.Lock()
	if x.closing {
		x.mu.Unlock()
		return ErrClosing
	}
	x.watching.Add(1) // until here fails, or the watcher below has ended
	x.mu.Unlock()
	watched := false
	defer func() {
		if !watched {
			x.watching.Done()
		}
	}()
	record, err := x.store.Create(id, message)
	if err != nil {
		return err
	}
	work, err := start()
	if err != nil {
		if err := x.store.Remove(id); err != nil {
			x.log.Warn("a task record is left", "task_id", id, "error", err)
		}
		return err
	}
	l := &live{id: id, work: work}
	x.mu.Lock()
	x.live[id] = l
	x.mu.Unlock()
	watched = true
	go func() {
		defer x.watching.Done()
		<-work.Done()
		if err := x.settle(l); err != nil {
			x.log.Error("a task's end could not be written", "task_id", id, "error", err)
		}
	}()
	o.accepted = &created{ResultType: resultTask, wireTask: wire(record)}
	return nil
}

// settle writes the end of a task whose work is done. Whoever asks for the task tries again when it failed: what is not on
// disk is not told.
func (x *Extension) settle(l *live) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := x.store.Finish(l.id, l.work.Outcome())
	if err != nil && !errors.Is(err, taskstore.ErrTerminal) && !errors.Is(err, taskstore.ErrUnknown) {
		return err
	}
	x.mu.Lock()
	delete(x.live, l.id)
	x.mu.Unlock()
	return nil
}

// Wait takes no further task and returns when the end of every task is written, or with ctx's error. The caller ends the work.
func (x *Extension) Wait(ctx context.Context) error {
	x.mu.Lock()
	x.closing = true
	x.mu.Unlock()
	done := make(chan struct{})
	go func() { x.watching.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// find returns the record of a request's task, and its work while that is not over.
func (x *Extension) find(ctx context.Context, p *params) (taskstore.Record, Work, error) {
	var id string
	if strictjson.Unmarshal(p.TaskID, maxID, &id) != nil {
		return taskstore.Record{}, nil, unknown()
	}
	x.mu.Lock()
	l := x.live[id]
	x.mu.Unlock()
	var work Work
	if l != nil {
		select {
		case <-l.work.Done():
			if err := x.settle(l); err != nil {
				x.log.Error("a task's end could not be written", "task_id", id, "error", err)
				return taskstore.Record{}, nil, internal("the end of the task could not be written")
			}
		default:
			work = l.work
		}
	}
	record, err := x.store.Get(ctx, id)
	switch {
	case errors.Is(err, taskstore.ErrUnknown):
		return taskstore.Record{}, nil, unknown()
	case err != nil:
		x.log.Error("a task record could not be read", "task_id", id, "error", err)
		return taskstore.Record{}, nil, internal("the task record could not be read")
	case record.Status.Terminal():
		work = nil
	}
	return record, work, nil
}

// maxID bounds the JSON of an id; a valid one is a UUID.
const maxID = 1 << 10

func (x *Extension) get(ctx context.Context, p *params) (mcp.Result, error) {
	record, work, err := x.find(ctx, p)
	if err != nil {
		return nil, err
	}
	d := detail(record)
	if work != nil {
		d.overlay(work.Progress().at(record.UpdatedAt))
	}
	return d, nil
}

func (x *Extension) update(ctx context.Context, p *params) (mcp.Result, error) {
	_, work, err := x.find(ctx, p)
	if err != nil {
		return nil, err
	}
	var responses map[string]json.RawMessage
	if strictjson.UnmarshalOpen(p.InputResponses, len(p.InputResponses), &responses) != nil || responses == nil {
		return nil, invalidParams("inputResponses must be an object")
	}
	if work != nil {
		work.Answer(responses)
	}
	return &acknowledged{ResultType: resultComplete}, nil
}

func (x *Extension) cancel(ctx context.Context, p *params) (mcp.Result, error) {
	_, work, err := x.find(ctx, p)
	if err != nil {
		return nil, err
	}
	if work != nil {
		work.Cancel()
	}
	return &acknowledged{ResultType: resultComplete}, nil
}
