package runtime

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/session"
	"sekisho/internal/agent/tool"
	"sekisho/internal/fault"
)

// hangs waits in a model call until the call is cancelled.
func hangs(ctx context.Context, _ ollama.Request) (ollama.Response, error) {
	<-ctx.Done()
	return ollama.Response{}, ctx.Err()
}

var explain = plans(planned("t1", false, ""))

// proves A-RUN-02
func TestMaxIterations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.MaxIterations = 2
		w := newWorld(t, cfg, plans(coding), uses(read("/w/a")), uses(read("/w/b")))
		if s := w.ends(agent.Failed, fault.AgentMaxIterations); s.Iterations != 2 {
			t.Errorf("%d iterations", s.Iterations)
		}
	})
}

// proves A-RUN-05
func TestTaskTimeoutBoundsTheRunPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.TaskTimeout = 90 * time.Second
		w := newWorld(t, cfg, func(ctx context.Context, q ollama.Request) (ollama.Response, error) {
			<-time.After(time.Hour) // planning is not bounded by it
			return explain(ctx, q)
		}, hangs)
		began := time.Now()
		s := w.ends(agent.Failed, fault.ResourceTimeLimit)
		if got := time.Since(began); got != time.Hour+cfg.TaskTimeout {
			t.Errorf("ended after %v", got)
		}
		if !strings.Contains(s.LastError, "90 seconds") {
			t.Error("last error:", s.LastError)
		}
	})
}

// proves A-RUN-05, A-SBX-02
func TestTaskTimeoutEndsARunningTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.TaskTimeout = time.Minute
		w := newWorld(t, cfg, plans(coding), uses(goRun("test")))
		w.tools.do = func(ctx context.Context, _ tool.Scope, call agent.ToolCall) agent.ToolResult {
			<-ctx.Done()
			return failsWith(call, fault.AgentCancelled)
		}
		w.ends(agent.Failed, fault.ResourceTimeLimit)
	})
}

// proves A-OLL-03
func TestTemperatureBelongsToOneTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), explain, says("one"), explain, says("two"))
		hot := 1.5
		a := w.enqueue(Request{Temperature: &hot})
		b := w.enqueue(Request{SessionID: a.SessionID})
		<-w.Done(b.TaskID)
		for i, q := range w.model.asked {
			if want := i < 2; (q.Temperature != nil) != want || want && *q.Temperature != hot {
				t.Errorf("call %d has temperature %v", i, q.Temperature)
			}
		}
	})
}

// proves A-SES-01, A-SES-02, A-SES-06
func TestSessionRemembersEarlierTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), plans(planned("t1", false, "file_read")), uses(read("/w/a")), says("FIRST ANSWER"), explain, says("second"))
		a := w.enqueue(Request{Text: "FIRST REQUEST"})
		b := w.enqueue(Request{Text: "SECOND REQUEST", SessionID: a.SessionID})
		<-w.Done(b.TaskID)
		told := w.told(agent.PhaseExecution, 2)
		at := 0
		for _, part := range []string{"Verified results", "CONTENT OF", "SECOND REQUEST", "FIRST REQUEST", "FIRST ANSWER"} {
			i := strings.Index(told[at:], part)
			if i < 0 {
				t.Fatalf("%q is missing or out of order", part)
			}
			at += i
		}
		if plan := w.told(agent.PhasePlanning, 1); strings.Contains(plan, "FIRST") {
			t.Error("planning was told the conversation")
		}
	})
}

// proves A-OLL-05
func TestImagesGoToTheModelWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), explain, says("a cat"), refuses(fault.OllamaVisionUnsupported))
		img := []agent.Image{{MIMEType: "image/png", Data: "aGk="}}
		a := w.enqueue(Request{Images: img})
		<-w.Done(a.TaskID)
		for _, q := range w.model.asked {
			n := 0
			for _, m := range q.Messages {
				n += len(m.Images)
			}
			if n != 1 {
				t.Errorf("phase %s was sent %d images", q.Phase, n)
			}
		}
		b := w.enqueue(Request{Images: img})
		<-w.Done(b.TaskID)
		if s := w.status(b.TaskID); s.Status != agent.Failed || s.LastErrorCode != fault.OllamaVisionUnsupported {
			t.Errorf("%+v", s)
		}
	})
}

