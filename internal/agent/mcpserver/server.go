// Package mcpserver is the outside of agent-mcp: two tools over MCP, and nothing else (A-MCP-01). It is the only user of
// the MCP SDK.
//
// Everything that comes in is untrusted. A frame is decoded strictly before the SDK sees it, a method outside the surface
// is answered with -32601, arguments and images are validated before a task exists, and texts that go out are escaped so
// that no value can forge another line. The package knows the runtime's exported API only: no policy, planner or model.
package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/internal/agent"
	"sekisho/internal/agent/mcpserver/tasks"
	"sekisho/internal/agent/runtime"
)

// Runtime is what the server needs of the Agent Runtime.
type Runtime interface {
	Enqueue(runtime.Request) (runtime.Accepted, error)
	Cancel(ctx context.Context, taskID string) error
	Interrupt(taskID string) error
	Done(taskID string) <-chan struct{}
	Status(taskID, sessionID string) (agent.TaskStatus, error)
}

// Deps are the server's collaborators; all but Tasks are required.
type Deps struct {
	Runtime Runtime
	Texts   Texts
	Log     *slog.Logger
	Version string
	Images  ImageLimits
	// Tasks is the Tasks extension; without it a server neither declares nor knows it.
	Tasks *tasks.Extension
}

// Server offers agent_run and agent_status.
type Server struct {
	runtime Runtime
	texts   Texts
	log     *slog.Logger
	images  ImageLimits
	mcp     *mcp.Server
	http    http.Handler // of the SDK
}

// New returns a server that is not yet connected to anything.
func New(d Deps) *Server {
	s := &Server{runtime: d.Runtime, texts: d.Texts, log: d.Log, images: d.Images}
	capabilities := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	if d.Tasks != nil {
		tasks.Declare(capabilities)
	}
	s.mcp = mcp.NewServer(
		&mcp.Implementation{Name: "agent-mcp", Version: d.Version},
		&mcp.ServerOptions{
			Logger:       sdkLog(d.Log),
			Instructions: d.Texts.Text("mcp.instructions", nil),
			Capabilities: capabilities,
		})
	s.mcp.AddTool(&mcp.Tool{
		Name:        "agent_run",
		Description: d.Texts.Text("mcp.agent_run", nil),
		InputSchema: json.RawMessage(runSchema),
	}, s.agentRun)
	s.mcp.AddTool(&mcp.Tool{
		Name:        "agent_status",
		Description: d.Texts.Text("mcp.agent_status", nil),
		InputSchema: json.RawMessage(statusSchema),
	}, s.agentStatus)
	if d.Tasks != nil {
		d.Tasks.Attach(s.mcp)
	}
	s.mcp.AddReceivingMiddleware(allowOnly(methods))
	s.http = newHTTPHandler(s)
	return s
}

// ServeStdio serves one client until its input ends, ctx is cancelled or the client can no longer be written to. Owner
// names the client towards the runtime; ready is called once the transport has started (A-MCP-10). The caller then ends
// the client's tasks with the runtime's CloseOwner. The end of input is no error.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, owner string, ready func()) error {
	conn := &connection{owner: owner, tasks: map[string]string{}, cancelledEarly: map[string]bool{}}
	ctx = context.WithValue(ctx, connectionKey{}, conn)
	conn.cancel = func(task string) { s.cancelTask(ctx, task) }
	defer conn.cancels.Wait()
	transport := &lineTransport{in: in, out: out, log: s.log, limit: FrameLimit, requests: conn}
	session, err := s.mcp.Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	ready()
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case <-ctx.Done():
		session.Close()
		<-ended
		return nil
	case err := <-ended:
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
}

// NewOwner returns a name for a new client.
func NewOwner() string { return uuid.NewString() }

func (s *Server) agentRun(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	in, err := parseRun(req.Params.Arguments, s.images)
	if err != nil {
		return s.refusal(err), nil
	}
	conn, _ := ctx.Value(connectionKey{}).(*connection)
	if conn == nil {
		return nil, errors.New("agent_run outside a connection")
	}
	work := runtime.Request{
		Text:        in.Request,
		SessionID:   in.SessionID,
		Temperature: in.Temperature,
		Images:      in.Images,
		Owner:       conn.owner,
	}
	if offer := tasks.Offered(ctx); offer != nil {
		id, err := s.runAsTask(offer, work)
		if err != nil {
			return s.refusal(err), nil
		}
		if id != "" {
			if conn.started(requestID(req), id) {
				s.runtime.Interrupt(id)
			}
			return textResult(""), nil // the task takes its place
		}
	}
	accepted, err := s.runtime.Enqueue(work)
	if err != nil {
		return s.refusal(err), nil
	}
	if conn.started(requestID(req), accepted.TaskID) {
		s.cancelTask(ctx, accepted.TaskID)
	}
	return textResult(acceptedText(accepted.TaskID, accepted.SessionID, s.texts.Text("run.accepted", nil))), nil
}

func (s *Server) agentStatus(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	in, err := parseStatus(req.Params.Arguments)
	if err != nil {
		return s.refusal(err), nil
	}
	status, err := s.runtime.Status(in.TaskID, in.SessionID)
	if err != nil {
		return s.refusal(err), nil
	}
	return textResult(statusText(status)), nil
}

func (s *Server) cancelTask(ctx context.Context, task string) {
	// Detached: a client that closes right after its cancellation still means it.
	if err := s.runtime.Cancel(context.WithoutCancel(ctx), task); err != nil {
		s.log.Warn("cancelling a task", "task_id", task, "error", err)
	}
}
