//go:build realcodex

package ask

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/history"
	"sekisho/internal/relay/ledger"
	"sekisho/internal/relay/rpc"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/turn"
	"sekisho/test/fakes/responses"
)

// bench joins the rooms of one generation as a worker does, on the real server.
type bench struct {
	t       *testing.T
	ctx     context.Context
	client  *rpc.Client
	cards   *Registry
	book    *ledger.Book
	mu      sync.Mutex
	news    chan struct{}
	turns   *turn.State
	window  *history.Window
	thread  relay.ThreadID
	ops     int
	changes map[relay.ItemID][]codex.FileUpdate
}

func (b *bench) tell() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

func (b *bench) Notification(gen relay.Generation, n codex.Notification) {
	b.mu.Lock()
	b.turns.Note(gen, n)
	var found []history.Delivery
	if b.window != nil {
		_, found = b.window.Note(gen, n)
	}
	for _, d := range found {
		b.book.Found(b.thread, d.MessageID, d.Turn, d.Item)
	}
	if s, ok := n.(*codex.ItemStarted); ok {
		if f, ok := s.Item.Body.(*codex.FileChange); ok {
			b.changes[s.Item.ID] = f.Changes
		}
	}
	b.mu.Unlock()
	b.tell()
}

func (b *bench) Request(q rpc.Request) {
	scope := q.Body.Scope()
	b.mu.Lock()
	b.turns.Asked(q.Key, scope)
	changes := b.changes[scope.Item]
	b.mu.Unlock()
	b.cards.Add(b.ctx, b.client, from, q, Facts{Changes: changes})
	b.tell()
}

func (b *bench) Retired(k relay.Key, why rpc.Retirement) {
	b.mu.Lock()
	b.turns.Resolved(k)
	b.mu.Unlock()
	b.cards.Retire(k, why)
	b.tell()
}

func (b *bench) Refused(_ relay.Generation, m string, code int) {
	b.t.Errorf("%s was refused with %d", m, code)
}
func (b *bench) SyncLost(_ relay.Generation, l rpc.Lost) { b.t.Errorf("lost %+v", l) }
func (b *bench) Ended(relay.Generation, error)           { b.tell() }

// until waits for a state, driven by what the server says.
func (b *bench) until(what string, ok func() bool) {
	b.t.Helper()
	for {
		b.mu.Lock()
		done := ok()
		b.mu.Unlock()
		if done {
			return
		}
		select {
		case <-b.news:
		case <-b.ctx.Done():
			b.t.Fatalf("%s: %v, client %v", what, b.ctx.Err(), b.client.Err())
		}
	}
}

func (b *bench) call(method string, params, result any) {
	b.t.Helper()
	if o, err := b.client.Call(b.ctx, method, params, result, rpc.CallOptions{}); err != nil || o != ledger.Confirmed {
		b.t.Fatalf("%s: %s, %v", method, o, err)
	}
}

