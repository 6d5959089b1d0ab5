package worker

import (
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
