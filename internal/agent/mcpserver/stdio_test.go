package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/internal/agent"
	"sekisho/internal/agent/runtime"
	"sekisho/internal/fault"
	"sekisho/test/goroutines"
)

func TestMain(m *testing.M) { goroutines.Main(m) }

// keyTexts answers with the key, so that tests do not depend on wording.
type keyTexts struct{}

func (keyTexts) Text(key string, _ map[string]string) string { return key }
func (keyTexts) Error(e *fault.Error) (string, string) {
	return e.SentenceKey() + " " + e.Target, e.RemedyKey()
}

// fakeRuntime accepts every run and knows its state.
type fakeRuntime struct {
	mu        sync.Mutex
	enqueued  []runtime.Request
	ids       []string
	cancelled []string
	block     chan struct{} // Enqueue waits for it when set
	entered   chan struct{}
	refuse    error
}

func (f *fakeRuntime) Enqueue(r runtime.Request) (runtime.Accepted, error) {
	if f.block != nil {
		f.entered <- struct{}{}
		<-f.block
	}
	if f.refuse != nil {
		return runtime.Accepted{}, f.refuse
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.enqueued = append(f.enqueued, r)
	id := uuid.NewString()
	f.ids = append(f.ids, id)
	return runtime.Accepted{TaskID: id, SessionID: goodUUID}, nil
}

func (f *fakeRuntime) Cancel(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cancelled = append(f.cancelled, id)
	return nil
}

func (f *fakeRuntime) Interrupt(id string) error { return f.Cancel(context.Background(), id) }

// Done implements Runtime: no task of this runtime ends.
func (f *fakeRuntime) Done(string) <-chan struct{} { return nil }

func (f *fakeRuntime) Status(id, _ string) (agent.TaskStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, known := range f.ids {
		if known == id {
			return agent.TaskStatus{TaskID: id, SessionID: goodUUID, Status: agent.Running}, nil
		}
	}
	return agent.TaskStatus{}, fault.New(fault.TaskNotFound, fault.Target(id))
}

func newServer(rt Runtime, log io.Writer) *Server {
	return New(Deps{Runtime: rt, Texts: keyTexts{}, Log: slog.New(slog.NewTextHandler(log, nil)), Version: "test",
		Images: ImageLimits{MaxCount: 4, MaxBytesEach: 10 << 20, MaxTotalBytes: 20 << 20}})
}

// serve feeds whole input to a server and returns the lines it wrote, by id, and the log.
func serve(t *testing.T, rt Runtime, input string) (map[string]json.RawMessage, []string, string) {
	t.Helper()
	var out, log bytes.Buffer
	ready := 0
	if err := newServer(rt, &log).ServeStdio(t.Context(), strings.NewReader(input), &out, "owner", func() { ready++ }); err != nil {
		t.Fatal(err)
	}
	if ready != 1 {
		t.Errorf("ready announced %d times", ready)
	}
	answers := map[string]json.RawMessage{}
	var unnamed []string
	for line := range strings.Lines(out.String()) {
		var m struct {
			JSONRPC string
			ID      json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" {
			t.Fatalf("stdout carries %q: %v", line, err)
		}
		if string(m.ID) == "null" {
			unnamed = append(unnamed, line)
			continue
		}
		if answers[string(m.ID)] != nil {
			t.Errorf("two answers to %s", m.ID)
		}
		answers[string(m.ID)] = json.RawMessage(line)
	}
	return answers, unnamed, log.String()
}

const (
	initialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
)

func call(id, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args) + "\n"
}

