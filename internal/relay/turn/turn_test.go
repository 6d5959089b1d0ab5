package turn

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

const gen = relay.Generation(3)

// event is one message with the events that must come before it.
type event struct {
	name  string
	after []int
	do    func(*State)
}

func note(n codex.Notification) func(*State) { return func(s *State) { s.Note(gen, n) } }

func started(thread, id string) codex.Notification {
	return &codex.TurnStarted{ThreadID: relay.ThreadID(thread), Turn: codex.Turn{ID: relay.TurnID(id), Status: codex.TurnInProgress}}
}

func done(thread, id string, status codex.TurnStatus) codex.Notification {
	d := &codex.TurnDone{ThreadID: relay.ThreadID(thread), Turn: codex.Turn{ID: relay.TurnID(id), Status: status}}
	if status == codex.TurnFailed {
		d.Turn.Error = &codex.TurnError{Message: "x"}
	}
	return d
}

func itemStarted(turn, id string) codex.Notification {
	return &codex.ItemStarted{ThreadID: "t", TurnID: relay.TurnID(turn), Item: codex.Item{ID: relay.ItemID(id), Type: "commandExecution"}}
}

func itemDone(turn, id string) codex.Notification {
	return &codex.ItemCompleted{ThreadID: "t", TurnID: relay.TurnID(turn), Item: codex.Item{ID: relay.ItemID(id), Type: "commandExecution"}}
}

func delta(turn, id string) codex.Notification {
	return &codex.ItemDelta{Name: "item/commandExecution/outputDelta", ThreadID: "t", TurnID: relay.TurnID(turn), ItemID: relay.ItemID(id), Delta: "x"}
}

func key(n int64) relay.Key { return relay.Key{Generation: gen, Request: relay.IntID(n)} }

// scenario is a turn with a command, an approval, a steering message, an interrupt, a late completion, other threads and
// old generations. Only what causes something comes before it; everything else may arrive in any order.
func scenario(t *rapid.T) []event {
	end := rapid.SampledFrom([]codex.TurnStatus{codex.TurnCompleted, codex.TurnInterrupted, codex.TurnFailed}).Draw(t, "end")
	var events []event
	add := func(name string, do func(*State), after ...int) int {
		events = append(events, event{name, after, do})
		return len(events) - 1
	}
	sent := add("sent", func(s *State) { s.Sent(gen, "op1", "t") })
	add("response", func(s *State) {
		s.Accepted(gen, "op1", codex.Turn{ID: "u1", Status: codex.TurnInProgress})
	}, sent)
	add("started", note(started("t", "u1")), sent)
	add("started again", note(started("t", "u1")), sent)
	add("item started", note(itemStarted("u1", "i1")), sent)
	add("delta", note(delta("u1", "i1")), sent)
	asked := add("asked", func(s *State) { s.Asked(key(0), codex.Scope{Thread: "t", Turn: "u1", Item: "i1"}) }, sent)
	add("resolved", func(s *State) { s.Resolved(key(0)) }, asked)
	add("done", note(done("t", "u1", end)), sent)
	add("done again", note(done("t", "u1", end)), sent)
	if rapid.Bool().Draw(t, "completes") {
		add("item done", note(itemDone("u1", "i1")), sent)
		add("item done again", note(itemDone("u1", "i1")), sent)
	}
	steer := add("steer sent", func(s *State) { s.Sent(gen, "op2", "t") }, sent)
	add("steer response", func(s *State) {
		s.Accepted(gen, "op2", codex.Turn{ID: "u1", Status: codex.TurnInProgress})
	}, steer)
	add("stale", func(s *State) { s.NotActive(gen, "t", "u1") }, sent)
	add("page", func(s *State) { s.Known(gen, "t", codex.Turn{ID: "u1", Status: end}) }, sent)
	add("older turn", note(itemDone("u0", "i0")))
	add("other thread starts", note(started("t2", "u1")))
	add("other thread's item", func(s *State) {
		s.Note(gen, &codex.ItemStarted{ThreadID: "t2", TurnID: "u1", Item: codex.Item{ID: "i1", Type: "agentMessage"}})
	})
	idle := add("active", note(&codex.ThreadStatusChanged{ThreadID: "t", Status: codex.ThreadStatus{Type: codex.StatusActive, ActiveFlags: []string{codex.FlagWaitApproval}}}))
	add("idle", note(&codex.ThreadStatusChanged{ThreadID: "t", Status: codex.ThreadStatus{Type: codex.StatusIdle}}), idle)
	add("old generation", func(s *State) {
		for _, n := range []codex.Notification{started("t", "u9"), done("t2", "u1", codex.TurnCompleted), itemStarted("u1", "i9")} {
			if s.Note(gen-1, n) || s.Note(gen+1, n) {
				panic("another generation changed something")
			}
		}
		s.Accepted(gen-1, "op1", codex.Turn{ID: "u9"})
		s.Resolved(relay.Key{Generation: gen - 1, Request: relay.IntID(0)})
		s.Asked(relay.Key{Generation: gen - 1, Request: relay.IntID(5)}, codex.Scope{Thread: "t"})
	})
	add("unknown", note(&codex.Other{Name: "turn/started"}))
	return events
}

