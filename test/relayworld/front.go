package relayworld

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sekisho/internal/relay"
	"sekisho/internal/relay/ask"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/headless"
)

// Front is a front end on behalf of a test: a wait ends within Patience, and what fails fails the test.
type Front struct {
	T        testing.TB
	Ctx      context.Context
	Patience time.Duration // nothing but a failure waits that long
	Client   *headless.Client
	Watch    *headless.Watcher
}

// Join connects the front end with an address that was printed; last is the id of the event after which it resumes. What does
// not fit together on its page fails the test at its end.
func (f *Front) Join(address, last string) {
	f.T.Helper()
	f.Client, f.Watch = f.Page(address, last)
}

// Page connects another page to an address, which has begun when it returns.
func (f *Front) Page(address, last string) (*headless.Client, *headless.Watcher) {
	f.T.Helper()
	client, err := headless.Connect(f.Ctx, address)
	if err != nil {
		f.T.Fatal(err)
	}
	watch, err := client.Watch(f.Ctx, last)
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(func() {
		watch.Look(func(v *headless.View) {
			for _, m := range v.Mismatch {
				f.T.Errorf("the page: %s", m)
			}
		})
		watch.Close()
		client.Close()
	})
	f.WaitOn(watch, "the beginning", func(v *headless.View) bool { return v.Batches > 0 })
	return client, watch
}

// Do sends a command and returns what became of it; value, unless nil, takes its result.
func (f *Front) Do(kind uicontract.CommandKind, params, value any) uicontract.Result {
	f.T.Helper()
	r, err := f.Client.Do(f.Ctx, kind, params, value)
	if err != nil {
		f.T.Fatalf("%s: %v", kind, err)
	}
	return r
}

// Must requires that a command was done.
func (f *Front) Must(r uicontract.Result) {
	f.T.Helper()
	if r.Status != uicontract.Done {
		f.T.Fatalf("%s: %+v", r.Status, r.Problem)
	}
}

// Wait waits until the page shows what cond says.
func (f *Front) Wait(what string, cond func(*headless.View) bool) {
	f.T.Helper()
	f.WaitOn(f.Watch, what, cond)
}

// WaitOn waits until a page shows what cond says.
func (f *Front) WaitOn(watch *headless.Watcher, what string, cond func(*headless.View) bool) {
	f.T.Helper()
	ctx, cancel := context.WithTimeout(f.Ctx, f.Patience)
	defer cancel()
	if err := watch.Wait(ctx, what, cond); err != nil {
		watch.Look(func(v *headless.View) {
			f.T.Logf("connection %+v; open %d; cards %+v; outcomes %+v; notices %+v; events %v", v.Connection, len(v.Snapshot.Open), v.Cards, v.Outcomes, v.Notices, v.Log[max(0, len(v.Log)-30):])
		})
		f.T.Fatal(err)
	}
}

// Thread starts a thread.
func (f *Front) Thread() relay.ThreadID {
	f.T.Helper()
	var ref uicontract.ThreadRef
	f.Must(f.Do(uicontract.CmdThreadStart, uicontract.ThreadStart{}, &ref))
	return ref.Thread
}

// Send sends a message and returns its turn.
func (f *Front) Send(id relay.ThreadID, text string) relay.TurnID {
	f.T.Helper()
	var sent uicontract.TurnSent
	f.Must(f.Do(uicontract.CmdTurnSend, uicontract.TurnSend{Thread: id, Text: text}, &sent))
	return sent.Turn
}

// Turn waits until a thread shows a turn with a status.
func (f *Front) Turn(id relay.ThreadID, turn relay.TurnID, status string) {
	f.T.Helper()
	f.Wait(fmt.Sprintf("turn %s %s", turn, status), func(v *headless.View) bool {
		t := v.Open(id)
		return t != nil && t.Head.Turn == turn && t.Head.TurnStatus == status
	})
}

// Card waits for the one pending card of a thread.
func (f *Front) Card(id relay.ThreadID) uicontract.Card {
	f.T.Helper()
	var card uicontract.Card
	f.Wait("a card", func(v *headless.View) bool {
		cards := v.Pending(id)
		if len(cards) > 0 {
			card = cards[0]
		}
		return len(cards) == 1
	})
	return card
}

// CardIs waits until a card is in a state.
func (f *Front) CardIs(id string, state ask.State) {
	f.T.Helper()
	f.Wait("card "+id+" "+string(state), func(v *headless.View) bool {
		c := v.Card(id)
		return c != nil && c.State == uicontract.CardState(state)
	})
}

// Choose answers a card with the choice of a kind, as a person who has read it to its end.
func (f *Front) Choose(card uicontract.Card, kind string) uicontract.Result {
	f.T.Helper()
	for _, c := range card.Choices {
		if c.Kind == kind {
			return f.Do(uicontract.CmdCardAnswer, uicontract.Answer{Card: card.ID, Choice: c.ID, SeenEnd: card.Long}, nil)
		}
	}
	f.T.Fatalf("the card offers no %s: %+v", kind, card.Choices)
	return uicontract.Result{}
}

// Kinds are what a card offers.
func Kinds(card uicontract.Card) string {
	var list []string
	for _, c := range card.Choices {
		list = append(list, c.Kind)
	}
	return strings.Join(list, " ")
}
