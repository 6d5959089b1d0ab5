package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/ledger"
	"sekisho/internal/relay/rpc"
)

func ask(t testing.TB, r *Registry, w Wire, k relay.Key, owner relay.Owner) Card {
	t.Helper()
	req := request(t, codex.MethodCommandApproval, `{`+scope+`,"command":"ls","cwd":"/"}`)
	req.Key = k
	c, _ := r.Add(context.Background(), w, Origin{Owner: owner}, req, Facts{})
	return c
}

// proves R-INT-01, R-PRI-05
func TestOnlyTheOwnerSeesAndAnswers(t *testing.T) {
	r, w := New(nil), newWire()
	c := ask(t, r, w, key(0), me)
	if s, err := r.Answer(context.Background(), other, Answer{Key: c.Key, Choice: "0"}); s != ledger.NotSent || code(err) != "request.gone" {
		t.Error(s, err)
	}
	if _, ok := r.Card(other, c.Key); ok || len(r.Cards(other)) != 0 || r.PendingCount(other, "") != 0 || r.Close(other, c.Key) || r.Expire(other, c.Key) {
		t.Error("another owner reaches the card")
	}
	if r.PendingCount(me, "") != 1 || r.PendingCount(me, "t") != 1 || r.PendingCount(me, "x") != 0 {
		t.Error("not counted")
	}
	r.EndOwner(me)
	if len(r.Cards(me)) != 0 || len(w.frames) != 0 {
		t.Error("an owner that ended still has cards")
	}
	if _, err := r.Answer(context.Background(), me, Answer{Key: c.Key, Choice: "0"}); code(err) != "request.gone" {
		t.Error(err)
	}
}

// proves R-INT-01, R-CONN-02, R-REC-08
func TestLateAnswersSendNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		end   func(*Registry, relay.Key)
		state State
		code  string
	}{
		"resolved":           {func(r *Registry, k relay.Key) { r.Retire(k, rpc.Resolved) }, Resolved, "request.gone.resolved"},
		"retired with it":    {func(r *Registry, k relay.Key) { r.Retire(k, rpc.GenerationEnded) }, Ended, "request.gone.ended"},
		"generation ended":   {func(r *Registry, k relay.Key) { r.EndGeneration(1) }, Ended, "request.gone.ended"},
		"closed here":        {func(r *Registry, k relay.Key) { r.Close(me, k) }, Closed, "request.gone.closed"},
		"expired":            {func(r *Registry, k relay.Key) { r.Expire(me, k) }, Expired, "request.gone.closed"},
		"other generation":   {func(r *Registry, k relay.Key) { r.EndGeneration(2) }, Answered, ""},
		"other key resolved": {func(r *Registry, k relay.Key) { r.Retire(key(9), rpc.Resolved) }, Answered, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := New(nil), newWire()
			c := ask(t, r, w, key(0), me)
			tc.end(r, c.Key)
			s, err := r.Answer(context.Background(), me, Answer{Key: c.Key, Choice: "0"})
			got, _ := r.Card(me, c.Key)
			if tc.code != "" && (s != ledger.NotSent || code(err) != tc.code || len(w.frames) != 0) || tc.code == "" && err != nil || got.State != tc.state {
				t.Errorf("%s %v, %q, %s", s, err, w.frames, got.State)
			}
		})
	}
}

// proves R-INT-01, R-PRI-04
func TestWhatBecomesOfAnAnswer(t *testing.T) {
	gone := func(v string) error { return fault.New(fault.RequestGone, fault.Variant(v)) }
	for name, tc := range map[string]struct {
		outcome ledger.State
		err     error
		state   State
	}{
		"proof, still pending": {ledger.NotSent, fault.New(fault.CallNotSent), Pending},
		"resolved meanwhile":   {ledger.NotSent, gone("resolved"), Resolved},
		"ended meanwhile":      {ledger.NotSent, gone("ended"), Ended},
		"answered elsewhere":   {ledger.NotSent, gone("answered"), Answered},
		"unknown":              {ledger.OutcomeUnknown, fault.New(fault.CallOutcomeUnknown), Unknown},
		"sent":                 {ledger.Sent, nil, Answered},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := New(nil), newWire()
			w.outcome = func() (ledger.State, error) { return tc.outcome, tc.err }
			c := ask(t, r, w, key(0), me)
			if s, err := r.Answer(context.Background(), me, Answer{Key: c.Key, Choice: "0"}); s != tc.outcome || (err == nil) != (tc.err == nil) {
				t.Error(s, err)
			}
			if got, _ := r.Card(me, c.Key); got.State != tc.state {
				t.Errorf("%s", got.State)
			}
			w.outcome = nil
			_, err := r.Answer(context.Background(), me, Answer{Key: c.Key, Choice: "0"})
			if again := w.attempts[c.Key] == 2; again != (tc.state == Pending) || again != (err == nil) {
				t.Errorf("answered again: %v, %v", again, err)
			}
		})
	}
}

