package runtime

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
)

// Whatever cancels, completes, closes and stops at the same time: every task becomes terminal once, its status never
// changes afterwards, and no sandbox stays open.
//
// proves A-RUN-01, A-RUN-03, A-MCP-11, A-SES-08
func TestRacesEndOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(rt, "tasks")
		type act struct{ kind, task, delay int }
		acts := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) act {
			return act{rapid.IntRange(0, 3).Draw(rt, "kind"), rapid.IntRange(0, n-1).Draw(rt, "task"), rapid.IntRange(0, 5).Draw(rt, "delay")}
		}), 1, 6).Draw(rt, "acts")
		steps := rapid.IntRange(0, 3).Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			slow := func(a answer) answer {
				return func(ctx context.Context, q ollama.Request) (ollama.Response, error) {
					select {
					case <-time.After(time.Millisecond):
						return a(ctx, q)
					case <-ctx.Done():
						return ollama.Response{}, ctx.Err()
					}
				}
			}
			w := newWorld(t, config())
			w.model.script, w.model.forever = []answer{slow(planOrStep(steps))}, true
			var tasks []Accepted
			for range n {
				tasks = append(tasks, w.enqueue(Request{Owner: "me"}))
			}
			var acting sync.WaitGroup
			for _, a := range acts {
				acting.Go(func() {
					<-time.After(time.Duration(a.delay) * time.Millisecond)
					switch a.kind {
					case 0, 1:
						if err := w.Cancel(context.Background(), tasks[a.task].TaskID); err != nil {
							t.Error(err)
						}
					case 2:
						if err := w.CloseOwner(context.Background(), "me"); err != nil {
							t.Error(err)
						}
					case 3:
						if err := w.Stop(context.Background()); err != nil {
							t.Error(err)
						}
					}
					if s, err := w.Status(tasks[a.task].TaskID, ""); err != nil || !s.Status.Terminal() {
						t.Errorf("after act %d the task is %s, %v", a.kind, s.Status, err)
					}
				})
			}
			var at []agent.TaskStatus
			for _, a := range tasks {
				<-w.Done(a.TaskID)
				at = append(at, w.status(a.TaskID))
			}
			acting.Wait()
			if err := w.Stop(context.Background()); err != nil {
				t.Error(err)
			}
			for i, a := range tasks {
				if d := cmp.Diff(at[i], w.status(a.TaskID)); d != "" {
					t.Error("a terminal task changed:", d)
				}
			}
			if b, e := len(w.audit.of("task.start")), len(w.audit.of("task.end")); b != e {
				t.Errorf("%d begins, %d ends", b, e)
			}
			for _, j := range w.opener.jobs {
				select {
				case <-j.closed:
				default:
					t.Error("a sandbox stays open")
				}
			}
		})
	})
}

// planOrStep plans when asked for a plan; in a run phase it reads steps different files, then answers.
func planOrStep(steps int) answer {
	return func(ctx context.Context, q ollama.Request) (ollama.Response, error) {
		switch {
		case q.Phase != agent.PhaseExecution:
			return explain(ctx, q)
		case q.Meta.Iteration <= steps:
			return uses(read("/w/"+string(rune('a'+q.Meta.Iteration))))(ctx, q)
		}
		return says("done")(ctx, q)
	}
}
