package runtime

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"sekisho/internal/agent"
	"sekisho/internal/agent/tool"
	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/locale"
	"sekisho/internal/sandbox"
)

type job struct {
	lost   chan struct{}
	spare  bool
	closed chan struct{} // closed when Close is entered
	ending chan struct{} // Close waits for it; nil waits for nothing
	err    error
	once   sync.Once

	guards []sandbox.Guard
	left   []sandbox.Quarantined
}

func (j *job) Start(context.Context, sandbox.Command) (sandbox.Process, error) {
	return nil, fault.New(fault.SandboxFailed)
}
func (j *job) Lost() <-chan struct{} { return j.lost }
func (j *job) Close(context.Context) error {
	j.once.Do(func() { close(j.closed) })
	if j.ending != nil {
		<-j.ending
	}
	return j.err
}

type opener struct {
	mu   sync.Mutex
	jobs []*job
	make func() *job
	err  error

	claim    func(ctx context.Context, waiting func(string)) error
	guards   []sandbox.Guard
	released int
}

func (j *job) Guards() []sandbox.Guard            { return j.guards }
func (j *job) Quarantined() []sandbox.Quarantined { return j.left }
func (j *job) FromSpare() bool                    { return j.spare }

// claim is the use of the workspaces.
type claim struct{ o *opener }

func (c claim) Guards() []sandbox.Guard { return c.o.guards }
func (c claim) Release() error          { c.o.mu.Lock(); c.o.released++; c.o.mu.Unlock(); return nil }

func (o *opener) Claim(ctx context.Context, task string, waiting func(string)) (sandbox.Claim, error) {
	if o.claim != nil {
		if err := o.claim(ctx, waiting); err != nil {
			return nil, err
		}
	}
	return claim{o}, nil
}

func (o *opener) Open(_ context.Context, session, task string) (sandbox.TaskJob, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return nil, o.err
	}
	j := &job{lost: make(chan struct{}), closed: make(chan struct{})}
	if o.make != nil {
		j = o.make()
	}
	o.jobs = append(o.jobs, j)
	return j, nil
}

func (o *opener) opened() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.jobs)
}

type recorder struct {
	mu     sync.Mutex
	events []audit.Event
	refuse string // name of the event whose writing fails
}

func (r *recorder) Write(e audit.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Event == r.refuse {
		return os.ErrPermission
	}
	r.events = append(r.events, e)
	return nil
}

func (r *recorder) of(name string) []audit.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.events), func(e audit.Event) bool { return e.Event != name })
}

// world is a Runtime with everything around it.
type world struct {
	*Runtime
	t      *testing.T
	model  *model
	tools  *tools
	opener *opener
	audit  *recorder
}

func texts(t *testing.T, name string) *locale.Catalogue {
	t.Helper()
	load := func(name string) locale.Texts {
		data, err := os.ReadFile("../../../config/locales/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		texts, err := locale.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		return texts
	}
	return locale.New(name, load(name), load(locale.English))
}

func config() Config {
	return Config{MaxIterations: 20, SameFailureLimit: 5, MaxTasks: 8, NumCtx: 8192}
}

// newWorld starts a runtime whose model follows script; every call that the schemas and the scope admit succeeds.
func newWorld(t *testing.T, cfg Config, script ...answer) *world {
	t.Helper()
	m := &model{t: t, script: script}
	w := newWorldWith(t, cfg, m)
	w.model = m
	return w
}

// newWorldWith starts a runtime with any model.
func newWorldWith(t *testing.T, cfg Config, m Model) *world {
	t.Helper()
	w := &world{t: t, opener: &opener{}, audit: &recorder{}}
	english := texts(t, "en")

	w.tools = &tools{Dispatcher: tool.New(tool.Deps{Audit: w.audit, Texts: english})}
	w.tools.do = func(_ context.Context, _ tool.Scope, call agent.ToolCall) agent.ToolResult { return succeeds(call) }
	w.Runtime = New(Deps{
		Model: m, Tools: w.tools, Opener: w.opener, Audit: w.audit, Texts: english, Config: cfg,
		Policy: &sandbox.EffectivePolicy{Profile: "development", Roots: []sandbox.Root{{Path: "/w", Rights: sandbox.Read | sandbox.Write, Origins: []sandbox.Origin{sandbox.OriginWorkspace}}},
			Baseline: []sandbox.BaselineGrant{{Name: "devices", Identifier: "dev-null"}}},
	})
	t.Cleanup(func() {
		if err := w.Stop(context.Background()); err != nil {
			t.Error("stopping:", err)
		}
	})
	return w
}

func (w *world) enqueue(q Request) Accepted {
	w.t.Helper()
	if q.Text == "" {
		q.Text = "THE REQUEST"
	}
	a, err := w.Enqueue(q)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) status(id string) agent.TaskStatus {
	w.t.Helper()
	s, err := w.Status(id, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// result enqueues one request and waits for its end.
func (w *world) result() agent.TaskStatus {
	w.t.Helper()
	a := w.enqueue(Request{})
	<-w.Done(a.TaskID)
	return w.status(a.TaskID)
}

// ends fails the test unless the request ends in this state with this code.
func (w *world) ends(state agent.Status, code fault.Code) agent.TaskStatus {
	w.t.Helper()
	s := w.result()
	if s.Status != state || s.LastErrorCode != code {
		w.t.Errorf("ended %s %q (%s), want %s %q", s.Status, s.LastErrorCode, s.LastError, state, code)
	}
	if (s.LastError == "") != (code == "") {
		w.t.Errorf("code %q with the text %q", code, s.LastError)
	}
	return s
}

// told is everything the model was told in its n-th call of a phase, as one text.
func (w *world) told(phase agent.Phase, n int) string {
	w.t.Helper()
	calls := w.model.calls(phase)
	if n >= len(calls) {
		w.t.Fatalf("only %d calls of phase %s", len(calls), phase)
	}
	var b strings.Builder
	for _, m := range calls[n].Messages {
		fmt.Fprintf(&b, "<%s>%s\n", m.Role, m.Content)
	}
	return b.String()
}