// report 2, 14, 46
// proves R-INT-01: cards outlive their turn, and nothing answers by itself (cases 2, 14, 46).
func TestCardsStayUntilResolved(t *testing.T) {
	var mu sync.Mutex
	changes := 0
	r, w := New(func(o relay.Owner, _ relay.Key) {
		mu.Lock()
		defer mu.Unlock()
		if changes++; o != me {
			t.Error("another owner is told")
		}
	}), newWire()
	for i := range 3 {
		ask(t, r, w, key(int64(i)), me)
	}
	if c := ask(t, r, w, key(1), other); c.Key.Request.Valid() {
		t.Error("a known key was added again")
	}
	got := r.Cards(me)
	for i, c := range got {
		if c.State != Pending || c.Key != key(int64(i)) {
			t.Errorf("%d: %+v", i, c)
		}
	}
	if len(got) != 3 || len(w.frames) != 0 || changes != 3 {
		t.Errorf("%d cards, %q, %d changes", len(got), w.frames, changes)
	}
}

// proves R-INT-01: an id that is used again after its request was settled is a new request, never silence.
func TestASettledKeyIsAskedAnew(t *testing.T) {
	for name, settle := range map[string]func(*Registry, relay.Key){
		"resolved": func(r *Registry, k relay.Key) { r.Retire(k, rpc.Resolved) },
		"closed":   func(r *Registry, k relay.Key) { r.Close(me, k) },
		"answered": func(r *Registry, k relay.Key) {
			_, _ = r.Answer(context.Background(), me, Answer{Key: k, Choice: "3"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := New(nil), newWire()
			first := ask(t, r, w, key(0), me)
			ask(t, r, w, key(1), me)
			settle(r, key(0))
			before := len(w.frames)
			again := request(t, codex.MethodCommandApproval, `{`+scope+`,"command":"rm x"}`)
			c, ok := r.Add(context.Background(), w, from, again, Facts{})
			if !ok || c.State != Pending || c.Order <= first.Order || c.Command.Line.Lines[0] != "rm x" {
				t.Errorf("%v %+v", ok, c)
			}
			if list := r.Cards(me); len(list) != 2 || list[1].Key != key(0) || r.PendingCount(me, "") != 2 || len(w.frames) != before {
				t.Errorf("%d cards, %q", len(list), w.frames)
			}
			if s, err := r.Answer(context.Background(), me, Answer{Key: key(0), Choice: "0"}); s != ledger.Sent || err != nil || len(w.frames) != before+1 {
				t.Error(s, err, w.frames)
			}
			if _, err := r.Answer(context.Background(), me, Answer{Key: key(0), Choice: "0"}); code(err) != "request.gone.answered" {
				t.Error(err)
			}
		})
	}
}

func TestSettledCardsAreBounded(t *testing.T) {
	r, w := New(nil), newWire()
	ask(t, r, w, key(0), me)
	for i := range MaxSettled + 50 {
		k := key(int64(i + 1))
		ask(t, r, w, k, me)
		r.Retire(k, rpc.Resolved)
	}
	ask(t, r, w, key(1000), me)
	got := r.Cards(me)
	if len(got) != MaxSettled+2 || got[0].Key != key(0) || r.PendingCount(me, "") != 2 {
		t.Errorf("%d cards, first %v", len(got), got[0].Key)
	}
}

// proves R-INT-01: at most one answer per request in 100,000 schedules.
func TestAtMostOneAnswerUnderAnyRace(t *testing.T) {
	const schedules = 100_000
	const workers = 2
	template := request(t, codex.MethodCommandApproval, `{`+scope+`,"command":"ls","cwd":"/"}`)
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(worker), 5))
			for n := range schedules / workers {
				if !oneRace(t, rng, template) {
					t.Errorf("schedule %d of worker %d", n, worker)
					return
				}
			}
		})
	}
	wg.Wait()
}