// extend returns a random order in which every event comes after what it depends on.
func extend(t *rapid.T, label string, events []event) []int {
	var order []int
	placed := map[int]bool{}
	for len(order) < len(events) {
		var free []int
		for i, e := range events {
			ready := !placed[i]
			for _, a := range e.after {
				ready = ready && placed[a]
			}
			if ready {
				free = append(free, i)
			}
		}
		next := free[rapid.IntRange(0, len(free)-1).Draw(t, label)]
		placed[next] = true
		order = append(order, next)
	}
	return order
}

func dump(s *State) string {
	text := ""
	for _, id := range []relay.ThreadID{"t", "t2", "t3"} {
		th, ok := s.Thread(id)
		run, runs := s.Running(id)
		for i := range th.Turns {
			if e := th.Turns[i].Err; e != nil {
				text += "error " + e.Message + "\n"
				th.Turns[i].Err = nil
			}
		}
		text += fmt.Sprintf("%s %v %+v running %q %v waits %v starting %v\n", id, ok, th, run, runs, s.WaitsUnseen(id), s.Starting(id))
	}
	for _, op := range []relay.OperationID{"op1", "op2"} {
		turn, steered, ok := s.StartedTurn(op)
		text += fmt.Sprintf("%s %s %v %v\n", op, turn, steered, ok)
	}
	return text
}

// proves R-CONN-03, R-CONN-02
func TestAnyCausalOrderGivesTheSameState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := scenario(t)
		var want string
		for _, label := range []string{"first", "second"} {
			s := New(gen)
			var names []string
			for _, i := range extend(t, label, events) {
				was, _ := s.Turn("t", "u1")
				events[i].do(s)
				names = append(names, events[i].name)
				if now, _ := s.Turn("t", "u1"); now.Status < was.Status {
					t.Fatalf("%v: %s became %s", names, was.Status, now.Status)
				}
			}
			got := dump(s)
			if want == "" {
				want = got
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%v: %s", names, diff)
			}
		}
	})
}

// report 19
// proves R-CONN-03: case 19, every order of the response, start, item and end.
func TestEveryOrderOfFour(t *testing.T) {
	events := []func(*State){
		func(s *State) { s.Accepted(gen, "op", codex.Turn{ID: "u", Status: codex.TurnInProgress}) },
		note(started("t", "u")), note(itemDone("u", "i")), note(done("t", "u", codex.TurnCompleted)),
	}
	n := 0
	var permute func(rest []int, order []int)
	permute = func(rest, order []int) {
		if len(rest) == 0 {
			n++
			s := New(gen)
			s.Sent(gen, "op", "t")
			for _, i := range order {
				events[i](s)
			}
			u, _ := s.Turn("t", "u")
			id, steered, ok := s.StartedTurn("op")
			if _, runs := s.Running("t"); runs || u.Status != Completed || len(u.Items) != 1 || u.Items[0].Open || id != "u" || steered || !ok || s.Starting("t") {
				t.Errorf("%v: %+v", order, u)
			}
			return
		}
		for i := range rest {
			others := append(append([]int(nil), rest[:i]...), rest[i+1:]...)
			permute(others, append(append([]int(nil), order...), rest[i]))
		}
	}
	permute([]int{0, 1, 2, 3}, nil)
	if n != 24 {
		t.Errorf("%d orders", n)
	}
}

