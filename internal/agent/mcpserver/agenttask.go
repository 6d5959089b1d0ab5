package mcpserver

import (
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/internal/agent"
	"sekisho/internal/agent/mcpserver/tasks"
	"sekisho/internal/agent/mcpserver/taskstore"
	"sekisho/internal/agent/runtime"
	"sekisho/internal/fault"
	"sekisho/internal/visible"
)

// SDK is the server of the MCP library, for tests that serve more tools behind the same transport and the same tasks.
func (s *Server) SDK() *mcp.Server { return s.mcp }

// runAsTask answers agent_run with an MCP task (A-MCP-07), whose id is the agent task's. "" without an error means that no
// further record may be kept: the request is then answered as without the extension, which a server may decide at any time.
func (s *Server) runAsTask(offer *tasks.Offer, request runtime.Request) (string, error) {
	request.TaskID = uuid.NewString()
	var refused error
	err := offer.Accept(request.TaskID, s.texts.Text("message.status.queued", nil), func() (tasks.Work, error) {
		if _, refused = s.runtime.Enqueue(request); refused != nil {
			return nil, refused
		}
		return newAgentWork(s, request.TaskID), nil
	})
	switch {
	case err == nil:
		return request.TaskID, nil
	case refused != nil:
		return "", refused
	case errors.Is(err, tasks.ErrClosing):
		return "", fault.New(fault.ServerStopping)
	case errors.Is(err, taskstore.ErrFull):
		s.log.Warn("no room for another task record; answered without one")
		return "", nil
	}
	return "", fault.New(fault.StateUnusable, fault.Variant("reason"), fault.Target(taskstore.Dir), fault.Arg("reason", err), fault.Cause(err))
}

// agentWork is an agent task behind an MCP task.
type agentWork struct {
	server     *Server
	id         string
	done       <-chan struct{}
	cancelling atomic.Bool
	outcome    func() taskstore.Outcome
}

func newAgentWork(s *Server, id string) *agentWork {
	w := &agentWork{server: s, id: id, done: s.runtime.Done(id)}
	w.outcome = sync.OnceValue(w.end) // the runtime forgets a task with its session
	return w
}

// Done implements tasks.Work: an agent task is terminal only when its process tree is dead.
func (w *agentWork) Done() <-chan struct{} { return w.done }

// Outcome implements tasks.Work.
func (w *agentWork) Outcome() taskstore.Outcome { return w.outcome() }

func (w *agentWork) end() taskstore.Outcome {
	status, err := w.server.runtime.Status(w.id, "")
	if err != nil || !status.Status.Terminal() { // cannot happen: nobody forgets a task that ends just now
		w.server.log.Error("a task ended without a state", "task_id", w.id, "error", err)
		return taskstore.Outcome{Status: taskstore.Failed, Error: &taskstore.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}}
	}
	o := taskstore.Outcome{Status: taskstore.Completed, Message: visible.Clip(status.Message, lineLimit)}
	if status.Status == agent.Cancelled {
		o.Status = taskstore.Cancelled
		return o
	}
	o.Result = &taskstore.Result{Text: statusText(status), IsError: status.Status != agent.Completed}
	return o
}

// Progress implements tasks.Work.
func (w *agentWork) Progress() tasks.Progress {
	status, err := w.server.runtime.Status(w.id, "")
	if err != nil {
		return tasks.Progress{}
	}
	message := status.Message
	if status.CurrentTask != "" {
		message = status.CurrentTask
	}
	if w.cancelling.Load() {
		message = w.server.texts.Text("mcp.task.cancelling", nil)
	}
	return tasks.Progress{Message: visible.Clip(message, lineLimit), Updated: status.Updated}
}

// Cancel implements tasks.Work.
func (w *agentWork) Cancel() {
	w.cancelling.Store(true)
	if err := w.server.runtime.Interrupt(w.id); err != nil {
		w.server.log.Warn("cancelling a task", "task_id", w.id, "error", err)
	}
}

// Answer implements tasks.Work: an agent task asks nothing.
func (w *agentWork) Answer(map[string]json.RawMessage) {}
