package worker

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/fakes/appserver"
	"sekisho/test/headless"
)

// A page that does not read holds nobody up, and gets a snapshot when it reads again.
//
// proves R-CONN-09
func TestStalledPage(t *testing.T) {
	const n = 20_000
	in(t, func(t *testing.T, b *bench) {
		stalled := b.Attach("")
		if _, _, err := stalled.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.start()
		b.must(b.send("hello"))
		synctest.Wait()
		for range maxBatches + 10 { // batches that nobody of the stalled page takes
			b.mu.Lock()
			b.notify(uicontract.Notice{Kind: uicontract.NoticeWarning, Shown: "x"})
			if err := b.events.seal(b.o.Now()); err != nil {
				t.Error(err)
			}
			b.mu.Unlock()
		}
		b.see(func(v *headless.View) {
			if h := v.Open("t").Head; h.TurnStatus != "completed" || len(v.Sync) != 0 {
				t.Errorf("%+v, lost %+v", h, v.Sync)
			}
		})
		_, data, err := stalled.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var batch uicontract.Batch
		if err := uicontract.Decode(data, &batch); err != nil {
			t.Fatal(err)
		}
		if s, ok := batch.Events[0].Body.(*uicontract.Snapshot); !ok || s.Reason != uicontract.SnapshotLagged {
			t.Errorf("the stalled page got %s", batch.Events[0].Kind)
		}
	}, greeted(appserver.StartThread("t"), turn1.BeginTurn(), appserver.Script{turn1.Started(appserver.AgentMessage("m", ""))}, turn1.Flood("m", n), turn1.EndTurn()))
}

// A preview of 25 MB is cut before anything reads it.
//
// proves R-PRI-01
func TestHugePreview(t *testing.T) {
	thread := appserver.Thread("t")
	thread["preview"] = strings.Repeat("# x\n", 25<<18)
	in(t, func(t *testing.T, b *bench) {
		b.see(func(v *headless.View) {
			if len(v.Threads) != 1 || len(v.Threads[0].Title) > titleBytes {
				t.Errorf("threads %+v", v.Threads)
			}
		})
	}, appserver.Scripts(readsOf(nil, thread), appserver.Handshake()))
}

// A message above the server's limit is refused here, the connection lives, and the draft stays.
//
// proves R-CONN-09
func TestHugeMessage(t *testing.T) {
	b := newBench(t, greeted(appserver.StartThread("t")))
	url := b.server.StartListen(t, appserver.ListenOptions{}).URL
	b.o.Connector = func(ctx context.Context, _ profile.Profile, _ *slog.Logger) (Link, error) {
		conn, err := transport.Dial(ctx, transport.Endpoint{URL: url})
		return Link{Conn: conn}, err
	}
	b.must(b.do(uicontract.CmdConnect, &uicontract.Connect{}))
	b.start()
	b.must(b.do(uicontract.CmdDraftSet, &uicontract.Draft{Thread: "t", Text: "kept", Revision: 1}))
	r := b.send(strings.Repeat("x", 17<<20))
	b.refused(r, "connection.outbound_too_large", "")
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.snapshot(uicontract.SnapshotNew)
	if o := s.Outcomes[len(s.Outcomes)-1]; o.State != uicontract.OutcomeNotSent || s.Connection.State != uicontract.Connected || s.Open[0].Head.Busy || s.Drafts[0].Text != "kept" {
		t.Errorf("%+v, %+v, drafts %+v", o, s.Connection, s.Drafts)
	}
	if n := len(b.server.Sent("turn/start")); n != 0 {
		t.Errorf("turn/start was sent %d times", n)
	}
}
