package ledger

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sekisho/internal/relay"
)

var me = relay.Owner{Profile: "p", Account: "a"}

func dispatched(t *testing.T, message string) *Book {
	t.Helper()
	b := New(me)
	if err := b.Open(Operation{ID: "op", Method: "turn/start", Thread: "t", MessageID: message, Content: "hello"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Dispatch("op", 1); err != nil {
		t.Fatal(err)
	}
	return b
}

func state(t *testing.T, b *Book) State {
	t.Helper()
	e, ok := b.Entry("op")
	if !ok {
		t.Fatal("no entry")
	}
	return e.State
}

// proves R-REC-07
func TestAnOperationIsDispatchedOnce(t *testing.T) {
	b := dispatched(t, "m")
	if err := b.Open(Operation{ID: "op"}); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	if err := b.Open(Operation{ID: "other", MessageID: "m"}); !errors.Is(err, ErrMessageID) {
		t.Error(err)
	}
	for _, gen := range []relay.Generation{1, 2} {
		if err := b.Dispatch("op", gen); !errors.Is(err, ErrDispatched) {
			t.Error(err)
		}
	}
	// A proof that nothing left is no licence either.
	if err := b.Settle("op", 1, NotSent, false, ""); err != nil || state(t, b) != NotSent {
		t.Error(err)
	}
	if err := b.Dispatch("op", 2); !errors.Is(err, ErrDispatched) {
		t.Error(err)
	}
	if got := b.Found("t", "m", "u", "i"); got != "" || state(t, b) != NotSent {
		t.Error(got)
	}
}

// proves R-REC-07
func TestDeliveryProof(t *testing.T) {
	b := dispatched(t, "m")
	if got := b.Found("t", "m", "u", "i"); got != "" || state(t, b) != Sent {
		t.Errorf("found before the outcome is unknown: %q, %s", got, state(t, b))
	}
	if got := b.EndGeneration(1); !slices.Equal(got, []relay.OperationID{"op"}) || state(t, b) != Delivered {
		t.Error(got, state(t, b))
	}

	b = dispatched(t, "m")
	_ = b.Started("op", 1)
	b.EndGeneration(1)
	if got := b.Uncertain(); len(got) != 1 || got[0].Content != "hello" {
		t.Error(got)
	}
	for _, miss := range [][2]string{{"t", "n"}, {"other", "m"}, {"t", ""}} {
		if got := b.Found(relay.ThreadID(miss[0]), miss[1], "u", "i"); got != "" || state(t, b) != OutcomeUnknown {
			t.Error(miss, got)
		}
	}
	if got := b.Found("t", "m", "u", "i"); got != "op" || state(t, b) != Delivered {
		t.Error(got, state(t, b))
	}
	if got := b.Found("t", "m", "u", "i"); got != "" {
		t.Error("the same proof twice is news")
	}
	if !b.Dismiss("op") || len(b.Entries()) != 0 || b.Found("t", "m", "u", "i") != "" {
		t.Error("a dismissed entry is still there")
	}
	if err := b.Open(Operation{ID: "op"}); !errors.Is(err, ErrExists) {
		t.Error("a dismissed operation could be sent again")
	}
}

// proves R-REC-07
func TestOnlyItsOwnGenerationConfirms(t *testing.T) {
	b := dispatched(t, "")
	if err := b.Settle("op", 2, Confirmed, false, "u"); !errors.Is(err, ErrGeneration) || state(t, b) != NotSent {
		t.Error(err)
	}
	b.EndGeneration(2)
	if state(t, b) != NotSent {
		t.Error("another generation's end settled it")
	}
	_ = b.Correlate("op", 1, "u", "i")
	if e, _ := b.Entry("op"); e.State != Sent || !e.Accepted || e.Turn != "u" || e.Item != "i" {
		t.Errorf("%+v", e)
	}
	b.EndGeneration(1)
	if state(t, b) != OutcomeUnknown {
		t.Error("acceptance passes for a result")
	}
	if err := b.Settle("op", 1, Confirmed, true, "u"); err != nil || state(t, b) != Confirmed {
		t.Error("a response that was reported late does not count", err)
	}
	if err := b.Settle("op", 1, NotSent, false, ""); !errors.Is(err, ErrConflict) {
		t.Error(err)
	}
}

// fact is one step of the property test.
type fact struct {
	name string
	do   func(*Book)
}

// proves R-REC-07, R-PRI-04
func TestFactsInAnyOrder(t *testing.T) {
	rank := map[State]int{NotSent: 0, Sent: 1, OutcomeUnknown: 2, Delivered: 3, Confirmed: 4}
	rapid.Check(t, func(t *rapid.T) {
		all := []fact{
			{"started", func(b *Book) { _ = b.Started("op", 1) }},
			{"unknown", func(b *Book) { _ = b.Settle("op", 1, OutcomeUnknown, false, "") }},
			{"end", func(b *Book) { b.EndGeneration(1) }},
			{"found", func(b *Book) { b.Found("t", "m", "u", "i") }},
			{"accepted", func(b *Book) { _ = b.Correlate("op", 1, "u", "") }},
			{"confirmed", func(b *Book) { _ = b.Settle("op", 1, Confirmed, false, "u") }},
			{"proof", func(b *Book) { _ = b.Settle("op", 1, NotSent, false, "") }},
			{"other generation", func(b *Book) {
				_ = b.Started("op", 2)
				_ = b.Settle("op", 2, Confirmed, false, "v")
				b.EndGeneration(2)
			}},
			{"dispatch", func(b *Book) {
				if b.Dispatch("op", 1) == nil || b.Dispatch("op", 2) == nil {
					panic("sent twice")
				}
			}},
		}
		facts := rapid.SliceOfN(rapid.SampledFrom(all), 0, 12).Draw(t, "facts")
		var names []string
		b := New(me)
		_ = b.Open(Operation{ID: "op", Thread: "t", MessageID: "m"})
		_ = b.Dispatch("op", 1)
		last, _ := b.Entry("op")
		proven := false
		for _, f := range facts {
			f.do(b)
			names = append(names, f.name)
			e, _ := b.Entry("op")
			proven = proven || f.name == "proof" && e.State == NotSent
			switch {
			case !e.Dispatched:
				t.Fatalf("%v: the dispatch was forgotten", names)
			case rank[e.State] < rank[last.State] && !(e.State == NotSent && f.name == "proof" && last.State == OutcomeUnknown):
				t.Fatalf("%v: %s became %s", names, last.State, e.State)
			case proven && e.State != NotSent:
				t.Fatalf("%v: proof was forgotten", names)
			}
			last = e
		}
		// Without contradictions the order does not matter.
		set := map[string]fact{}
		for _, f := range facts {
			set[f.name] = f
		}
		_, confirmed := set["confirmed"]
		_, proof := set["proof"]
		if proof && len(set) > 1 || confirmed && proof {
			return
		}
		again := New(me)
		_ = again.Open(Operation{ID: "op", Thread: "t", MessageID: "m"})
		_ = again.Dispatch("op", 1)
		for _, f := range rapid.Permutation(facts).Draw(t, "order") {
			f.do(again)
		}
		other, _ := again.Entry("op")
		if diff := cmp.Diff(last, other); diff != "" {
			t.Fatalf("%v: another order gives another end: %s", names, diff)
		}
	})
}

// proves R-REC-07
func TestABookIsBoundedAndForgetsNothingUncertain(t *testing.T) {
	b := New(me)
	for i := range MaxEntries {
		id := relay.OperationID(fmt.Sprint(i))
		_ = b.Open(Operation{ID: id})
		_ = b.Dispatch(id, 1)
		if i == 3 {
			_ = b.Settle(id, 1, Confirmed, false, "")
		}
	}
	b.EndGeneration(1)
	if err := b.Open(Operation{ID: "x"}); err != nil {
		t.Error(err)
	}
	if _, ok := b.Entry("3"); ok {
		t.Error("the settled one was kept")
	}
	if err := b.Open(Operation{ID: "y"}); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if got := len(b.Uncertain()); got != MaxEntries-1 {
		t.Errorf("%d uncertain", got)
	}
	if b.Owner() != me {
		t.Error("another owner")
	}
}
