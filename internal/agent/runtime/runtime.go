package runtime

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/prompt"
	"sekisho/internal/agent/session"
	"sekisho/internal/agent/tool"
	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// Model is the local model; *ollama.Client implements it.
type Model interface {
	// Chat performs one logical call; see ollama.Client.Chat for its errors.
	Chat(context.Context, ollama.Request) (ollama.Response, error)
	// Fault returns an error that names endpoint and model, for what this package finds wrong with a reply.
	Fault(fault.Code, ...fault.Option) *fault.Error
}

// Tools are the internal tools; *tool.Dispatcher implements it. Call audits each call before its effect.
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
	Join(sentences ...string) string
	Name() string
}

// Deps are what a Runtime works with. All are required but Log, Now and NewID.
type Deps struct {
	Model  Model
	Tools  Tools
	Opener sandbox.Opener
	Audit  Auditor
	Texts  Texts
	Policy *sandbox.EffectivePolicy // for the capability summary and the audit's task.start
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

// Runtime runs agent tasks. Its methods are safe for concurrent use.
type Runtime struct {
	deps     Deps
	frame    prompt.Frame
	base     string // where relative paths of file tools start: the one workspace, else ""
	sessions *session.Store
	fatal    chan error
	wake     chan struct{} // holds one token when the runner has to look again
	stopped  chan struct{} // closed when the runner has ended

	mu       sync.Mutex
	tasks    map[string]*task
	queue    []*task // accepted and not yet begun, in order of acceptance
	stopping bool
	// unfinished counts the tasks that are not terminal, bytes the size of their requests.
	unfinished int
	bytes      int64
}

// New returns a Runtime whose runner waits for requests; Stop ends it.
func New(deps Deps) *Runtime {
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.NewID == nil {
		deps.NewID = uuid.NewString
	}
	r := &Runtime{
		deps: deps,
		frame: prompt.Frame{
			User: deps.Config.UserPrompt, Locale: deps.Texts.Name(), Capability: capability(deps.Policy),
		},
		base:     workspace(deps.Policy),
		sessions: session.NewStore(deps.Config.SessionTTL, deps.Now),
		fatal:    make(chan error, 1),
		wake:     make(chan struct{}, 1),
		stopped:  make(chan struct{}),
		tasks:    map[string]*task{},
	}
	go r.loop()
	return r
}

// workspace is the one workspace root, or "": see A-TOOL-04 and the tools' own rule for relative paths.
func workspace(p *sandbox.EffectivePolicy) string {
	var found []string
	if p != nil {
		for _, root := range p.Roots {
			if slices.Contains(root.Origins, sandbox.OriginWorkspace) {
				found = append(found, root.Path)
			}
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// Fatal delivers at most one error after which the application must stop: something could not be cleaned up
// (recovery_failure). No further request is accepted or begun.
func (r *Runtime) Fatal() <-chan error { return r.fatal }

// fail delivers the fatal error and stops taking tasks.
func (r *Runtime) fail(err error) {
	r.deps.Log.Error("cleaning up failed; the server must stop", "error", err)
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
	select {
	case r.fatal <- err:
	default: // the first one is enough
	}
}

// loop is the one runner (A-RUN-03).
func (r *Runtime) loop() {
	defer close(r.stopped)
	for {
		t, stop := r.next()
		switch {
		case t != nil:
			r.run(t)
		case stop:
			return
		default:
			<-r.wake
		}
	}
}

// next takes the oldest queued task, which stays queued until it has its workspaces. Stop is true when there will be none any more.
func (r *Runtime) next() (t *task, stop bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopping {
		return nil, true
	}
	if len(r.queue) == 0 {
		return nil, false
	}
	t, r.queue = r.queue[0], r.queue[1:]
	return t, false
}

func (r *Runtime) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
