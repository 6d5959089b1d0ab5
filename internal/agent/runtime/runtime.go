package runtime

import (
	"context"
	"log/slog"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/tool"
	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// Model is the local model; *ollama.Client implements it.
type Model interface {
	Chat(context.Context, ollama.Request) (ollama.Response, error)
	Capabilities(context.Context) (ollama.Capabilities, error)
}

// Tools are the internal tools; *tool.Dispatcher implements it.
type Tools interface {
	Catalogue() []agent.ToolSpec
	Validate(agent.ToolCall) error
	Call(context.Context, tool.Scope, agent.ToolCall) agent.ToolResult
}

// Auditor appends one audit event; *audit.Writer implements it. What the event announces is not done when Write fails.
type Auditor interface {
	Write(audit.Event) error
}

// Texts gives localized sentences; *locale.Catalogue implements it.
type Texts interface {
	Text(key string, args map[string]string) string
	Error(*fault.Error) (sentence, remedy string)
	Name() string
}

// Deps are what a Runtime works with. All are required but Log, Now and NewID.
type Deps struct {
	Model  Model
	Tools  Tools
	Opener sandbox.Opener
	Audit  Auditor
	Texts  Texts
	Policy *sandbox.EffectivePolicy // for capability summary and task.start
	Config Config
	Log    *slog.Logger     // nil discards
	Now    func() time.Time // nil means time.Now
	NewID  func() string    // nil means random UUIDs
}

// Config holds the values of the configuration that the runtime obeys.
type Config struct {
	UserPrompt       string        // text of the user system prompt, or ""
	MaxIterations    int           // agent.max_iterations
	SameFailureLimit int           // agent.same_failure_limit
	TaskTimeout      time.Duration // agent.task_timeout_seconds; 0 means none
	MaxTasks         int           // planner.max_tasks
	SessionTTL       time.Duration // mcp.tasks.time_to_live_hours
	NumCtx           int           // ollama.options.num_ctx, or 0 when unset
	NumPredict       int           // ollama.options.num_predict, or 0 when unset
}

// Request is one accepted call of agent_run. Its arguments have been validated (A-MCP-08).
type Request struct {
	Text        string
	SessionID   string   // "" opens a new session
	Temperature *float64 // for this agent task only (A-OLL-03)
	Images      []agent.Image
	// Owner names the connection that the task belongs to; see CloseOwner. "" means none.
	Owner string
}

// Accepted names the new agent task.
type Accepted struct{ TaskID, SessionID string }

// Runtime runs agent tasks.
type Runtime struct{ deps Deps }

// New returns a running Runtime; Stop ends it.
func New(deps Deps) *Runtime { return &Runtime{deps: deps} }

// Enqueue accepts a request and returns at once. The agent task is detached from whatever context the caller has.
// Errors: session.not_found, server.stopping.
func (r *Runtime) Enqueue(q Request) (Accepted, error) { return Accepted{}, nil }

// Status tells an agent task's state. A sessionID, if given, must be the task's own and active.
// Errors: task.not_found, session.not_found.
func (r *Runtime) Status(taskID, sessionID string) (agent.TaskStatus, error) {
	return agent.TaskStatus{}, nil
}

// Done is closed when the agent task is terminal; for an unknown task it is closed already.
func (r *Runtime) Done(taskID string) <-chan struct{} { return nil }

// Cancel cancels an agent task and returns when it is terminal and its process tree is dead, or with ctx's error. A task
// that is terminal already stays as it is. Errors: task.not_found.
func (r *Runtime) Cancel(ctx context.Context, taskID string) error { return nil }

// CloseOwner closes the sessions that owner opened and cancels its unfinished tasks, then waits as Cancel does (A-SES-08).
func (r *Runtime) CloseOwner(ctx context.Context, owner string) error { return nil }

// Stop refuses new requests, cancels what is unfinished, closes every session and waits for the runner (A-STOP-01).
func (r *Runtime) Stop(ctx context.Context) error { return nil }

// Fatal delivers at most one error after which the application must stop (recovery_failure).
func (r *Runtime) Fatal() <-chan error { return nil }
