package turn

import (
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

// Note takes a notification of generation gen. It reports whether anything changed; other generations, unknown
// notifications and repetitions change nothing.
func (s *State) Note(gen relay.Generation, n codex.Notification) bool {
	scope := n.Scope()
	if gen != s.gen || scope.Thread == "" {
		return false
	}
	switch n := n.(type) {
	case *codex.TurnStarted:
		return s.Known(gen, n.ThreadID, n.Turn)
	case *codex.TurnDone:
		return s.done(n)
	case *codex.ItemStarted:
		return s.item(scope, func(i *item) { i.started, i.kind = true, n.Item.Type })
	case *codex.ItemCompleted:
		return s.item(scope, func(i *item) { i.completed, i.kind = true, n.Item.Type })
	case *codex.ItemDelta, *codex.ReasoningPartAdded, *codex.PatchUpdated, *codex.McpProgress:
		return s.item(scope, func(*item) {})
	case *codex.ThreadStarted:
		return s.status(n.Thread.ID, n.Thread.Status)
	case *codex.ThreadStatusChanged:
		return s.status(n.ThreadID, n.Status)
	case *codex.ThreadNote:
		if n.Name == "thread/closed" {
			return s.status(n.ThreadID, codex.ThreadStatus{Type: codex.StatusNotLoaded})
		}
	}
	return false
}

// Known takes a turn as a response, a page or turn/started describes it. A turn that is described with a status that is no
// end counts as running, unless its end is known.
func (s *State) Known(gen relay.Generation, id relay.ThreadID, t codex.Turn) bool {
	if gen != s.gen || id == "" || t.ID == "" {
		return false
	}
	return s.thread(id).turn(t.ID).advance(statusOf(t.Status), t.Error)
}

// done takes turn/completed. Whatever status it names, the turn is over.
func (s *State) done(n *codex.TurnDone) bool {
	if n.Turn.ID == "" {
		return false
	}
	return s.thread(n.ThreadID).turn(n.Turn.ID).advance(max(statusOf(n.Turn.Status), Over), n.Turn.Error)
}

// item changes one item. It never changes the status of the turn: an item may complete long after it.
func (s *State) item(scope codex.Scope, f func(*item)) bool {
	if scope.Turn == "" || scope.Item == "" {
		return false
	}
	u := s.thread(scope.Thread).turn(scope.Turn)
	i, ok := u.items[scope.Item]
	if !ok {
		if len(u.items) >= MaxItems {
			return false
		}
		i = &item{}
		u.items[scope.Item] = i
	}
	before := *i
	f(i)
	return !ok || *i != before
}

// status takes the thread's own word about itself. It does not end turns: only their end does.
func (s *State) status(id relay.ThreadID, to codex.ThreadStatus) bool {
	t := s.thread(id)
	t.status = to
	return true
}

// ThreadStatus takes the status of a thread that was read from the server.
func (s *State) ThreadStatus(gen relay.Generation, id relay.ThreadID, to codex.ThreadStatus) bool {
	return gen == s.gen && id != "" && s.status(id, to)
}

// Sent notes that a message of ours to a thread left, as operation op.
func (s *State) Sent(gen relay.Generation, op relay.OperationID, id relay.ThreadID) bool {
	if gen != s.gen || s.starts[op] != nil {
		return false
	}
	s.seq++
	s.starts[op] = &start{seq: s.seq, thread: id, running: s.thread(id).running()}
	s.boundStarts()
	return true
}

// boundStarts forgets the oldest settled messages.
func (s *State) boundStarts() {
	for len(s.starts) > MaxTurns {
		var oldest relay.OperationID
		for op, st := range s.starts {
			if st.settled && (oldest == "" || st.seq < s.starts[oldest].seq) {
				oldest = op
			}
		}
		if oldest == "" {
			return
		}
		delete(s.starts, oldest)
	}
}

// Accepted takes the response to turn/start: the turn that the message went to. On a busy thread that is the running one
// (R-CONN-08). It may come after everything else of that turn.
func (s *State) Accepted(gen relay.Generation, op relay.OperationID, t codex.Turn) bool {
	st := s.starts[op]
	if gen != s.gen || st == nil || st.settled {
		return false
	}
	st.settled, st.turn = true, t.ID
	s.Known(gen, st.thread, t)
	return true
}

// Settled notes that there will be no usable response to op: refused, not sent, or unknown.
func (s *State) Settled(gen relay.Generation, op relay.OperationID) bool {
	st := s.starts[op]
	if gen != s.gen || st == nil || st.settled {
		return false
	}
	st.settled = true
	return true
}

// NotActive takes the server's word that a turn is not the running one (codex.KindTurnMismatch): our knowledge was stale.
// What the person wanted to send is offered as a new message, never sent by itself.
func (s *State) NotActive(gen relay.Generation, id relay.ThreadID, turnID relay.TurnID) bool {
	if gen != s.gen || turnID == "" {
		return false
	}
	return s.thread(id).turn(turnID).advance(Over, nil)
}

// Asked and Resolved follow the open requests of a thread, for WaitsUnseen. Requests are independent of turns.
func (s *State) Asked(key relay.Key, scope codex.Scope) bool {
	if key.Generation != s.gen || scope.Thread == "" {
		return false
	}
	s.thread(scope.Thread).requests[key] = scope
	return true
}

// Resolved removes a request, whichever thread it is of.
func (s *State) Resolved(key relay.Key) bool {
	found := false
	for _, t := range s.threads {
		if _, ok := t.requests[key]; ok {
			delete(t.requests, key)
			found = true
		}
	}
	return found
}