// proves R-CONN-08
func TestKnownBehaviourOfTheServer(t *testing.T) {
	t.Run("a message to a busy thread steers it", func(t *testing.T) {
		s := New(gen)
		s.Note(gen, started("t", "u"))
		s.Sent(gen, "op", "t")
		if !s.Starting("t") {
			t.Error("a second message would race")
		}
		s.Accepted(gen, "op", codex.Turn{ID: "u", Status: codex.TurnInProgress})
		if id, steered, ok := s.StartedTurn("op"); id != "u" || !steered || !ok {
			t.Error(id, steered, ok)
		}
	})
	t.Run("an item completes long after its turn", func(t *testing.T) {
		s := New(gen)
		for _, n := range []codex.Notification{started("t", "u1"), itemStarted("u1", "i"), done("t", "u1", codex.TurnCompleted), started("t", "u2")} {
			s.Note(gen, n)
		}
		if u, _ := s.Turn("t", "u1"); !u.Items[0].Open {
			t.Error("completed before its completion")
		}
		s.Note(gen, itemDone("u1", "i"))
		u, _ := s.Turn("t", "u1")
		if id, _ := s.Running("t"); id != "u2" || u.Status != Completed || u.Items[0].Open {
			t.Errorf("%s, %+v", id, u)
		}
	})
	t.Run("interrupt with a pending approval", func(t *testing.T) {
		s := New(gen)
		for _, n := range []codex.Notification{started("t", "u"), itemStarted("u", "i")} {
			s.Note(gen, n)
		}
		s.Asked(key(0), codex.Scope{Thread: "t"})
		s.Note(gen, done("t", "u", codex.TurnInterrupted))
		if th, _ := s.Thread("t"); len(th.Requests) != 1 {
			t.Error("the request ended with the turn")
		}
		s.Resolved(key(0))
		th, _ := s.Thread("t")
		if _, runs := s.Running("t"); runs || len(th.Requests) != 0 || th.Turns[0].Status != Interrupted || !th.Turns[0].Items[0].Open {
			t.Errorf("%+v", th)
		}
	})
	t.Run("joining mid-stream", func(t *testing.T) {
		s := New(gen)
		s.Note(gen, delta("u", "i"))
		if _, runs := s.Running("t"); runs {
			t.Error("a delta alone makes a turn run")
		}
		s.Known(gen, "t", codex.Turn{ID: "u", Status: codex.TurnInProgress})
		s.Note(gen, itemDone("u", "i"))
		s.Note(gen, done("t", "u", codex.TurnCompleted))
		if u, _ := s.Turn("t", "u"); u.Status != Completed || u.Items[0].Kind != "commandExecution" {
			t.Errorf("%+v", u)
		}
	})
	t.Run("no active turn", func(t *testing.T) {
		s := New(gen)
		s.Note(gen, started("t", "u"))
		s.NotActive(gen, "t", "u")
		s.Note(gen, started("t", "u"))
		if _, runs := s.Running("t"); runs {
			t.Error("a stale turn runs")
		}
		s.Note(gen, done("t", "u", codex.TurnCompleted))
		if u, _ := s.Turn("t", "u"); u.Status != Completed {
			t.Errorf("%+v", u)
		}
	})
	t.Run("completed with a status of a later version", func(t *testing.T) {
		s := New(gen)
		s.Note(gen, started("t", "u"))
		s.Note(gen, done("t", "u", "paused"))
		if _, runs := s.Running("t"); runs {
			t.Error("a completed turn runs")
		}
		s.Known(gen, "t", codex.Turn{ID: "v", Status: "paused"})
		if id, _ := s.Running("t"); id != "v" {
			t.Error("a status that is no end ends a turn")
		}
	})
	t.Run("a thread waits and no request is here", func(t *testing.T) {
		s := New(gen)
		s.ThreadStatus(gen, "t", codex.ThreadStatus{Type: codex.StatusActive, ActiveFlags: []string{codex.FlagWaitApproval}})
		if !s.WaitsUnseen("t") {
			t.Error("not shown")
		}
		s.Asked(key(0), codex.Scope{Thread: "t"})
		if s.WaitsUnseen("t") {
			t.Error("shown beside the card")
		}
	})
	t.Run("an unusable response frees the thread", func(t *testing.T) {
		s := New(gen)
		s.Sent(gen, "op", "t")
		if !s.Settled(gen, "op") || s.Starting("t") || s.Accepted(gen, "op", codex.Turn{ID: "u"}) {
			t.Error("still starting")
		}
	})
}

// proves R-PRI-01
func TestBounds(t *testing.T) {
	s := New(gen)
	for i := range MaxTurns + 100 {
		id := fmt.Sprint("u", i)
		s.Note(gen, started("t", id))
		s.Note(gen, itemStarted(id, "i"))
		if i > 0 {
			s.Note(gen, done("t", id, codex.TurnCompleted))
		}
	}
	th, _ := s.Thread("t")
	detailed := 0
	for _, u := range th.Turns {
		if len(u.Items) > 0 {
			detailed++
		}
	}
	if id, _ := s.Running("t"); len(th.Turns) != MaxTurns || detailed > MaxDetailedTurns+2 || id != "u0" {
		t.Errorf("%d turns, %d with items, running %q", len(th.Turns), detailed, id)
	}
	for i := range MaxThreads + 10 {
		s.Note(gen, &codex.ThreadStarted{Thread: codex.Thread{ID: relay.ThreadID(fmt.Sprint("x", i))}})
	}
	if _, runs := s.Running("t"); !runs || len(s.threads) != MaxThreads {
		t.Errorf("%d threads, running %v", len(s.threads), runs)
	}
}

// proves R-PRI-01: of the errors of ended turns only the last ones are kept, of the turns' ends all.
func TestErrorsOfOldTurnsAreForgotten(t *testing.T) {
	s := New(gen)
	for i := range 3 * MaxDetailedTurns {
		s.Note(gen, done("t", fmt.Sprintf("u%04d", i), codex.TurnFailed))
	}
	v, _ := s.Thread("t")
	kept := 0
	for _, u := range v.Turns {
		if u.Status != Failed {
			t.Errorf("%s is %s", u.ID, u.Status)
		}
		if u.Err != nil {
			kept++
		}
	}
	if last := v.Turns[len(v.Turns)-1]; kept > MaxDetailedTurns+1 || last.Err == nil {
		t.Errorf("%d errors are kept, the last is %v", kept, last.Err)
	}
}
