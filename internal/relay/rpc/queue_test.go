package rpc

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/ledger"
	"sekisho/internal/relay/transport"
)

func delta(item, text string) string {
	return fmt.Sprintf(`{"method":"item/agentMessage/delta","params":{"threadId":"t","turnId":"u","itemId":%q,"delta":%q},"emittedAtMs":1}`, item, text)
}

// proves R-CONN-09, R-REC-11
func TestDeltasAreJoinedBehindAStalledPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r, c := stalled(t)
		var want strings.Builder
		for i := range 20_000 {
			text := fmt.Sprint(i, " ")
			want.WriteString(text)
			w.say(delta("i", text))
		}
		w.say(delta("j", "other"), delta("i", "again"))
		synctest.Wait()
		if len(w.in) != 0 {
			t.Fatalf("the reader left %d frames", len(w.in))
		}
		close(r.stall)
		synctest.Wait()
		var got []string
		for _, n := range r.notes[1:] {
			got = append(got, n.(*codex.ItemDelta).Delta)
		}
		if diff := cmp.Diff([]string{want.String(), "other", "again"}, got); diff != "" {
			t.Error(diff[:min(len(diff), 500)])
		}
		if s := c.Stats(); s.Dropped != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// proves R-REC-11
func TestOverflowIsAnExplicitSyncFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		n    int
		text string
	}{
		"count": {MaxQueued + 10, "x"},
		"bytes": {20, strings.Repeat("x", 1<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, r, c := stalled(t)
				w.say(fmt.Sprintf(approval, "0"))
				for i := range tc.n {
					w.say(delta(fmt.Sprint("i", i), tc.text))
				}
				w.say(fmt.Sprintf(approval, "1"), `{"method":"serverRequest/resolved","params":{"threadId":"t","requestId":0}}`)
				synctest.Wait()
				if len(w.in) != 0 {
					t.Fatal("the reader waits")
				}
				close(r.stall)
				synctest.Wait()
				delivered := len(r.notes) - 2 // without the first and the resolution
				if r.lost.Dropped == 0 || r.lost.Dropped+delivered != tc.n || uint64(r.lost.Dropped) != c.Stats().Dropped {
					t.Errorf("%d lost, %d delivered of %d", r.lost.Dropped, delivered, tc.n)
				}
				// Request 0 was withdrawn before the Handler could hear of it.
				if len(r.requests) != 1 || r.requests[0].Key.Request != relay.IntID(1) || strings.Contains(strings.Join(r.seen(), "\n"), "retired") {
					t.Errorf("%q", r.seen())
				}
			})
		})
	}
}

// proves R-REC-11
func TestMalformedKnownNotificationIsASyncFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newWire(), newRecord()
		start(t, w, r)
		w.say(`{"method":"turn/completed","params":{"threadId":"t"}}`, `{"method":"no/such","params":{"anything":1}}`, `{"method":"remoteControl/status/changed","params":{}}`)
		synctest.Wait()
		if diff := cmp.Diff([]string{"lost"}, r.seen()); diff != "" || r.lost != (Lost{Malformed: 1}) {
			t.Error(diff, r.lost)
		}
	})
}

// proves R-CONN-02
func TestAfterCloseNothingIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newWire(), newRecord()
		r.stall = make(chan struct{})
		c := start(t, w, r)
		w.say(fmt.Sprintf(approval, "0"), `{"method":"thread/closed","params":{"threadId":"t"}}`)
		synctest.Wait()
		w.say(`{"method":"thread/closed","params":{"threadId":"t"}}`, fmt.Sprintf(approval, "1"))
		synctest.Wait()
		c.Close(transport.ByUser)
		close(r.stall)
		c.Wait()
		got := r.seen()
		if want := []string{"request 0 " + codex.MethodCommandApproval, "note thread/closed", "retired 0 generation_ended", "retired 1 generation_ended", "ended"}; len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[4] != want[4] {
			t.Errorf("%q", got)
		}
		if len(r.requests) != 1 || len(w.frames()) != 0 {
			t.Errorf("%d requests, %q", len(r.requests), w.frames())
		}
	})
}

