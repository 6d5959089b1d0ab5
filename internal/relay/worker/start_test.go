package worker

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/relay"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/fakes/appserver"
	"sekisho/test/headless"
)

func (b *bench) readStart(thread string) uicontract.Start {
	b.t.Helper()
	var s uicontract.Start
	r := b.must(b.do(uicontract.CmdSnapshot, &uicontract.SnapshotRead{Thread: relay.ThreadID(thread)}))
	if err := uicontract.Decode(r.Value, &s); err != nil {
		b.t.Fatal(err)
	}
	return s
}

// The first answer has the thread that was asked for, and the stream goes on right behind it: a page that has it misses nothing and
// gets nothing twice.
//
// proves R-REC-05
func TestStartHasTheThreadAndItsPlace(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		s := b.readStart("t")
		if len(s.Snapshot.Open) != 1 || len(s.Snapshot.Open[0].Window.Items) != 1 || s.Snapshot.Open[0].Head.Mode != uicontract.Viewing {
			t.Fatalf("opened: %+v", s.Snapshot.Open)
		}
		b.sent("thread/resume", 0) // reading joins nothing (R-REC-05)
		p := b.attach(s.ID)
		defer p.leave()
		b.must(b.do(uicontract.CmdDraftSet, &uicontract.Draft{Thread: "t", Text: "x", Revision: 1}))
		b.settle()
		p.look(func(v *headless.View) {
			if v.Open("t") != nil || len(v.Drafts) != 1 {
				t.Errorf("the stream behind a start brought %+v", v.Snapshot)
			}
		})
		// Once it is open, it is not read again for the next tab.
		b.readStart("t")
		b.sent("thread/read", 1)
	}, greeted(pages(appserver.Status(false), appserver.Entry("u1", appserver.AgentMessage("m1", "one")))))
}

// A thread that takes long holds the first answer up for a moment only, and one that cannot be read not at all; it arrives later.
func TestStartDoesNotWaitForASlowThread(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		began := time.Now()
		s := b.readStart("t")
		if took := time.Since(began); len(s.Snapshot.Open) != 0 || took != openWithin {
			t.Errorf("after %v: %+v", took, s.Snapshot.Open)
		}
		b.server.Release("go")
		b.see(func(v *headless.View) {
			if len(v.Open("t").Window.Items) != 1 {
				t.Errorf("it did not arrive: %+v", v.Snapshot)
			}
		})
	}, greeted(appserver.Script{appserver.Hold("go")}, pages(appserver.Status(false), appserver.Entry("u1", appserver.AgentMessage("m1", "one")))))
	synctest.Test(t, func(t *testing.T) { // no connection: nothing to open, and nothing to wait for
		b := newBench(t)
		began := time.Now()
		if s := b.readStart("t"); time.Since(began) != 0 || s.Snapshot.Connection.State != uicontract.Offline {
			t.Errorf("after %v: %+v", time.Since(began), s.Snapshot)
		}
	})
}

// A thread that is being read is not read beside that for whoever opens it meanwhile: the page whose first answer did not wait for it,
// another tab. A reading that fails is not theirs: they ask for themselves and are told why.
func TestAThreadThatIsBeingReadIsNotReadTwice(t *testing.T) {
	open := func(b *bench, n int) (results []uicontract.Result) {
		var asking sync.WaitGroup
		results = make([]uicontract.Result, n)
		for i := range n {
			asking.Go(func() { results[i] = b.do(uicontract.CmdThreadOpen, &uicontract.ThreadRef{Thread: "t"}) })
		}
		synctest.Wait()
		b.server.Release("go")
		asking.Wait()
		return results
	}
	one := pages(appserver.Status(false), appserver.Entry("u1", appserver.AgentMessage("m1", "one")))
	in(t, func(t *testing.T, b *bench) {
		b.readStart("t") // comes without the thread
		b.readStart("t")
		for _, r := range open(b, 3) {
			b.must(r)
		}
		b.see(func(v *headless.View) {
			if len(v.Open("t").Window.Items) != 1 {
				t.Errorf("shown: %+v", v.Snapshot)
			}
		})
		b.sent("thread/read", 1)
		b.must(b.do(uicontract.CmdThreadOpen, &uicontract.ThreadRef{Thread: "t"})) // nobody is reading it any more
		b.sent("thread/read", 2)
	}, greeted(appserver.Script{appserver.Hold("go")}, one))
	in(t, func(t *testing.T, b *bench) {
		b.readStart("t")
		if r := open(b, 1)[0]; r.Status != uicontract.Failed || r.Problem == nil {
			t.Errorf("%+v", r)
		}
		b.sent("thread/read", 2)
	}, greeted(one[1:], appserver.Script{appserver.Expect("thread/read", nil), appserver.Hold("go"), appserver.Fail("thread/read", -32600, "thread not found"),
		appserver.Expect("thread/read", nil).Labelled("again"), appserver.Fail("again", -32600, "thread not found")}))
}