// proves A-MCP-01, A-MCP-06
func TestBothErasListExactlyTwoTools(t *testing.T) {
	for era, input := range map[string]string{
		"initialize": initialize + `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}` + "\n",
		"2026-07-28": `{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{` + modernMeta + `}}` + "\n" +
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}` + "\n",
	} {
		answers, unnamed, log := serve(t, &fakeRuntime{}, input)
		var list struct {
			Result struct {
				Tools []struct {
					Name        string
					InputSchema json.RawMessage
				}
			}
		}
		if err := json.Unmarshal(answers["1"], &list); err != nil || len(unnamed) > 0 {
			t.Fatalf("%s: %v %q %s", era, err, unnamed, log)
		}
		if n := len(list.Result.Tools); n != 2 || list.Result.Tools[0].Name != "agent_run" || list.Result.Tools[1].Name != "agent_status" {
			t.Fatalf("%s: tools %s", era, answers["1"])
		}
		for i, want := range []string{runSchema, statusSchema} {
			if got := string(list.Result.Tools[i].InputSchema); !sameJSON(t, got, want) {
				t.Errorf("%s: schema %s, want %s", era, got, want)
			}
		}
		for id, answer := range answers {
			if bytes.Contains(answer, []byte(`"error"`)) {
				t.Errorf("%s: answer %s is %s", era, id, answer)
			}
			for _, capability := range []string{`"prompts"`, `"resources"`, `"logging"`, `"completions"`, `"tasks"`, `"listChanged"`} {
				if bytes.Contains(answer, []byte(capability)) {
					t.Errorf("%s: answer declares %s: %s", era, capability, answer)
				}
			}
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	xs, _ := json.Marshal(x)
	ys, _ := json.Marshal(y)
	return string(xs) == string(ys)
}

// proves A-MCP-01
func TestEverythingOutsideTheSurfaceIsMethodNotFound(t *testing.T) {
	input := initialize
	methods := []string{"prompts/list", "prompts/get", "resources/list", "resources/read", "resources/templates/list", "resources/subscribe",
		"logging/setLevel", "completion/complete", "subscriptions/listen", "tasks/get", "tasks/cancel", "tasks/list", "no/such", "roots/list", "sampling/createMessage"}
	for i, m := range methods {
		input += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{}}`, i, m) + "\n"
	}
	answers, _, _ := serve(t, &fakeRuntime{}, input)
	for i, m := range methods {
		if got := string(answers[fmt.Sprint(i)]); !strings.Contains(got, `"code":-32601`) {
			t.Errorf("%s: %s", m, got)
		}
	}
}

