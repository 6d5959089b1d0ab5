package runtime

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/tool"
	"sekisho/internal/fault"
)

// gate is a model answer that announces itself and waits until it is let through.
type gate struct{ reached, pass chan struct{} }

func newGate() gate { return gate{make(chan struct{}), make(chan struct{})} }

func (g gate) answer(a answer) answer {
	return func(ctx context.Context, q ollama.Request) (ollama.Response, error) {
		close(g.reached)
		select {
		case <-g.pass:
			return a(ctx, q)
		case <-ctx.Done():
			return ollama.Response{}, ctx.Err()
		}
	}
}

// proves A-RUN-03, A-RUN-04, A-MCP-02
func TestOneTaskAtATimeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		w := newWorld(t, config(), g.answer(explain), says("one"), explain, says("three"))
		one, two, three := w.enqueue(Request{}), w.enqueue(Request{}), w.enqueue(Request{})
		<-g.reached
		synctest.Wait()
		for _, a := range []Accepted{two, three} {
			if s := w.status(a.TaskID); s.Status != agent.Queued {
				t.Errorf("%s while another runs", s.Status)
			}
		}
		if err := w.Cancel(t.Context(), two.TaskID); err != nil {
			t.Fatal(err)
		}
		if s := w.status(two.TaskID); s.Status != agent.Cancelled || s.LastErrorCode != fault.AgentCancelled || s.LastError == "" {
			t.Errorf("the cancelled one: %+v", s)
		}
		if w.opener.opened() > 0 {
			t.Error("cancelling a queued task touched the sandbox")
		}
		close(g.pass)
		<-w.Done(three.TaskID)
		if got := []string{w.status(one.TaskID).Result, w.status(three.TaskID).Result}; cmp.Diff([]string{"one", "three"}, got) != "" {
			t.Error("results", got)
		}
	})
}

// proves A-MCP-11, A-RUN-04, A-SBX-02
func TestCancelReturnsWhenTheTreeIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), plans(coding), uses(goRun("test")), explain, says("next"))
		ending := make(chan struct{})
		w.opener.make = func() *job {
			if w.opener.jobs == nil {
				return &job{lost: make(chan struct{}), closed: make(chan struct{}), ending: ending}
			}
			return &job{lost: make(chan struct{}), closed: make(chan struct{})}
		}
		started := make(chan struct{})
		w.tools.do = func(ctx context.Context, _ tool.Scope, call agent.ToolCall) agent.ToolResult {
			close(started)
			<-ctx.Done()
			return failsWith(call, fault.AgentCancelled)
		}
		a, b := w.enqueue(Request{}), w.enqueue(Request{})
		<-started
		returned := make(chan error, 1)
		go func() { returned <- w.Cancel(context.Background(), a.TaskID) }()
		<-w.opener.jobs[0].closed
		synctest.Wait()
		select {
		case err := <-returned:
			t.Fatal("Cancel returned while the tree was alive:", err)
		default:
		}
		if s := w.status(a.TaskID); s.Status.Terminal() {
			t.Errorf("%s while the tree was alive", s.Status)
		}
		if s := w.status(b.TaskID); s.Status != agent.Queued {
			t.Errorf("the next is %s: the queue was freed too early", s.Status)
		}
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := w.Cancel(short, a.TaskID); !errors.Is(err, context.DeadlineExceeded) {
			t.Error("a caller that waits no longer got", err)
		}
		close(ending)
		if err := <-returned; err != nil {
			t.Error(err)
		}
		if s := w.status(a.TaskID); s.Status != agent.Cancelled || s.LastErrorCode != fault.AgentCancelled {
			t.Errorf("%+v", s)
		}
		if e := w.audit.of("task.end"); len(e) == 0 || e[0].TaskID != a.TaskID || e[0].FinalState != "cancelled" {
			t.Errorf("audit %+v", e)
		}
		<-w.Done(b.TaskID)
		if s := w.status(b.TaskID); s.Result != "next" {
			t.Errorf("the next: %+v", s)
		}
	})
}

// proves A-RUN-01, A-MCP-11
func TestCancelWhilePlanning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), hangs)
		a := w.enqueue(Request{})
		synctest.Wait()
		if err := w.Cancel(t.Context(), a.TaskID); err != nil {
			t.Fatal(err)
		}
		if s := w.status(a.TaskID); s.Status != agent.Cancelled {
			t.Errorf("%+v", s)
		}
		if w.opener.opened() > 0 {
			t.Error("a sandbox was opened")
		}
	})
}

// The answer of a model call that was cancelled meanwhile is discarded.
//
// proves A-RUN-01, A-MCP-11
func TestLateAnswerIsDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reached := make(chan struct{})
		w := newWorld(t, config(), explain, func(ctx context.Context, q ollama.Request) (ollama.Response, error) {
			close(reached)
			<-ctx.Done()
			return says("too late")(ctx, q)
		})
		a := w.enqueue(Request{})
		<-reached
		if err := w.Cancel(t.Context(), a.TaskID); err != nil {
			t.Fatal(err)
		}
		if s := w.status(a.TaskID); s.Status != agent.Cancelled || s.Result != "" {
			t.Errorf("%+v", s)
		}
	})
}

// proves A-MCP-03, A-SES-01, A-ERR-01
func TestUnknownIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), explain, says("x"), explain, says("y"))
		a, b := w.enqueue(Request{}), w.enqueue(Request{})
		<-w.Done(b.TaskID)
		if _, err := w.Status(a.TaskID, a.SessionID); err != nil {
			t.Error(err)
		}
		_, err := w.Status(a.TaskID, b.SessionID)
		for name, c := range map[string]struct {
			err  error
			code fault.Code
		}{
			"another session's id": {err, fault.TaskNotFound},
			"unknown task":         {second(w.Status("none", "")), fault.TaskNotFound},
			"cancel unknown":       {w.Cancel(t.Context(), "none"), fault.TaskNotFound},
			"unknown session":      {second(w.Enqueue(Request{Text: "x", SessionID: "none"})), fault.SessionNotFound},
		} {
			if fault.CodeOf(c.err) != c.code {
				t.Errorf("%s: %v, want %s", name, c.err, c.code)
			}
		}
		<-w.Done("none")
		if err := w.Cancel(t.Context(), a.TaskID); err != nil || w.status(a.TaskID).Status != agent.Completed {
			t.Error("cancelling a completed task:", err, w.status(a.TaskID).Status)
		}
		// A server that was killed knows nothing of its tasks after the restart: the sixth lie.
		again := newWorld(t, config())
		if _, err := again.Status(a.TaskID, ""); fault.CodeOf(err) != fault.TaskNotFound {
			t.Error("after a restart:", err)
		}
		if _, err := again.Enqueue(Request{Text: "x", SessionID: a.SessionID}); fault.CodeOf(err) != fault.SessionNotFound {
			t.Error("after a restart:", err)
		}
	})
}

func second[T any](_ T, err error) error { return err }
