package owner

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sekisho/internal/relay"
)

// proves R-PRI-05, R-OWN-02
func TestDerive(t *testing.T) {
	base := Identity{Type: "chatgpt", Email: "a@example.org"}
	derive := func(profile string, id Identity, root string) relay.Owner {
		t.Helper()
		o, err := Derive(profile, id, root)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	want := derive("p", base, "/r")
	for name, o := range map[string]relay.Owner{
		"profile":  derive("q", base, "/r"),
		"root":     derive("p", base, "/r2"),
		"e-mail":   derive("p", Identity{Type: "chatgpt", Email: "b@example.org"}, "/r"),
		"type":     derive("p", Identity{Type: "apiKey", Email: "a@example.org"}, "/r"),
		"provider": derive("p", Identity{Type: "chatgpt", Email: "a@example.org", Provider: "gw"}, "/r"),
		"nobody":   derive("p", Identity{}, "/r"),
		"split":    derive("p", Identity{Type: "chatgpta", Email: "@example.org"}, "/r"),
	} {
		if o == want {
			t.Errorf("another %s is the same owner", name)
		}
	}
	if same := derive("p", Identity{Type: "chatgpt", Email: "A@Example.org"}, "/r"); same != want {
		t.Error("the same account is another owner")
	}
	if strings.Contains(fmt.Sprintf("%+v", want), "example") {
		t.Errorf("the address is in %+v", want)
	}
	for _, bad := range [][2]string{{"", "/r"}, {"p", ""}} {
		if _, err := Derive(bad[0], base, bad[1]); !errors.Is(err, ErrProfile) {
			t.Error(bad, err)
		}
	}
}

// proves R-PRI-05, R-OWN-01: what one owner wrote is never read by another, and is gone once another was active.
func TestPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type state struct {
			owner  relay.Owner
			texts  []string
			closed bool
		}
		var open []*state
		p := NewPartition(func(o relay.Owner) *state {
			for _, s := range open {
				if !s.closed {
					t.Fatal("two owners at once")
				}
			}
			s := &state{owner: o}
			open = append(open, s)
			return s
		}, func(o relay.Owner, s *state) {
			if s.owner != o || s.closed {
				t.Fatal("the wrong state was closed")
			}
			s.closed = true
		})
		var active relay.Owner
		written := 0
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			o := relay.Owner{Profile: "p", Account: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "owner"), Root: "/"}
			switch rapid.IntRange(0, 3).Draw(t, "do") {
			case 0:
				if p.Switch(o) != (o != active) {
					t.Fatal("switch")
				}
				if o != active {
					active, written = o, 0
				}
			case 1:
				p.Clear()
				active, written = relay.Owner{}, 0
			default:
				reached := p.With(o, func(s *state) {
					if s.closed || s.owner != o || len(s.texts) != written {
						t.Fatalf("%+v of %+v, wrote %d", s, o, written)
					}
					s.texts = append(s.texts, o.Account)
					written++
				})
				if reached != (o == active) {
					t.Fatalf("reached %v", reached)
				}
			}
			if got, ok := p.Active(); ok != (active != relay.Owner{}) || got != active {
				t.Fatal(got, active)
			}
		}
	})
}
