package runtime

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
)

// proves A-SES-08, A-MCP-04
func TestCloseOwnerStopsTheClientsTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), hangs, explain, says("other"))
		mine := w.enqueue(Request{Owner: "me"})
		queued := w.enqueue(Request{Owner: "me"})
		other := w.enqueue(Request{Owner: "you"})
		joined := w.enqueue(Request{Owner: "you", SessionID: mine.SessionID})
		synctest.Wait()
		if err := w.CloseOwner(t.Context(), "me"); err != nil {
			t.Fatal(err)
		}
		for _, a := range []Accepted{mine, queued, joined} {
			if s := w.status(a.TaskID); s.Status != agent.Cancelled {
				t.Errorf("%+v", s)
			}
		}
		if _, err := w.Status(mine.TaskID, mine.SessionID); fault.CodeOf(err) != fault.SessionNotFound {
			t.Error("the closed session:", err)
		}
		if _, err := w.Enqueue(Request{Text: "x", SessionID: mine.SessionID}); fault.CodeOf(err) != fault.SessionNotFound {
			t.Error("a run in the closed session:", err)
		}
		<-w.Done(other.TaskID)
		if s := w.status(other.TaskID); s.Result != "other" {
			t.Errorf("another client's task: %+v", s)
		}
		if err := w.CloseOwner(t.Context(), ""); err != nil {
			t.Error(err)
		}
	})
}

// proves A-STOP-01, A-RUN-04
func TestStopRefusesAndCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), explain, hangs)
		running, queued := w.enqueue(Request{}), w.enqueue(Request{})
		synctest.Wait()
		if err := w.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, a := range []Accepted{running, queued} {
			if s := w.status(a.TaskID); s.Status != agent.Cancelled {
				t.Errorf("%+v", s)
			}
		}
		select {
		case <-w.opener.jobs[0].closed:
		default:
			t.Error("the sandbox is still open")
		}
		if _, err := w.Enqueue(Request{Text: "x"}); fault.CodeOf(err) != fault.ServerStopping {
			t.Error("a new run got", err)
		}
		if err := w.Stop(t.Context()); err != nil {
			t.Error("stopping again:", err)
		}
	})
}

// proves A-TX-01, A-ERR-02
func TestSandboxThatDoesNotCloseIsFatal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), explain, says("done"))
		w.opener.make = func() *job {
			return &job{lost: make(chan struct{}), closed: make(chan struct{}), err: errors.New("a mount stays")}
		}
		w.ends(agent.Failed, fault.RecoveryFailed)
		if err := <-w.Fatal(); fault.CodeOf(err) != fault.RecoveryFailed {
			t.Error("fatal:", err)
		}
		if _, err := w.Enqueue(Request{Text: "x"}); fault.CodeOf(err) != fault.ServerStopping {
			t.Error("a new run got", err)
		}
	})
}

// proves A-SES-08
func TestIdleSessionsExpireWithTheirTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.SessionTTL = time.Hour
		w := newWorld(t, cfg, explain, says("x"))
		a := w.enqueue(Request{})
		<-w.Done(a.TaskID)
		<-time.After(59 * time.Minute)
		w.status(a.TaskID)
		<-time.After(59 * time.Minute) // the look was an access
		w.status(a.TaskID)
		<-time.After(time.Hour)
		if _, err := w.Status(a.TaskID, ""); fault.CodeOf(err) != fault.TaskNotFound {
			t.Error("after its time:", err)
		}
	})
}
