package runtime

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/tool"
	"sekisho/internal/fault"
)

// proves A-SBX-09, A-RUN-01
func TestLostSandboxFailsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), plans(coding), uses(edit("/w/a"), goRun("test")), hangs)
		w.tools.do = func(_ context.Context, _ tool.Scope, call agent.ToolCall) agent.ToolResult {
			if call.Name == "process_run" {
				close(w.opener.jobs[0].lost)
			}
			return succeeds(call)
		}
		w.ends(agent.Failed, fault.SandboxLost)
	})
	synctest.Test(t, func(t *testing.T) { // also when the model is finished at that very moment
		w := newWorld(t, config(), explain)
		w.model.script = append(w.model.script, func(ctx context.Context, q ollama.Request) (ollama.Response, error) {
			close(w.opener.jobs[0].lost)
			return says("done")(context.Background(), q)
		})
		w.ends(agent.Failed, fault.SandboxLost)
	})
	synctest.Test(t, func(t *testing.T) { // and when a tool reports it
		w := newWorld(t, config(), plans(coding), uses(goRun("test")))
		w.tools.do = func(_ context.Context, _ tool.Scope, call agent.ToolCall) agent.ToolResult {
			r := failsWith(call, fault.SandboxLost)
			r.Fatal = fault.New(fault.SandboxLost)
			return r
		}
		w.ends(agent.Failed, fault.SandboxLost)
	})
}

// proves A-TX-05, A-ERR-02
func TestSandboxThatDoesNotOpen(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code fault.Code
		dies bool
	}{
		"coded":    {fault.New(fault.SandboxFailed), fault.SandboxFailed, false},
		"uncoded":  {errors.New("odd"), fault.AgentInternal, false},
		"recovery": {fault.New(fault.RecoveryFailed), fault.RecoveryFailed, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, config(), explain)
				w.opener.err = c.err
				w.ends(agent.Failed, c.code)
				select {
				case err := <-w.Fatal():
					if !c.dies {
						t.Error("fatal:", err)
					}
				default:
					if c.dies {
						t.Error("the application goes on")
					}
				}
			})
		})
	}
}

// proves A-AUD-01, A-PRI-01
func TestWithoutAuditNothingRuns(t *testing.T) {
	for _, event := range []string{"task.start", "sandbox.open", "tool.call", "task.end"} {
		t.Run(event, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, config(), plans(planned("t1", false, "file_read")), uses(read("/w/a"), read("/w/a")), says("done"))
				w.audit.refuse = event
				s := w.ends(agent.Failed, fault.StateUnusable)
				if event == "task.start" && (len(w.model.asked) > 0 || w.opener.opened() > 0) {
					t.Error("the task began without its audit line")
				}
				if s.Result != "" {
					t.Error("a result without its audit line")
				}
			})
		})
	}
}

// proves A-SBX-11, A-AUD-01
func TestTheAuditTellsWhereASandboxCameFrom(t *testing.T) {
	for _, spare := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, config(), plans(planned("t1", false, "file_read")), uses(read("/w/a")), says("done"))
			w.opener.make = func() *job { return &job{lost: make(chan struct{}), closed: make(chan struct{}), spare: spare} }
			w.ends(agent.Completed, "")
			want := map[bool]string{false: "cold", true: "spare"}[spare]
			if got := w.audit.of("sandbox.open"); len(got) != 1 || got[0].Sandbox != want || got[0].TaskID == "" {
				t.Errorf("audit: %+v, want one sandbox.open with %s", got, want)
			}
		})
	}
}
