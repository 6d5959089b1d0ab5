package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/rpc"
	"sekisho/internal/relay/transport"
)

// user is a Handler that keeps what it is told.
type user struct {
	mu       sync.Mutex
	requests map[relay.RequestID]relay.Key
	asked    []string
	notes    map[string]int
	text     string // of all agent messages
	refused  int
	lost     rpc.Lost
	ended    error
	changed  chan struct{}
}

func newUser() *user {
	return &user{requests: map[relay.RequestID]relay.Key{}, notes: map[string]int{}, changed: make(chan struct{})}
}

func (u *user) Notification(_ relay.Generation, n codex.Notification) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if d, ok := n.(*codex.ItemDelta); ok {
		if d.Method() == "item/agentMessage/delta" {
			u.text += d.Delta
		}
		return // neighbouring ones come as one
	}
	u.notes[n.Method()]++
}

func (u *user) Request(r rpc.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.requests[r.Key.Request] = r.Key
	u.asked = append(u.asked, r.Key.Request.String())
	close(u.changed)
	u.changed = make(chan struct{})
}

func (u *user) Retired(relay.Key, rpc.Retirement)       {}
func (u *user) Refused(relay.Generation, string, int)   { u.mu.Lock(); u.refused++; u.mu.Unlock() }
func (u *user) SyncLost(_ relay.Generation, l rpc.Lost) { u.mu.Lock(); u.lost = l; u.mu.Unlock() }
func (u *user) Ended(_ relay.Generation, err error)     { u.mu.Lock(); u.ended = err; u.mu.Unlock() }

// key waits for the request.
func (u *user) key(ctx context.Context, id relay.RequestID) (relay.Key, error) {
	for {
		u.mu.Lock()
		key, ok := u.requests[id]
		changed := u.changed
		u.mu.Unlock()
		if ok {
			return key, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return relay.Key{}, ctx.Err()
		}
	}
}

// A client that does what the recorded one did gets every recorded answer, request and notification, and sends nothing
// else.
//
// proves R-CON-05, R-CONN-03
func TestTheClientLivesThroughEverySession(t *testing.T) {
	names, err := Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		version := codex.Target
		if strings.Contains(name, codex.Regression) {
			version = codex.Regression
		}
		t.Run(name, func(t *testing.T) { play(t, name, version) })
	}
}

func play(t *testing.T, name, version string) {
	entries, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	conn := Replay(entries, func(method string) bool {
		m, ok := codex.Lookup(method)
		return ok && m.Support(version) != codex.Unsupported
	})
	want := expected(conn.todo)
	u := newUser()
	client := rpc.New(conn, rpc.Options{Generation: 1, Version: version, Handler: u})
	var calls sync.WaitGroup
	for e, ok := conn.Due(t.Context()); ok; e, ok = conn.Due(t.Context()) {
		switch e.Kind {
		case Request:
			answer := want.answers[e.ID]
			calls.Go(func() {
				var got json.RawMessage
				_, err := client.Call(t.Context(), e.Method, e.Params, &got, rpc.CallOptions{})
				judge(t, e, answer, got, err)
			})
		case Notification:
			calls.Go(func() {
				if err := client.Notify(t.Context(), e.Method, e.Params); err != nil {
					t.Errorf("%s: %v", e.Method, err)
				}
			})
		case Response:
			calls.Go(func() { reply(t, client, u, e) })
		}
	}
	<-client.Done()
	calls.Wait()
	client.Wait() // first: Close discards what the Handler has not taken
	client.Close(transport.ByUser)
	u.mu.Lock()
	defer u.mu.Unlock()
	if transport.ClassOf(u.ended) != transport.Transient {
		t.Errorf("ended with %v", u.ended)
	}
	if len(conn.Extra()) > 0 || len(conn.Mismatched()) > 0 {
		t.Errorf("sent besides: %v\nsent otherwise: %v", conn.Extra(), conn.Mismatched())
	}
	// One that ended before the handler heard of it is not asked any more; one that was answered was.
	asked := slices.DeleteFunc(want.asked, func(id string) bool {
		return !slices.Contains(u.asked, id) && withdrawn(entries, id)
	})
	if got, want := strings.Join(u.asked, " "), strings.Join(asked, " "); got != want || u.refused != 0 {
		t.Errorf("asked %s and refused %d, want %s", got, u.refused, want)
	}
	if u.text != want.text || u.lost != (rpc.Lost{}) {
		t.Errorf("text of %d bytes, want %d; lost %+v", len(u.text), len(want.text), u.lost)
	}
	for method, n := range want.notes {
		if u.notes[method] != n {
			t.Errorf("%d of %s, want %d", u.notes[method], method, n)
		}
	}
	if s := client.Stats(); s.Garbage+s.Malformed+s.Unknown+s.Late+s.Duplicates+s.Refused+s.Dropped > 0 {
		t.Errorf("odd: %+v", s)
	}
}

// record is what the recorded server says.
type record struct {
	answers map[relay.RequestID]Entry
	asked   []string
	notes   map[string]int
	text    string
}

func expected(todo []step) record {
	r := record{answers: map[relay.RequestID]Entry{}, notes: map[string]int{}}
	for _, s := range todo {
		switch {
		case s.Sent:
		case s.Kind == Response:
			r.answers[s.ID] = s.Entry
		case s.Kind == Request:
			r.asked = append(r.asked, s.ID.String())
		default:
			n, err := codex.DecodeNotification(s.Method, s.Params)
			if d, ok := n.(*codex.ItemDelta); ok {
				if s.Method == "item/agentMessage/delta" {
					r.text += d.Delta
				}
				continue
			}
			if _, other := n.(*codex.Other); err == nil && !other {
				r.notes[s.Method]++
			}
		}
	}
	return r
}

func judge(t *testing.T, asked, answer Entry, got json.RawMessage, err error) {
	failure, _ := errors.AsType[*rpc.Error](err)
	switch {
	case answer.Error != nil:
		var want codex.RPCError
		if json.Unmarshal(answer.Error, &want) != nil || failure == nil || failure.Server == nil || failure.Server.Code != want.Code || failure.Server.Message != want.Message {
			t.Errorf("%s: %v, want the error %s", asked.Method, err, answer.Error)
		}
	case answer.Result != nil:
		if err != nil || !same(got, answer.Result) {
			t.Errorf("%s: %v\ngot  %s\nwant %s", asked.Method, err, got, answer.Result)
		}
	case failure == nil || failure.Server != nil:
		t.Errorf("%s was never answered, and is now %v", asked.Method, err)
	}
}

func reply(t *testing.T, client *rpc.Client, u *user, e Entry) {
	key, err := u.key(t.Context(), e.ID)
	if err == nil && e.Error != nil {
		var body codex.RPCError
		if err = json.Unmarshal(e.Error, &body); err == nil {
			_, err = client.ReplyError(t.Context(), key, body)
		}
	} else if err == nil {
		_, err = client.Reply(t.Context(), key, e.Result)
	}
	if err != nil {
		t.Errorf("answer %s: %v", e.ID, err)
	}
}

// withdrawn reports whether a request was resolved, or the session over, before the recorded client answered it.
func withdrawn(entries []Entry, id string) bool {
	for _, e := range entries {
		if e.Sent && e.Kind == Response && e.ID.String() == id {
			return false
		}
		if !e.Sent && e.Method == "serverRequest/resolved" && strings.Contains(string(e.Params), `"requestId":`+id) {
			return true
		}
	}
	return true
}