// oneRace lets several goroutines settle one request and checks what left.
func oneRace(t *testing.T, rng *rand.Rand, req rpc.Request) bool {
	r, w := New(nil), newWire()
	r.Add(context.Background(), w, from, req, Facts{})
	answered := make([]bool, 2)
	steps := []func(){
		func() {
			s, _ := r.Answer(context.Background(), me, Answer{Key: req.Key, Choice: "0"})
			answered[0] = s == ledger.Sent
		},
		func() {
			s, _ := r.Answer(context.Background(), me, Answer{Key: req.Key, Choice: "3"})
			answered[1] = s == ledger.Sent
		},
		func() { r.Retire(req.Key, rpc.Resolved) },
		func() { r.EndGeneration(req.Key.Generation) },
		func() { r.Close(me, req.Key) },
		func() { r.EndOwner(me) },
	}
	rng.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	var wg sync.WaitGroup
	for _, s := range steps[:2+rng.IntN(3)] {
		wg.Go(s)
	}
	wg.Wait()
	said := 0
	for _, a := range answered {
		if a {
			said++
		}
	}
	ok := len(w.frames) <= 1 && len(w.frames) == said && w.attempts[req.Key] == said
	if !ok {
		t.Errorf("%d frames, %d attempts, %d said to be sent", len(w.frames), w.attempts[req.Key], said)
	}
	return ok
}

// proves R-INT-01: the registry against a model, step by step.
func TestRegistryFollowsItsModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r, w := New(nil), newWire()
		state, asked := map[relay.Key]State{}, map[relay.Key]int{}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			k := relay.Key{Generation: relay.Generation(rapid.IntRange(1, 2).Draw(rt, "gen")), Request: relay.IntID(int64(rapid.IntRange(0, 3).Draw(rt, "id")))}
			s, known := state[k]
			switch rapid.IntRange(0, 5).Draw(rt, "do") {
			case 0:
				ask(t, r, w, k, me)
				if !known || !s.Open() {
					state[k] = Pending
					asked[k]++
				}
			case 1:
				before := len(w.frames)
				_, err := r.Answer(context.Background(), me, Answer{Key: k, Choice: "0"})
				if (err == nil) != (known && s == Pending) || len(w.frames)-before != map[bool]int{true: 1}[err == nil] {
					rt.Fatalf("answer in state %q: %v", s, err)
				}
				if err == nil {
					state[k] = Answered
				}
			case 2:
				r.Retire(k, rpc.Resolved)
				if s == Pending {
					state[k] = Resolved
				}
			case 3:
				r.EndGeneration(k.Generation)
				for o := range state {
					if o.Generation == k.Generation && state[o] == Pending {
						state[o] = Ended
					}
				}
			case 4:
				if r.Close(me, k) != (s == Pending) {
					rt.Fatalf("close in state %q", s)
				}
				if s == Pending {
					state[k] = Closed
				}
			case 5:
				if _, err := r.Answer(context.Background(), me, Answer{Key: k, Choice: "77"}); err == nil {
					rt.Fatal("an invalid answer was sent")
				}
			}
		}
		got := map[relay.Key]State{}
		for _, c := range r.Cards(me) {
			got[c.Key] = c.State
		}
		if diff := cmp.Diff(fmt.Sprint(state), fmt.Sprint(got)); diff != "" {
			rt.Fatal(diff)
		}
		for k, n := range w.attempts {
			if n > asked[k] {
				rt.Fatalf("%v was asked %d times and answered %d times", k, asked[k], n)
			}
		}
	})
}

// FuzzAnswer: whatever a page sends, it is refused or decoded, and what is decoded never makes the registry send a reply
// that was not asked for.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"key":{"generation":1,"request":0},"choice":"accept","content":{"0":"Bob","1":3}}`))
	f.Add([]byte(`{"key":{"generation":1,"request":0},"grants":["network","0"],"scope":"session"}`))
	f.Add([]byte(`{"key":{"generation":1,"request":"0"},"replies":{"0":{"option":"1","text":"x"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := DecodeAnswer(data)
		if err != nil {
			return
		}
		for i, req := range []rpc.Request{
			request(t, codex.MethodElicitation, form),
			request(t, codex.MethodPermissionsApproval, `{`+scope+`,"cwd":"/w","permissions":`+wanted+`}`),
			request(t, codex.MethodCommandApproval, `{`+scope+`,"command":"ls"}`),
		} {
			r, w := New(nil), newWire()
			a.Key = req.Key
			add(t, r, w, req)
			_, err := r.Answer(context.Background(), me, a)
			if (err == nil) != (len(w.frames) == 1) {
				t.Errorf("%d: %v with %q", i, err, w.frames)
			}
			for _, frame := range w.frames {
				if !json.Valid([]byte(frame)) {
					t.Errorf("%q", frame)
				}
			}
		}
	})
}
