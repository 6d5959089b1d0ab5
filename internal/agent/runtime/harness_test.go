package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/planner"
	"sekisho/internal/agent/tool"
	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/locale"
	"sekisho/internal/sandbox"
)

// answer is one scripted reply of the model. It runs on the runner and may look at the runtime while the call is pending.
type answer func(ctx context.Context, q ollama.Request) (ollama.Response, error)

// model answers from a script, in order; a call beyond its end fails the test. The last answer is repeated with forever.
type model struct {
	t       *testing.T
	forever bool

	mu     sync.Mutex
	script []answer
	asked  []ollama.Request
}

func (m *model) Chat(ctx context.Context, q ollama.Request) (ollama.Response, error) {
	if err := ollama.ValidateConversation(q.Messages); err != nil {
		m.t.Error("the conversation would be refused:", err)
	}
	m.mu.Lock()
	m.asked = append(m.asked, q)
	if len(m.script) == 0 {
		m.mu.Unlock()
		m.t.Errorf("unexpected model call, phase %s", q.Phase)
		return ollama.Response{}, fault.New(fault.OllamaProtocol)
	}
	a := m.script[0]
	if len(m.script) > 1 || !m.forever {
		m.script = m.script[1:]
	}
	m.mu.Unlock()
	return a(ctx, q)
}

func (m *model) Fault(code fault.Code, opts ...fault.Option) *fault.Error {
	return fault.New(code, append(opts, fault.Arg("model", "scripted"), fault.Arg("endpoint", "nowhere"))...)
}

// calls returns the requests of one phase.
func (m *model) calls(phase agent.Phase) []ollama.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.asked), func(q ollama.Request) bool { return q.Phase != phase })
}

var usage = agent.Usage{Input: 100, Output: 10}

func reply(r ollama.Response) answer {
	r.Message.Role = "assistant"
	r.Usage = usage
	r.Empty = strings.TrimSpace(r.Message.Content) == "" && len(r.Message.ToolCalls) == 0
	return func(context.Context, ollama.Request) (ollama.Response, error) { return r, nil }
}

func says(text string) answer {
	return reply(ollama.Response{Message: agent.Message{Content: text}})
}

func refuses(code fault.Code) answer {
	return func(context.Context, ollama.Request) (ollama.Response, error) {
		return ollama.Response{}, fault.New(code)
	}
}

var callNumber int

// use makes one call; args is a JSON object.
func use(name, args string) agent.ToolCall {
	callNumber++
	return agent.ToolCall{ID: fmt.Sprint("call_", callNumber), Name: name, Arguments: json.RawMessage(args), Source: agent.SourceNative}
}

func uses(calls ...agent.ToolCall) answer {
	return reply(ollama.Response{Message: agent.Message{ToolCalls: calls, Thinking: "SECRET REASONING"}})
}

func edit(path string) agent.ToolCall {
	return use("file_edit", `{"path":"`+path+`","operation":"overwrite","content":"new"}`)
}

func read(path string) agent.ToolCall {
	return use("file_read", `{"path":"`+path+`","mode":"whole"}`)
}

func goRun(args ...string) agent.ToolCall {
	text, _ := json.Marshal(args)
	return use("process_run", `{"executable":"go","args":`+string(text)+`,"cwd":"/w"}`)
}

// planned is a planner task in a scripted plan: id, effect, tools, dependencies.
func planned(id string, effect bool, tools string, on ...string) string {
	deps, _ := json.Marshal(append([]string{}, on...))
	list := "[]"
	if tools != "" {
		list = `["` + strings.ReplaceAll(tools, " ", `","`) + `"]`
	}
	return fmt.Sprintf(`{"id":%q,"description":"do %s","depends_on":%s,"budget_class":"1K","optimistic_tokens":60,"most_likely_tokens":60,"pessimistic_tokens":60,"requires_external_effect":%t,"required_tools":%s}`,
		id, id, deps, effect, list)
}

func plans(tasks ...string) answer { return says(`{"tasks":[` + strings.Join(tasks, ",") + `]}`) }

var coding = planned("t1", true, "file_edit process_run")

// tools answers calls that pass the real schemas and scope check with do; the real dispatcher answers the others.
type tools struct {
	*tool.Dispatcher
	do func(ctx context.Context, s tool.Scope, call agent.ToolCall) agent.ToolResult

	mu   sync.Mutex
	done []agent.ToolCall
}

func (f *tools) Call(ctx context.Context, s tool.Scope, call agent.ToolCall) agent.ToolResult {
	scope := planner.Task{RequiredTools: s.Required}
	if f.Validate(call) != nil || !scope.InScope(call.Name, arguments(call).Operation) || call.Name == agent.ToolTaskUpdate {
		return f.Dispatcher.Call(ctx, s, call)
	}
	f.mu.Lock()
	f.done = append(f.done, call)
	f.mu.Unlock()
	return f.do(ctx, s, call)
}

func (f *tools) dispatched() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, c := range f.done {
		out = append(out, c.Name+" "+canonical(c))
	}
	return out
}

func succeeds(call agent.ToolCall) agent.ToolResult {
	r := agent.ToolResult{CallID: call.ID, Name: call.Name, OK: true, Content: `{"ok":true}` + "\nCONTENT OF " + canonical(call)}
	r.SideEffect = planner.SideEffect(call.Name, arguments(call).Operation)
	return r
}

func failsWith(call agent.ToolCall, code fault.Code) agent.ToolResult {
	info, _ := fault.Lookup(code)
	return agent.ToolResult{
		CallID: call.ID, Name: call.Name, ErrorCode: code, ErrorCategory: info.Category, RetryAllowed: info.Retry, TargetPath: "/t",
		UserText: "USER TEXT", Content: fmt.Sprintf(`{"ok":false,"error_code":%q}`, code) + "\nwhy it failed",
	}
}

type job struct {
	lost   chan struct{}
	closed chan struct{} // closed when Close is entered
	ending chan struct{} // Close waits for it; nil waits for nothing
	err    error
	once   sync.Once
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
}

func (o *opener) Open(_ context.Context, session, task string) (sandbox.Job, error) {
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
