package statedir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/fileop"
)

// servers opens one state root as several servers do.
func servers(t *testing.T, n int) []*Dir {
	t.Helper()
	root := filepath.Join(t.TempDir(), "agent-mcp")
	dirs := make([]*Dir, n)
	for i := range dirs {
		d, err := Open(fileop.OS(), root)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		dirs[i] = d
	}
	return dirs
}

func exclusive(names ...string) []Lock {
	var out []Lock
	for _, n := range names {
		out = append(out, Lock{Name: n})
	}
	return out
}

// A root, one around it and one inside it exclude each other; neighbours do not. No file is left.
//
// proves A-TX-08
func TestClaimsExcludeEachOther(t *testing.T) {
	home := Lock{Name: "home", Shared: true}
	for name, tt := range map[string]struct {
		a, b []Lock
		wait string
	}{
		"the same root":     {exclusive("w"), exclusive("w"), "w"},
		"a root inside":     {append(exclusive("w"), home), append(exclusive("in"), Lock{Name: "w", Shared: true}, home), "w"},
		"a root around":     {append(exclusive("in"), Lock{Name: "w", Shared: true}, home), append(exclusive("w"), home), "w"},
		"neighbours":        {append(exclusive("w"), home), append(exclusive("v"), home), ""},
		"one of several":    {exclusive("a", "b"), exclusive("b", "c"), "b"},
		"several otherwise": {exclusive("b", "a"), exclusive("c", "d"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := servers(t, 2)
			first, err := d[0].Claim(t.Context(), tt.a, func(Lock) { t.Error("the first one waits") })
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			stop := errors.New("stop")
			waited := ""
			second, err := d[1].Claim(ctx, tt.b, func(l Lock) { waited = l.Name; cancel(stop) })
			if waited != tt.wait {
				t.Errorf("waited for %q, want %q", waited, tt.wait)
			}
			if (tt.wait == "") != (err == nil) || err != nil && !errors.Is(err, stop) {
				t.Errorf("the second claim: %v", err)
			}
			if second != nil {
				if err := second.Release(); err != nil {
					t.Error(err)
				}
			}
			for range 2 {
				if err := first.Release(); err != nil {
					t.Error(err)
				}
			}
			if second, err = d[1].Claim(t.Context(), tt.b, func(Lock) { t.Error("it waits although all is free") }); err != nil {
				t.Fatal(err)
			}
			if err := second.Release(); err != nil {
				t.Error(err)
			}
			if left, err := os.ReadDir(filepath.Join(d[0].Path(), locksDir)); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// Servers that want several roots in any order never wait for each other for ever, and never work together in one.
//
// proves A-TX-08
func TestClaimsDoNotDeadlock(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	using := map[string]*atomic.Int32{}
	for _, n := range names {
		using[n] = &atomic.Int32{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for i, d := range servers(t, 6) {
		all.Go(func() {
			for round := range 8 {
				x, y := names[(i+round)%4], names[(i*3+round*2+1)%4]
				locks := exclusive(y, x)
				if x == y {
					locks = locks[:1]
				}
				c, err := d.Claim(ctx, locks, func(Lock) {})
				if err != nil {
					t.Error(err)
					return
				}
				for _, l := range locks {
					if using[l.Name].Add(1) != 1 {
						t.Errorf("two in %s", l.Name)
					}
				}
				for _, l := range locks {
					using[l.Name].Add(-1)
				}
				if err := c.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// Who gives a root back and wants it again at once comes after the one that waits.
//
// proves A-TX-08
func TestWhoWaitsComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := servers(t, 2)
		held, err := d[0].Claim(t.Context(), exclusive("w"), func(Lock) {})
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		var mu sync.Mutex
		took := func(who string) { mu.Lock(); order = append(order, who); mu.Unlock() }
		waits := make(chan struct{})
		var other sync.WaitGroup
		other.Go(func() {
			c, err := d[1].Claim(t.Context(), exclusive("w"), func(Lock) { close(waits) })
			if err != nil {
				t.Error(err)
				return
			}
			took("the other")
			time.Sleep(time.Second)
			if err := c.Release(); err != nil {
				t.Error(err)
			}
		})
		<-waits
		time.Sleep(time.Second) // it asks seldom by now
		if err := held.Release(); err != nil {
			t.Fatal(err)
		}
		again, err := d[0].Claim(t.Context(), exclusive("w"), func(Lock) {})
		if err != nil {
			t.Fatal(err)
		}
		took("the first again")
		if err := again.Release(); err != nil {
			t.Error(err)
		}
		other.Wait()
		if len(order) != 2 || order[0] != "the other" {
			t.Errorf("order: %v", order)
		}
	})
}

// The file of a server that was killed is no lock.
//
// proves A-TX-08, A-TX-04
func TestAKilledHolderLetsGo(t *testing.T) {
	d := servers(t, 2)
	c, err := d[0].Claim(t.Context(), exclusive("w"), func(Lock) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range c.held {
		h.f.Close() // what the death of the process does
	}
	next, err := d[1].Claim(t.Context(), exclusive("w"), func(Lock) { t.Error("it waits for the dead") })
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Release(); err != nil {
		t.Error(err)
	}
}