// proves R-CONN-02
func TestASilencedQueueTakesEndsOnly(t *testing.T) {
	b := newInbox()
	b.notify(&codex.ThreadNote{}, 1)
	b.silence()
	b.notify(&codex.ThreadNote{}, 1)
	b.lose(Lost{Malformed: 1})
	b.add(event{refused: &refused{}})
	b.add(event{request: &Request{}})
	b.retire(relay.Key{Generation: 1}, GenerationEnded)
	b.add(event{ended: &ended{}})
	if len(b.events) != 2 || b.events[0].retired == nil || b.events[1].ended == nil {
		t.Errorf("%+v", b.events)
	}
}

// proves R-PRI-01
func TestRequestsThatAreWithdrawnFillNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, c := stalled(t)
		for i := range 5 * MaxPending {
			w.say(fmt.Sprintf(approval, fmt.Sprint(i)), fmt.Sprintf(`{"method":"serverRequest/resolved","params":{"threadId":"t","requestId":%d}}`, i))
		}
		synctest.Wait()
		c.in.mu.Lock()
		n := len(c.in.events)
		c.in.mu.Unlock()
		if n > MaxQueued+1 || len(w.frames()) != 0 {
			t.Errorf("%d events wait, %d replies", n, len(w.frames()))
		}
	})
}

// proves R-INT-01
func TestOneReplyUnderAnyRace(t *testing.T) {
	for range 1000 {
		w, r := newWire(), newRecord()
		c := New(w, Options{Generation: 1, Version: codex.Target, Handler: r})
		w.say(fmt.Sprintf(approval, "0"), `{"id":"x","method":"no/such"}`)
		w.hear(1)
		key := relay.Key{Generation: 1, Request: relay.IntID(0)}
		var wg sync.WaitGroup
		var sent atomic.Int32
		for i := range 3 {
			wg.Go(func() {
				if i == 2 && rand.IntN(2) == 0 {
					w.say(`{"method":"serverRequest/resolved","params":{"threadId":"t","requestId":0}}`)
				}
				if o, _ := c.Reply(context.Background(), key, struct{}{}); o == ledger.Sent {
					sent.Add(1)
				}
			})
		}
		if rand.IntN(3) == 0 {
			wg.Go(func() { w.finish(lostErr()) })
		}
		wg.Wait()
		if n := int32(len(w.frames()) - 1); n > 1 || n != sent.Load() {
			t.Fatalf("%d replies, %d said to be sent", n, sent.Load())
		}
		c.Close(transport.ShuttingDown)
		c.Wait()
	}
}

// proves R-INT-01
func TestResolutionTakesAQueuedReplyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newWire(), newRecord()
		c := start(t, w, r)
		hold := make(chan struct{})
		w.onWrite = func([]byte) (bool, error) { <-hold; return true, nil }
		w.say(fmt.Sprintf(approval, "0"))
		synctest.Wait()
		go func() { _ = c.Notify(t.Context(), codex.Initialized, nil) }()
		synctest.Wait()
		var outcome Outcome
		var err error
		go func() { outcome, err = c.Reply(t.Context(), r.requests[0].Key, struct{}{}) }()
		synctest.Wait()
		w.say(`{"method":"serverRequest/resolved","params":{"threadId":"t","requestId":0}}`)
		synctest.Wait()
		close(hold)
		synctest.Wait()
		if outcome != ledger.NotSent || !errors.Is(err, fault.New(fault.RequestGone, fault.Variant("resolved"))) {
			t.Error(outcome, err)
		}
		if diff := cmp.Diff([]string{`{"method":"initialized"}`}, w.frames()); diff != "" {
			t.Error(diff)
		}
	})
}

// proves R-INT-01
func TestAProvenFailureLeavesTheRequestAnswerable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newWire(), newRecord()
		c := start(t, w, r)
		w.say(fmt.Sprintf(approval, "0"))
		synctest.Wait()
		key := r.requests[0].Key
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if o, err := c.Reply(ctx, key, struct{}{}); o != ledger.NotSent || err == nil {
			t.Error(o, err)
		}
		if o, err := c.ReplyError(t.Context(), key, codex.RPCError{Code: -32602, Message: "no"}); o != ledger.Sent || err != nil {
			t.Error(o, err)
		}
		if o, _ := c.Reply(t.Context(), relay.Key{Generation: 6, Request: key.Request}, struct{}{}); o != ledger.NotSent {
			t.Error("another generation's request was answered")
		}
	})
}

