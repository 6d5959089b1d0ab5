package session

import (
	"slices"
	"testing"
	"time"

	"sekisho/internal/fault"
)

type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func newStore() (*Store, *clock) {
	c := &clock{time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}
	return NewStore(time.Hour, c.now), c
}

// proves A-SES-01, A-SES-08
func TestLifeOfASession(t *testing.T) {
	s, _ := newStore()
	a := s.Open("a", "client")
	if got := s.State("a"); got != Active {
		t.Fatal("opened as", got)
	}
	if b, err := s.Begin("a"); err != nil || b != a {
		t.Fatal("a second run of the session:", err)
	}
	if got := s.Close("someone else", false); len(got) > 0 {
		t.Error("closed another owner's session:", got)
	}
	if got := s.Close("client", false); !slices.Equal(got, []string{"a"}) {
		t.Error("closed", got)
	}
	if got := s.State("a"); got != Closing {
		t.Error("with unfinished tasks the session is", got)
	}
	for name, err := range map[string]error{"begin": second(s.Begin("a")), "touch": s.Touch("a"), "unknown": s.Touch("b")} {
		if fault.CodeOf(err) != fault.SessionNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.End(a)
	if got := s.State("a"); got != Closing {
		t.Error("with one unfinished task left the session is", got)
	}
	s.End(a)
	if got := s.State("a"); got != Closed {
		t.Error("at the end the session is", got)
	}
	if fault.CodeOf(s.Touch("a")) != fault.SessionNotFound {
		t.Error("a closed session was found")
	}
}

func second[T any](_ T, err error) error { return err }

// proves A-SES-08
func TestSessionsExpire(t *testing.T) {
	s, c := newStore()
	busy, idle, used := s.Open("busy", ""), s.Open("idle", ""), s.Open("used", "")
	s.End(idle)
	s.End(used)
	c.t = c.t.Add(59 * time.Minute)
	if err := s.Touch("used"); err != nil {
		t.Fatal(err)
	}
	c.t = c.t.Add(time.Minute)
	if fault.CodeOf(s.Touch("idle")) != fault.SessionNotFound {
		t.Error("an expired session was found before it was removed")
	}
	if got := s.Expire(); !slices.Equal(got, []string{"idle"}) {
		t.Error("expired:", got)
	}
	s.End(busy)
	c.t = c.t.Add(time.Hour)
	if got := s.Expire(); len(got) != 2 {
		t.Error("expired:", got)
	}
}