// proves A-MCP-04, A-MCP-08
func TestBadFramesAreAnsweredAndTheServerLives(t *testing.T) {
	rt := &fakeRuntime{}
	big := `{"jsonrpc":"2.0","id":"big","method":"ping","params":{"x":"` + strings.Repeat("A", FrameLimit) + `"}}`
	answers, unnamed, log := serve(t, rt, initialize+
		"garbage canary-91\n"+
		"\xef\xbb\xbf"+`{"jsonrpc":"2.0","id":"bom","method":"ping"}`+"\n"+
		`42`+"\n"+
		big+"\n"+
		`{"jsonrpc":"2.0","id":"deep","method":"ping","params":{"x":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+`}}`+"\n"+
		"\n\r\n"+
		`{"jsonrpc":"2.0","id":"x","result":{}}`+"\n"+
		call("1", "agent_run", `{"request":"do it"}`)+
		call("2", "agent_run", `{"request":""}`)+
		call("3", "agent_status", `{"task_id":"`+goodUUID+`"}`)+
		call("4", "no_such_tool", `{}`)+
		`{"jsonrpc":"2.0","id":5,"method":"ping"}`) // the last line has no end
	if len(unnamed) != 5 {
		t.Errorf("%d refusals: %q", len(unnamed), unnamed)
	}
	for id, want := range map[string]string{
		"1": "status: queued", "2": "error_code: request.invalid", "3": "error_code: task.not_found", "4": `"code":-32602`, "5": `"result"`,
	} {
		if !strings.Contains(string(answers[id]), want) {
			t.Errorf("answer %s: %s, want %s", id, answers[id], want)
		}
	}
	if len(rt.enqueued) != 1 || rt.enqueued[0].Text != "do it" || rt.enqueued[0].Owner != "owner" {
		t.Errorf("enqueued %+v", rt.enqueued)
	}
	if strings.Contains(log, "canary-91") || !strings.Contains(log, "refused a frame") {
		t.Errorf("log: %s", log)
	}
}

// pipe is a client's side of a stdio connection.
type pipe struct {
	t   *testing.T
	in  *io.PipeWriter
	out *bufio.Reader
}

func connect(t *testing.T, s *Server) (pipe, chan error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := s.ServeStdio(t.Context(), inR, outW, "owner", func() {})
		outW.Close()
		done <- err
	}()
	return pipe{t, inW, bufio.NewReader(outR)}, done
}

func (p pipe) send(s string) {
	if _, err := io.WriteString(p.in, s); err != nil {
		p.t.Error(err)
	}
}

func (p pipe) receive() string {
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Errorf("%v after %q", err, line)
	}
	return line
}

// proves A-RUN-04
func TestCancelledNotificationCancelsTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &fakeRuntime{}
		p, done := connect(t, newServer(rt, io.Discard))
		p.send(initialize)
		p.receive()
		p.send(call(`"run"`, "agent_run", `{"request":"x"}`))
		p.receive()
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"other"}}` + "\n")
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"run"}}` + "\n")
		synctest.Wait()
		rt.mu.Lock()
		if len(rt.cancelled) != 1 || rt.cancelled[0] != rt.ids[0] {
			t.Errorf("cancelled %v of %v", rt.cancelled, rt.ids)
		}
		rt.mu.Unlock()
		p.in.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// accepting is a connection whose request 7 is with the runtime, which waits to accept it.
func accepting(t *testing.T) (*fakeRuntime, pipe, chan error) {
	rt := &fakeRuntime{block: make(chan struct{}), entered: make(chan struct{}, 1)}
	p, done := connect(t, newServer(rt, io.Discard))
	p.send(initialize)
	p.receive()
	p.send(call(`7`, "agent_run", `{"request":"x"}`))
	<-rt.entered
	return rt, p, done
}

// proves A-RUN-04
func TestCancelledWhileBeingAcceptedIsNotAnsweredAndCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, p, done := accepting(t)
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}` + "\n")
		synctest.Wait()
		close(rt.block)
		p.send(`{"jsonrpc":"2.0","id":8,"method":"ping"}` + "\n")
		if got := p.receive(); !strings.Contains(got, `"id":8`) {
			t.Errorf("the cancelled request was answered: %s", got)
		}
		synctest.Wait()
		rt.mu.Lock()
		if len(rt.cancelled) != 1 {
			t.Errorf("cancelled %v", rt.cancelled)
		}
		rt.mu.Unlock()
		p.in.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestAnswersAreDrainedAtTheEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, p, done := accepting(t)
		p.in.Close()
		synctest.Wait()
		select {
		case <-done:
			t.Error("the server ended with a request unanswered")
		default:
		}
		close(rt.block)
		if got := p.receive(); !strings.Contains(got, "status: queued") {
			t.Errorf("got %s", got)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// The SDK's own client agrees with what the raw frames show.
// proves A-MCP-02, A-MCP-06
func TestSDKClientRunsAndAsks(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	rt := &fakeRuntime{}
	done := make(chan error, 1)
	go func() { done <- newServer(rt, io.Discard).ServeStdio(t.Context(), inR, outW, "owner", func() {}) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "agent_run", Arguments: map[string]any{"request": "x"}})
	if err != nil || result.IsError || len(result.Content) != 1 || result.StructuredContent != nil {
		t.Fatalf("%+v, %v", result, err)
	}
	want := "task_id: " + rt.ids[0] + "\nsession_id: " + goodUUID + "\nstatus: queued\nmessage: run.accepted"
	if got := result.Content[0].(*mcp.TextContent).Text; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	session.Close()
	inW.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