// fill makes a conversation that a summary can shorten.
func fill(n int) []answer {
	script := []answer{plans(coding)}
	for range n {
		script = append(script, uses(read("/w/"+strings.Repeat("x", 300)), goRun("version")))
	}
	return script
}

func large(_ context.Context, _ tool.Scope, call agent.ToolCall) agent.ToolResult {
	r := succeeds(call)
	r.Content += strings.Repeat(" noise", 1000)
	return r
}

// proves A-SES-07
func TestOverflowIsSummarizedOnceAndSentSmaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), append(fill(3), refuses(fault.OllamaContextOverflow), uses(edit("/w/a")), says("done"))...)
		w.tools.do = large
		w.ends(agent.Completed, "")
		calls := w.model.calls(agent.PhaseExecution)
		if before, after := session.Size(calls[3].Messages), session.Size(calls[4].Messages); after >= before {
			t.Errorf("%d bytes were sent again as %d", before, after)
		}
	})
}

// proves A-SES-07
func TestOverflowAgainFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), append(fill(3), refuses(fault.OllamaContextOverflow), refuses(fault.OllamaContextOverflow))...)
		w.tools.do = large
		w.ends(agent.Failed, fault.OllamaContextOverflow)
	})
	synctest.Test(t, func(t *testing.T) { // nothing to shorten: the payload is not sent again
		w := newWorld(t, config(), explain, refuses(fault.OllamaContextOverflow))
		w.ends(agent.Failed, fault.OllamaContextOverflow)
	})
}

// proves A-OLL-08, A-SES-07
func TestCutAnswersAreNotActedOn(t *testing.T) {
	cut := reply(ollama.Response{Message: agent.Message{Content: "The answer is that the"}, Truncated: true})
	full := reply(ollama.Response{Message: agent.Message{Content: "The answer is that the"}, Truncated: true, WindowExhausted: true})
	blind := reply(ollama.Response{Message: agent.Message{Content: "I have no tools."}, Warnings: []*fault.Error{fault.New(fault.OllamaContextTruncated)}})
	for name, c := range map[string]struct {
		predict int
		script  []answer
		code    fault.Code
	}{
		"without num_predict":    {0, []answer{explain, cut}, fault.OllamaOutputTruncated},
		"more room helps":        {64, []answer{explain, cut, says("whole")}, ""},
		"more room once":         {64, []answer{explain, cut, cut}, fault.OllamaOutputTruncated},
		"window, nothing to cut": {64, []answer{explain, full}, fault.OllamaOutputTruncated},
		"window, once":           {0, append(fill(2), full, full), fault.OllamaOutputTruncated},
		"prompt was cut":         {0, append(fill(2), blind, uses(edit("/w/a")), says("done")), ""},
		"prompt was cut again":   {0, append(fill(2), blind, blind), fault.OllamaContextTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := config()
				cfg.NumPredict = c.predict
				w := newWorld(t, cfg, c.script...)
				w.tools.do = large
				state := agent.Completed
				if c.code != "" {
					state = agent.Failed
				}
				w.ends(state, c.code)
				for i, q := range w.model.calls(agent.PhaseExecution) {
					if (q.NumPredict != nil) != (c.predict > 0 && i == 1) {
						t.Errorf("call %d has num_predict %v", i, q.NumPredict)
					}
				}
			})
		})
	}
}

// proves A-PLAN-07
func TestTokensAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), says("bad"), plans(planned("t1", false, "file_read")), uses(read("/etc/x")), plans(planned("t2", false, "")), says("no"))
		deny(w, "/etc/")
		if s := w.ends(agent.Completed, fault.PolicyDenied); s.Usage != (agent.Usage{Input: 500, Output: 50}) {
			t.Errorf("usage %+v", s.Usage)
		}
	})
}
