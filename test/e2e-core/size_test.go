//go:build realcodex

package e2ecore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sekisho/internal/relay"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/headless"
)

// 20,000 deltas arrive whole, in few batches, in order.
//
// proves R-CONN-09, R-REC-11
func TestFlood(t *testing.T) {
	both(t, options{}, func(t *testing.T, w *world) {
		const n = 20_000
		id := w.Thread()
		began := time.Now()
		turn := w.Send(id, fmt.Sprintf("SCN flood %d 4", n))
		w.Turn(id, turn, "completed")
		took := time.Since(began)
		var item uicontract.Item
		w.Watch.Look(func(v *headless.View) {
			for _, i := range v.Open(id).Window.Items {
				if i.Type == "agentMessage" {
					item = i
				}
			}
			t.Logf("%d deltas in %v: %d batches, %d delta events", n, took, v.Batches, v.Deltas)
			if v.Batches > int(took/(10*time.Millisecond))+50 {
				t.Errorf("%d batches in %v", v.Batches, took)
			}
			if len(v.Sync) != 0 {
				t.Errorf("events were lost: %+v", v.Sync)
			}
		})
		var whole uicontract.Item
		w.Must(w.Do(uicontract.CmdItemRead, uicontract.ItemRef{Thread: id, Item: item.ID}, &whole))
		words := strings.Fields(strings.ReplaceAll(whole.Text.Text, "x", " "))
		if len(words) != n || words[0] != "w0" || words[n-1] != fmt.Sprintf("w%d", n-1) || whole.Text.Left != 0 {
			t.Errorf("%d words, %d bytes left out", len(words), whole.Text.Left)
		}
		if len(item.Text.Text) > uicontract.PreviewBytes {
			t.Errorf("the preview has %d bytes", len(item.Text.Text))
		}
		w.tape.Once(t, "turn/start")
	})
}

// 1,000 items: read by pages, every item once, in order, by read-only calls; never joined.
//
// proves R-REC-04, R-REC-11, R-REC-05
func TestThousandItems(t *testing.T) {
	const turns = 500
	w := newWorld(t, options{remote: true})
	id := w.Thread()
	began := time.Now()
	for i := range turns {
		w.Turn(id, w.Send(id, fmt.Sprintf("SCN text answer %d", i)), "completed")
	}
	t.Logf("%d turns in %v", turns, time.Since(began))
	w.fit()
	b := w.second()
	began = time.Now()
	b.Must(b.Do(uicontract.CmdThreadOpen, uicontract.ThreadRef{Thread: id}, nil))
	t.Logf("opened in %v", time.Since(began))
	for {
		var r uicontract.OlderResult
		b.Must(b.Do(uicontract.CmdThreadOlder, uicontract.ThreadRef{Thread: id}, &r))
		if !r.More {
			break
		}
	}
	t.Logf("all pages in %v", time.Since(began))
	items := b.whole(t, id)
	if len(items) != 2*turns {
		t.Fatalf("%d items", len(items))
	}
	for i := range turns {
		user, agent := items[2*i], items[2*i+1]
		if user.Type != "userMessage" || user.Text.Text != fmt.Sprintf("SCN text answer %d", i) || agent.Type != "agentMessage" || agent.Text.Text != fmt.Sprintf("answer %d", i) {
			t.Fatalf("turn %d is %s %+v, %s %+v", i, user.Type, user.Text, agent.Type, agent.Text)
		}
	}
	var found uicontract.SearchResult
	b.Must(b.Do(uicontract.CmdSearch, uicontract.Search{Thread: id, Text: "ANSWER 499"}, &found))
	if len(found.Hits) != 2 || found.Hits[0].Item != items[999].ID {
		t.Errorf("found %+v", found)
	}
	b.tape.Times(t, "thread/resume", 0)
	b.tape.Times(t, "turn/start", 0)
	w.tape.Times(t, "turn/start", turns)
	b.fit()
}

// whole reads the worker's window as a page does: from its end, run by run.
func (w *world) whole(t *testing.T, id relay.ThreadID) []uicontract.Item {
	t.Helper()
	var items []uicontract.Item
	before := ""
	for {
		var run uicontract.Window
		w.Must(w.Do(uicontract.CmdWindowRead, uicontract.WindowRead{Thread: id, Before: before, Count: 200}, &run))
		items = append(run.Items, items...)
		if run.First == 0 || len(run.Items) == 0 {
			return items
		}
		before = items[0].ID
	}
}

// The other versions: a text turn and an approval work, and the version is named.
//
// proves R-CON-01, R-CON-04
func TestSmokeOfOtherVersions(t *testing.T) {
	for version, pinned := range map[string]bool{"0.155.1": true, "0.171.0": false} {
		t.Run(version, func(t *testing.T) {
			both(t, options{version: version}, func(t *testing.T, w *world) {
				w.Wait("the server's version", func(v *headless.View) bool {
					s := v.Connection.Server
					return s != nil && s.Version == version && s.Pinned == pinned
				})
				textTurn(t, w)
				id := w.Thread()
				turn := w.Send(id, escalated("touch "+w.work+"/yes"))
				w.Must(w.Choose(w.Card(id), "accept"))
				w.Turn(id, turn, "completed")
				w.tape.Answered(t, commandApproval, `{"decision":"accept"}`)
				if !w.exists("yes") {
					t.Error("the accepted command did not run")
				}
			})
		})
	}
}
