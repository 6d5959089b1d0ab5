package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/planner"
	"sekisho/internal/agent/tool"
	"sekisho/internal/fault"
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
