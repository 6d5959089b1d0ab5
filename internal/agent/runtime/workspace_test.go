package runtime

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent"
	"sekisho/internal/agent/tool"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// A task whose workspace another server's task uses stays queued, says which root it waits for, and can be cancelled; the
// model is not asked meanwhile.
//
// proves A-TX-08, A-RUN-04
func TestATaskWaitsForItsWorkspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), explain, says("done"))
		free := make(chan struct{})
		w.opener.claim = func(ctx context.Context, waiting func(string)) error {
			waiting("/w")
			select {
			case <-free:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		cancelled, next := w.enqueue(Request{}), w.enqueue(Request{})
		synctest.Wait()
		for _, c := range []struct {
			a    Accepted
			root bool
		}{{cancelled, true}, {next, false}} {
			if s := w.status(c.a.TaskID); s.Status != agent.Queued || strings.Contains(s.Message, "/w") != c.root {
				t.Errorf("while it waits: %+v", s)
			}
		}
		if len(w.model.asked) > 0 || len(w.audit.of("task.start")) > 0 {
			t.Error("it began before it had its workspace")
		}
		if err := w.Cancel(t.Context(), cancelled.TaskID); err != nil {
			t.Fatal(err)
		}
		if s := w.status(cancelled.TaskID); s.Status != agent.Cancelled || s.LastErrorCode != fault.AgentCancelled {
			t.Errorf("cancelled: %+v", s)
		}
		synctest.Wait()
		if w.opener.opened() > 0 || w.opener.released > 0 {
			t.Error("the cancelled task had something to give back")
		}
		close(free)
		<-w.Done(next.TaskID)
		if s := w.status(next.TaskID); s.Status != agent.Completed {
			t.Errorf("the next one: %+v", s)
		}
		if w.opener.released != 1 {
			t.Errorf("released %d times", w.opener.released)
		}
	})
}

// The workspace is given back after the sandbox is gone, and not when that could not be proven.
//
// proves A-TX-08
func TestTheWorkspaceIsGivenBackLast(t *testing.T) {
	for _, c := range []struct {
		err      error
		released int
	}{{nil, 1}, {fault.New(fault.RecoveryFailed), 0}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, config(), plans(planned("t1", true, "file_edit")), uses(edit("/w/a")), says("done"))
			ending := make(chan struct{})
			w.opener.make = func() *job {
				return &job{lost: make(chan struct{}), closed: make(chan struct{}), ending: ending, err: c.err}
			}
			a := w.enqueue(Request{})
			synctest.Wait()
			if w.opener.released > 0 || w.status(a.TaskID).Status.Terminal() {
				t.Error("given back while the sandbox ends")
			}
			close(ending)
			<-w.Done(a.TaskID)
			if w.opener.released != c.released {
				t.Errorf("released %d times, want %d", w.opener.released, c.released)
			}
		})
	}
}

// proves A-POL-10, A-AUD-01
func TestTheSurveyIsPartOfTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config())
		refusal := fault.New(fault.PolicyDenied, fault.Variant("hard_link"), fault.Target("/w/linked"))
		w.opener.claim = func(context.Context, func(string)) error { return refusal }
		s := w.ends(agent.Failed, fault.PolicyDenied)
		if !strings.Contains(s.LastError, "/w/linked") || len(w.model.asked) > 0 {
			t.Errorf("%+v, model asked %d times", s, len(w.model.asked))
		}
		if got := w.audit.of("task.end"); len(got) != 1 || got[0].ErrorCode != "policy.denied" {
			t.Errorf("audit: %+v", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), plans(planned("t1", true, "file_edit")), uses(edit("/w/a")), says("done"))
		w.opener.guards = []sandbox.Guard{{Path: "/w/a", Reason: sandbox.GuardPassage}, {Path: "/w/p", Reason: sandbox.GuardHardLinks}, {Path: "/w/x", Reason: sandbox.GuardToolConfig}}
		given := w.opener.guards
		w.opener.make = func() *job { return &job{lost: make(chan struct{}), closed: make(chan struct{}), guards: given} }
		w.tools.do = func(_ context.Context, s tool.Scope, call agent.ToolCall) agent.ToolResult {
			if d := cmp.Diff(given, s.Guards); d != "" {
				t.Errorf("the tools' guards (-want +got)\n%s", d)
			}
			return succeeds(call)
		}
		w.ends(agent.Completed, "")
		if got := w.audit.of("task.start"); len(got) != 1 || cmp.Diff([]string{"/w/p"}, got[0].ReadOnlyDirectories) != "" {
			t.Errorf("audit: %+v", got)
		}
	})
}

// proves A-POL-13
func TestWhatWasMovedIsToldAndAudited(t *testing.T) {
	left := []sandbox.Quarantined{{Path: "/w/.git/hooks", To: "/q/1"}, {Path: "/w/.envrc", To: "/q/2"}, {Path: "/w/CLAUDE.md"}}
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, config(), plans(planned("t1", true, "file_edit")), uses(edit("/w/a")), says("done"))
			if fails {
				w.tools.do = func(_ context.Context, _ tool.Scope, call agent.ToolCall) agent.ToolResult {
					r := failsWith(call, fault.StateUnusable)
					r.Fatal = fault.New(fault.StateUnusable)
					return r
				}
			}
			w.opener.make = func() *job { return &job{lost: make(chan struct{}), closed: make(chan struct{}), left: left} }
			state, code := agent.Completed, fault.PolicyDenied
			if fails {
				state, code = agent.Failed, fault.StateUnusable
			}
			s := w.ends(state, code)
			for _, want := range []string{"/w/.git/hooks", "/w/.envrc", "/q", "/w/CLAUDE.md"} {
				if !strings.Contains(s.LastError, want) {
					t.Errorf("%q does not name %s", s.LastError, want)
				}
			}
			var told []string
			for _, e := range w.audit.of("file.quarantine") {
				told = append(told, e.Path+" "+e.Destination+e.Reason)
			}
			if d := cmp.Diff([]string{"/w/.git/hooks /q/1", "/w/.envrc /q/2", "/w/CLAUDE.md replaced_meanwhile"}, told); d != "" {
				t.Errorf("audit (-want +got)\n%s", d)
			}
		})
	}
}
