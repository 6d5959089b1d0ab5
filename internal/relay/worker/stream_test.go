package worker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sekisho/internal/relay/uicontract"
)

func batchOf(t interface{ Fatal(...any) }, data []byte) uicontract.Batch {
	var b uicontract.Batch
	if err := uicontract.Decode(data, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// Deltas of one part are joined as long as nothing else comes between, and the text is whole in any case.
//
// proves R-CONN-09
func TestDeltasAreJoined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newEventLog()
		want := map[string]string{}
		from, events := l.next(), 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				l.add(uicontract.EvDraft, &uicontract.Draft{Thread: "t"})
			case 1:
				if err := l.seal(time.Unix(0, 0)); err != nil {
					t.Fatal(err)
				}
			default:
				item, text := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "item"), rapid.StringN(1, 8, -1).Draw(t, "text")
				want[item] += text
				events++
				l.delta(uicontract.Delta{Thread: "t", Item: item, Of: uicontract.OfText, Text: text, Bytes: len(want[item])})
			}
		}
		if err := l.seal(time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		got, deltas := map[string]string{}, 0
		for n := from; n < l.next(); n++ {
			data, lagged := l.after(n)
			if lagged {
				t.Fatal("lagged")
			}
			for _, e := range batchOf(t, data).Events {
				if d, ok := e.Body.(*uicontract.Delta); ok {
					deltas++
					got[d.Item] += d.Text
					if d.Bytes != len(got[d.Item]) {
						t.Fatalf("%s has %d bytes, said to have %d", d.Item, len(got[d.Item]), d.Bytes)
					}
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || deltas > events {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// A front end that comes back gets exactly what it missed, or a snapshot: never a gap, never an event twice.
//
// proves R-UI-04
func TestResume(t *testing.T) {
	l := newEventLog()
	seal := func(text string) {
		l.add(uicontract.EvDraft, &uicontract.Draft{Text: text})
		if err := l.seal(time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		seal(fmt.Sprint(i))
	}
	for n := uint64(1); n <= 5; n++ {
		data, lagged := l.after(n)
		if lagged || batchOf(t, data).Events[0].Body.(*uicontract.Draft).Text != fmt.Sprint(n-1) {
			t.Errorf("batch %d: %s, lagged %v", n, data, lagged)
		}
	}
	if data, lagged := l.after(6); data != nil || lagged {
		t.Errorf("the future: %s, %v", data, lagged)
	}
	for _, n := range []uint64{7, 1 << 62} {
		if _, lagged := l.after(n); !lagged {
			t.Errorf("batch %d that never was is no gap", n)
		}
	}
	for id, ok := range map[string]bool{l.id(3): true, "": false, "x-3": false, l.epoch: false, l.epoch + "-": false, l.epoch + "-0": false, l.epoch + "--1": false, newEventLog().id(3): false} {
		if _, got := l.parse(id); got != ok {
			t.Errorf("id %q: %v", id, got)
		}
	}
	for range maxBatches {
		seal("more")
	}
	if _, lagged := l.after(5); !lagged || len(l.batches) > maxBatches {
		t.Errorf("%d batches are kept", len(l.batches))
	}
	seal(strings.Repeat("x", maxBatchBytes/2))
	seal(strings.Repeat("y", maxBatchBytes/2))
	if l.bytes > maxBatchBytes {
		t.Errorf("%d bytes are kept", l.bytes)
	}
	last := l.next() - 1
	l.forget()
	if _, lagged := l.after(last + 1); !lagged {
		t.Error("resumed across an owner")
	}
}
