package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sekisho/internal/relay/uicontract"
)

// proves R-UI-01
func TestKeyIsExchangedOnce(t *testing.T) {
	e := start(t, Options{})
	key := e.oneTimeKey(t)
	var granted atomic.Int32
	var race sync.WaitGroup
	for range 16 {
		race.Go(func() {
			if e.do(t, e.exchangeRequest(key)).StatusCode == 200 {
				granted.Add(1)
			}
		})
	}
	race.Wait()
	if granted.Load() != 1 {
		t.Errorf("granted %d times", granted.Load())
	}
	if strings.Contains(e.log.String(), key) {
		t.Error("the one-time key is in the log")
	}
}

// proves R-UI-01
func TestKeyExpires(t *testing.T) {
	now := time.Unix(1000, 0)
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	k := newKeys(10*time.Minute, clock)
	for _, tt := range []struct {
		after time.Duration
		ok    bool
	}{{10*time.Minute - 1, true}, {10 * time.Minute, false}} {
		key := k.issue()
		now = now.Add(tt.after)
		if _, ok := k.exchange(key); ok != tt.ok {
			t.Errorf("after %v: %v", tt.after, ok)
		}
	}
	key := k.issue()
	session, ok := k.exchange(k.issue())
	if !ok || !k.valid(session) {
		t.Fatal("a fresh key was refused")
	}
	k.revoke()
	if _, ok := k.exchange(key); ok || k.valid(session) {
		t.Error("a key outlived its endpoint")
	}
	bounded := newKeys(time.Minute, clock)
	for range 3 * maxOnce {
		bounded.issue()
	}
	if len(bounded.once) > maxOnce {
		t.Errorf("%d keys outstanding", len(bounded.once))
	}
}

// proves R-UI-01
func TestTwoInstancesAreApart(t *testing.T) {
	a, b := start(t, Options{}), start(t, Options{})
	session, key := a.session(t), a.oneTimeKey(t)
	h := b.postHeader(session)
	if got := b.do(t, request{method: "POST", path: uicontract.PathCommand, body: reconnect, header: h}).StatusCode; got != 401 {
		t.Errorf("another instance's session key: %d", got)
	}
	if got := b.do(t, b.exchangeRequest(key)).StatusCode; got != 401 {
		t.Errorf("another instance's one-time key: %d", got)
	}
	h["Origin"] = a.origin
	if got := b.do(t, request{method: "POST", path: uicontract.PathCommand, body: reconnect, header: h}).StatusCode; got != 403 {
		t.Errorf("another instance's page: %d", got)
	}
}

// The exchange of a key can bring the first snapshot along; a front end that asks for none gets none, and no key no snapshot.
//
// proves R-UI-01
func TestTheExchangeBringsTheStart(t *testing.T) {
	e := start(t, Options{})
	ask := func(key, start string) (uicontract.SessionGranted, int) {
		r := e.exchangeRequest(key)
		r.body = fmt.Sprintf(`{"version":1,"key":%q%s}`, key, start)
		resp := e.do(t, r)
		var granted uicontract.SessionGranted
		if err := json.NewDecoder(resp.Body).Decode(&granted); err != nil {
			t.Fatal(err)
		}
		return granted, resp.StatusCode
	}
	if g, _ := ask(e.oneTimeKey(t), ""); g.Start != nil || len(g.Session) != 43 || e.backend.executed.Load() != 0 {
		t.Errorf("without asking: %+v", g)
	}
	if g, status := ask(strings.Repeat("A", 43), `,"start":{"thread":"t"}`); status != 401 || g.Start != nil || e.backend.executed.Load() != 0 {
		t.Errorf("without a key: %d, %+v", status, g)
	}
	if g, _ := ask(e.oneTimeKey(t), `,"start":{"thread":"t"}`); string(g.Start) != `{"id":"e-1"}` || len(g.Session) != 43 || e.backend.executed.Load() != 1 {
		t.Errorf("asked for: %s", g.Start)
	}
	if g, status := ask(e.oneTimeKey(t), `,"start":{"thread":1}`); status != 400 || g.Session != "" {
		t.Errorf("a start that is none: %d, %+v", status, g)
	}
}