// proves R-PRI-01, R-CON-05
func TestPendingRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newWire(), newRecord()
		start(t, w, r)
		for i := range MaxPending + 5 {
			w.say(fmt.Sprintf(approval, fmt.Sprint(i)))
		}
		synctest.Wait()
		if len(r.requests) != MaxPending || len(w.frames()) != 5 {
			t.Errorf("%d pending, %d refused", len(r.requests), len(w.frames()))
		}
	})
}

var manyFrames = flag.Int("frames", 20_000, "frames of TestMutatedFrames")

// proves R-CON-05, R-PRI-01
func TestMutatedFrames(t *testing.T) {
	var recorded []string
	files, _ := filepath.Glob("../codex/testdata/transcripts/*.jsonl")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if _, msg, ok := strings.Cut(strings.TrimSpace(line), `"msg":{`); ok && len(msg) < 4000 {
				recorded = append(recorded, "{"+strings.TrimSuffix(msg, "}"))
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	w, r := newWire(), newRecord()
	c := New(w, Options{Generation: 1, Version: codex.Target, Handler: r})
	parsed := 0
	for range *manyFrames {
		f := mutate(rng, recorded[rng.IntN(len(recorded))], recorded)
		if _, err := parse([]byte(f)); err == nil {
			parsed++
		}
		w.mu.Lock()
		w.sent = w.sent[:min(len(w.sent), 1)] // the replies themselves are not kept
		w.mu.Unlock()
		w.say(f)
	}
	if parsed*2 < *manyFrames {
		t.Errorf("only %d of %d frames pass the JSON layer", parsed, *manyFrames)
	}
	w.finish(lostErr())
	<-c.Done()
	c.Close(transport.ShuttingDown)
	c.Wait()
	t.Logf("%d frames, %d messages, %+v", *manyFrames, parsed, c.Stats())
}

// mutate changes a frame: mostly values and names inside, sometimes its bytes.
func mutate(rng *rand.Rand, f string, others []string) string {
	values := []string{`null`, `0`, `-1`, `1e99`, `""`, `"x"`, `[]`, `{}`, `true`, `[null]`, `{"type":"x"}`, `9007199254740993`, `"\u202e"`}
	for range 1 + rng.IntN(3) {
		switch at := rng.IntN(len(f)); rng.IntN(8) {
		case 0: // one byte
			f = f[:at] + string(rune(rng.IntN(128))) + f[at+1:]
		case 1: // the value of some member becomes another
			if i := strings.Index(f[at:], `":`); i >= 0 {
				f = replaceValue(f, at+i+2, values[rng.IntN(len(values))])
			}
		case 2: // a member of another frame
			o := others[rng.IntN(len(others))]
			if i := strings.Index(o, `"method":"`); i >= 0 {
				name, _, _ := strings.Cut(o[i+10:], `"`)
				if j := strings.Index(f, `"method":`); j >= 0 {
					f = replaceValue(f, j+9, `"`+name+`"`)
				}
			}
		case 3: // a member of another name
			if i := strings.Index(f[at:], `":`); i > 0 {
				f = f[:at+i] + "X" + f[at+i:]
			}
		case 4: // an id, so that it becomes a request
			f = `{"id":` + fmt.Sprint(rng.IntN(3)) + `,` + f[1:]
		default:
		}
		if f == "" {
			return "{}"
		}
	}
	return f
}

// replaceValue replaces the plain value that starts at i.
func replaceValue(f string, i int, v string) string {
	if i >= len(f) || f[i] == '{' || f[i] == '[' {
		return f
	}
	end := strings.IndexAny(f[i:], ",}]")
	if end < 0 {
		return f
	}
	return f[:i] + v + f[i+end:]
}
