package runtime

import (
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
)

const givenID = "0b5cf0b4-6c37-4b0a-9c8d-3f6d6a0f5b11"

// A cancellation that arrives when all work is done but its sandbox still ends discards the result: who was told that the
// task is being cancelled does not get its answer.
//
// proves A-MCP-11, A-RUN-04
func TestInterruptDoesNotWaitAndDiscardsALateResult(t *testing.T) {
	for _, cancelled := range []bool{true, false} { // false is the control: the same task completes
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, config(), plans(coding), uses(edit("/w/b"), goRun("test")), says("done"))
			ending := make(chan struct{})
			w.opener.make = func() *job {
				return &job{lost: make(chan struct{}), closed: make(chan struct{}), ending: ending}
			}
			a := w.enqueue(Request{TaskID: givenID})
			if a.TaskID != givenID {
				t.Error("the task got another id:", a.TaskID)
			}
			synctest.Wait()
			if s := w.status(givenID); s.Status.Terminal() {
				t.Fatalf("terminal before its tree is dead: %+v", s)
			}
			want, result := agent.Completed, "done"
			if cancelled {
				want, result = agent.Cancelled, ""
				if err := w.Interrupt(givenID); err != nil {
					t.Fatal(err)
				}
			}
			if s := w.status(givenID); s.Status.Terminal() {
				t.Fatalf("terminal before its tree is dead: %+v", s)
			}
			time.Sleep(time.Second) // of the bubble's clock
			close(ending)
			<-w.Done(givenID)
			s := w.status(givenID)
			if s.Status != want || s.Result != result || !s.Updated.Equal(time.Now()) {
				t.Errorf("%+v, want %s with %q", s, want, result)
			}
			if err := w.Interrupt(givenID); err != nil {
				t.Error("a terminal task:", err)
			}
			if again := w.status(givenID); again != s {
				t.Errorf("a terminal task changed from %+v to %+v", s, again)
			}
			if _, err := w.Enqueue(Request{TaskID: givenID}); fault.CodeOf(err) != fault.AgentInternal {
				t.Error("a second task of that id:", err)
			}
			if err := w.Interrupt("unknown"); fault.CodeOf(err) != fault.TaskNotFound {
				t.Error("an unknown task:", err)
			}
		})
	}
}