// say sends a message and returns its operation.
func (b *bench) say(text string) relay.OperationID {
	b.t.Helper()
	b.ops++
	op := relay.OperationID(fmt.Sprint("op", b.ops))
	b.mu.Lock()
	if err := b.book.Open(ledger.Operation{ID: op, Method: codex.TurnStart, Thread: b.thread, MessageID: "m-" + string(op)}); err != nil {
		b.t.Fatal(err)
	}
	if err := b.book.Dispatch(op, 1); err != nil {
		b.t.Fatal(err)
	}
	b.turns.Sent(1, op, b.thread)
	b.mu.Unlock()
	var result codex.TurnStartResult
	o, err := b.client.Call(b.ctx, codex.TurnStart, codex.TurnStartParams{ThreadID: b.thread, ClientUserMessageID: "m-" + string(op), Input: []codex.UserInput{codex.TextInput(text)}}, &result,
		rpc.CallOptions{Sent: func() { b.mu.Lock(); _ = b.book.Started(op, 1); b.mu.Unlock() }})
	if err != nil {
		b.t.Fatal(o, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.book.Settle(op, 1, o, false, result.Turn.ID); err != nil {
		b.t.Fatal(err)
	}
	b.turns.Accepted(1, op, result.Turn)
	return op
}

// card waits for the next open card.
func (b *bench) card(kind Kind) Card {
	b.t.Helper()
	var c Card
	b.until("a card of kind "+string(kind), func() bool {
		for _, c = range b.cards.Cards(me) {
			if c.State == Pending {
				return true
			}
		}
		return false
	})
	if c.Kind != kind {
		b.t.Fatalf("%s instead of %s", c.Kind, kind)
	}
	return c
}

func (b *bench) answer(a Answer) {
	b.t.Helper()
	if s, err := b.cards.Answer(b.ctx, me, a); s != ledger.Sent || err != nil {
		b.t.Fatal(s, err)
	}
}

// ended waits for the end of an operation's turn.
func (b *bench) ended(op relay.OperationID) turn.Status {
	b.t.Helper()
	var status turn.Status
	b.until("the end of "+string(op), func() bool {
		id, _, _ := b.turns.StartedTurn(op)
		u, _ := b.turns.Turn(b.thread, id)
		status = u.Status
		return status.Ended()
	})
	return status
}

func run(t *testing.T, version string) *bench {
	out, err := exec.Command("../../../scripts/codex", version).Output()
	if err != nil {
		t.Fatalf("scripts/codex: %v", err)
	}
	home, work := responses.TempHome(t), t.TempDir()
	if err := responses.Home(home, responses.Start(t).URL(), "[features]\nrequest_permissions_tool = true\ndefault_mode_request_user_input = true\n", work); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	conn, _, err := transport.StartChild(ctx, transport.ChildOptions{Program: strings.TrimSpace(string(out)), Args: []string{"app-server"}, Dir: work,
		Env: append(os.Environ(), "CODEX_HOME="+home), Grace: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, ctx: ctx, cards: New(nil), book: ledger.New(me), news: make(chan struct{}, 1), turns: turn.New(1), changes: map[relay.ItemID][]codex.FileUpdate{}}
	b.client = rpc.New(conn, rpc.Options{Generation: 1, Version: version, Handler: b})
	t.Cleanup(func() {
		b.client.Close(transport.ShuttingDown)
		b.client.Wait()
	})
	b.call(codex.Initialize, codex.InitializeParams{ClientInfo: codex.ClientInfo{Name: "relaycodex", Version: version}, Capabilities: &codex.Capabilities{ExperimentalAPI: true}}, new(codex.InitializeResult))
	if err := b.client.Notify(ctx, codex.Initialized, nil); err != nil {
		t.Fatal(err)
	}
	var opened codex.ThreadOpened
	b.call(codex.ThreadStart, codex.ThreadStartParams{Cwd: work, ApprovalPolicy: "on-request", Sandbox: "workspace-write"}, &opened)
	b.mu.Lock()
	b.thread = opened.Thread.ID
	b.window = history.New(me, b.thread, 1)
	b.mu.Unlock()
	return b
}

// proves R-INT-01, R-INT-02, R-INT-03, R-CONN-08, R-REC-07, R-REC-11
func TestTheRealServerAsks(t *testing.T) {
	for _, version := range []string{codex.Target, codex.Regression} {
		t.Run(version, func(t *testing.T) {
			b := run(t, version)
			const escalated = `SCN call exec_command {"cmd":"echo ok","sandbox_permissions":"require_escalated","justification":"need it"}`

			op := b.say(escalated)
			c := b.card(CommandCard)
			if kinds(c.Choices) != "accept acceptWithExecpolicyAmendment cancel" || len(c.Command.Argv) != 3 {
				t.Errorf("%s, %+v", kinds(c.Choices), c.Command)
			}
			b.answer(Answer{Key: c.Key, Choice: "0"})
			if _, err := b.cards.Answer(b.ctx, me, Answer{Key: c.Key, Choice: "2"}); err == nil {
				t.Error("answered twice")
			}
			if s := b.ended(op); s != turn.Completed {
				t.Error(s)
			}

			op = b.say(`SCN call request_permissions {"reason":"need write","permissions":{"file_system":{"write":["/nowhere/x"]},"network":{"enabled":true}}}`)
			c = b.card(PermissionsCard)
			if len(c.Permissions.Grants) != 2 {
				t.Errorf("%+v", c.Permissions)
			}
			b.answer(Answer{Key: c.Key, Grants: []string{"0"}})
			if s := b.ended(op); s != turn.Completed {
				t.Error(s)
			}

			op = b.say(`SCN call request_user_input {"questions":[{"id":"q1","header":"Pick","question":"Which?","options":[{"label":"A","description":"first"},{"label":"B","description":"second"}]}]}`)
			c = b.card(QuestionCard)
			one := "1"
			b.answer(Answer{Key: c.Key, Replies: map[string]Reply{"0": {Option: &one}}})
			if s := b.ended(op); s != turn.Completed {
				t.Error(s)
			}

			// Interrupt with a pending approval: the turn ends, the request is resolved, nothing is answered.
			op = b.say(escalated + " ")
			c = b.card(CommandCard)
			id, _, _ := b.turns.StartedTurn(op)
			b.call(codex.TurnInterrupt, codex.TurnInterruptParams{ThreadID: b.thread, TurnID: id}, nil)
			if s := b.ended(op); s != turn.Interrupted {
				t.Error(s)
			}
			b.until("the end of the card", func() bool { c, _ := b.cards.Card(me, c.Key); return c.State == Resolved })

			// Pages show what was seen live, once.
			b.mu.Lock()
			live := len(b.window.Entries())
			asked := b.window.NewestItems()
			b.mu.Unlock()
			var items codex.ItemsListResult
			b.call(codex.ThreadItemsList, asked, &items)
			b.mu.Lock()
			m := b.window.MergeItems(1, asked, items)
			summary := b.window.NewestTurns()
			b.mu.Unlock()
			var turns codex.TurnsListResult
			b.call(codex.ThreadTurnsList, summary, &turns)
			b.mu.Lock()
			defer b.mu.Unlock()
			m2 := b.window.MergeTurns(1, summary, turns)
			if m.Added != 0 || m2.Added != 0 || live < 8 || len(m.Found) != 4 {
				t.Errorf("%d live, %d and %d added, %d deliveries: %s", live, m.Added, m2.Added, len(m.Found), shown(b.window))
			}
			for _, e := range b.book.Entries() {
				if e.State != ledger.Confirmed {
					t.Errorf("%+v", e)
				}
			}
			if s := b.client.Stats(); s.Garbage+s.Malformed+s.Unknown+s.Late+s.Duplicates+s.Dropped != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func shown(w *history.Window) string {
	var s []string
	for _, e := range w.Entries() {
		s = append(s, fmt.Sprintf("%s/%s %s %d", e.Key.Turn[len(e.Key.Turn)-4:], e.Key.Item, e.Item.Type, e.Rank))
	}
	return strings.Join(s, "\n")
}

// proves R-CONN-09: more calls than places, all answered.
func TestTheRealServerUnderLoad(t *testing.T) {
	b := run(t, codex.Target)
	var wg sync.WaitGroup
	for range 500 {
		wg.Go(func() {
			if o, err := b.client.Call(b.ctx, codex.ThreadList, codex.ThreadListParams{Limit: 1}, new(codex.ThreadListResult), rpc.CallOptions{}); o != ledger.Confirmed || err != nil {
				t.Error(o, err)
			}
		})
	}
	wg.Wait()
	t.Logf("%+v", b.client.Stats())
}
