//go:build linux

package filter

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const dead = 1 << 30 // a thread that is gone

func alive(thread uint32) bool { return thread != dead }

// proves A-SBX-02
func TestGrants(t *testing.T) {
	for _, tt := range []struct {
		name  string
		open  map[uint32]time.Duration // age of the open grants
		procs [][]int                  // what successive looks see; the last one stays
		limit int
		want  bool
	}{
		{"below the limit", nil, [][]int{{10}}, 2, true},
		{"at the limit", nil, [][]int{{10, 11}}, 2, false},
		{"an open grant fills the limit until its child appears elsewhere", map[uint32]time.Duration{7: 0}, [][]int{{10}, {10, 12}}, 2, false},
		{"an open grant that came and went frees its place", map[uint32]time.Duration{7: 0}, [][]int{{10}}, 2, true},
		{"the grant of a dead thread does not count", map[uint32]time.Duration{dead: 0}, [][]int{{10}}, 2, true},
		{"a new process closes a grant", map[uint32]time.Duration{7: 0}, [][]int{{10, 11}}, 3, true},
		{"one that is just ending frees its place", nil, [][]int{{10, 11}, {10, 11}, {10}}, 2, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				looks := 0
				g := grants{exists: alive, limit: tt.limit, known: map[int]bool{10: true}, open: map[uint32]time.Time{}, procs: func() ([]int, error) {
					looks++
					return tt.procs[min(looks, len(tt.procs))-1], nil
				}}
				for th, age := range tt.open {
					g.open[th] = time.Now().Add(-age)
				}
				start := time.Now()
				got, err := g.grant(context.Background(), 8)
				if err != nil || got != tt.want {
					t.Errorf("got %v, %v; want %v", got, err, tt.want)
				}
				if d := time.Since(start); d > grantLife+2*grantRetry {
					t.Errorf("the decision took %v", d)
				}
			})
		})
	}
}

// proves A-SBX-02
//
// A look that takes long on a busy machine is not held against whoever asks.
func TestSlowLookRefusesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := grants{limit: 2, known: map[int]bool{10: true}, open: map[uint32]time.Time{7: time.Now()},
			procs: func() ([]int, error) { return []int{10}, nil },
			exists: func(uint32) bool {
				<-time.After(3 * time.Millisecond) // between the question of a grant's age and the end of the look
				return true
			}}
		if got, err := g.grant(context.Background(), 8); err != nil || !got {
			t.Errorf("got %v, %v; the open grant's fork failed, so there is a place", got, err)
		}
	})
}

// proves A-SBX-02
//
// A count judges at once, by processes that were together in two looks in a row.
func TestCounts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		procs [][]int // what successive looks see; the last one stays
		want  bool
		looks int
	}{
		{"below the limit", [][]int{{10}}, true, 1},
		{"at the limit", [][]int{{10, 11}}, true, 1},
		{"one too many", [][]int{{10, 11, 12}}, false, 2},
		{"a list with one that ended and one that was born meanwhile", [][]int{{10, 11, 12}, {10, 12}}, true, 2},
		{"the same twice in a row", [][]int{{10, 11, 12}, {10, 12, 13}, {10, 13}}, true, 3},
		{"an excess after a doubt", [][]int{{10, 11, 12}, {10, 12, 13}, {10, 12, 13}}, false, 3},
		{"always too many, always others", [][]int{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, false, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			looks := 0
			g := grants{exists: alive, limit: 2, open: map[uint32]time.Time{}, known: map[int]bool{}, procs: func() ([]int, error) {
				looks++
				return tt.procs[min(looks, len(tt.procs))-1], nil
			}}
			got, err := g.count()
			if err != nil || got != tt.want || looks != tt.looks {
				t.Errorf("got %v, %v after %d looks; want %v after %d", got, err, looks, tt.want, tt.looks)
			}
		})
	}
}

// proves A-SBX-09
//
// Notifications without end cost the server a quarter of the time; a few cost their sender nothing.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const work = 40 * time.Microsecond
		spend := func(p *pace, n int) time.Duration {
			begun := time.Now()
			for range n {
				at := time.Now()
				time.Sleep(work)
				time.Sleep(time.Until(p.spend(at, time.Now())))
			}
			return time.Since(begun)
		}
		if got := spend(&pace{}, 40); got != 40*work {
			t.Errorf("forty took %v, want %v", got, 40*work)
		}
		if got, least := spend(&pace{}, 10000), 4*10000*work*9/10; got < least {
			t.Errorf("ten thousand took %v, want at least %v", got, least)
		}
	})
}

func TestGrantsRefuseAtOnceAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := grants{exists: alive, limit: 1, open: map[uint32]time.Time{}, known: map[int]bool{}, procs: func() ([]int, error) { return []int{10}, nil }}
		for i := range 2 {
			start := time.Now()
			if ok, err := g.grant(context.Background(), 5); ok || err != nil {
				t.Fatalf("decision %d: got %v, %v", i, ok, err)
			}
			if waited := time.Since(start); (waited == 0) != (i == 1) {
				t.Errorf("decision %d waited %v", i, waited)
			}
		}
	})
}

// proves A-SBX-02
//
// Whatever the order of asking, being born and ending: never more than limit processes when every child is born within a
// few looks, and never a refusal that the number of processes does not explain.
func TestGrantsHoldTheLimit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 6).Draw(rt, "limit")
		events := rapid.SliceOfN(rapid.SampledFrom([]string{"fork", "fork", "born", "end"}), 1, 40).Draw(rt, "events")
		problem := ""
		synctest.Test(t, func(t *testing.T) { problem = play(limit, events) })
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

func play(limit int, events []string) (problem string) {
	running, next, unborn, looks := map[int]bool{}, 100, 0, 0
	bear := func() {
		for ; unborn > 0; unborn-- {
			next++
			running[next] = true
		}
	}
	g := grants{exists: alive, limit: limit, open: map[uint32]time.Time{}, known: map[int]bool{}, procs: func() ([]int, error) {
		if looks++; looks > 3 {
			bear()
		}
		return slices.Collect(maps.Keys(running)), nil
	}}
	for asker, event := range events {
		switch event {
		case "fork":
			before := len(running) + unborn
			looks = 0
			ok, err := g.grant(context.Background(), uint32(asker))
			if err != nil {
				return err.Error()
			}
			if ok {
				g.open[uint32(asker)] = time.Now()
				unborn++
			} else if g.refused = false; before < limit {
				return fmt.Sprintf("refused with %d of %d", before, limit)
			}
		case "born":
			bear()
		case "end":
			for p := range running {
				delete(running, p)
				break
			}
		}
		if got := len(running) + unborn; got > limit {
			return fmt.Sprintf("%d processes under a limit of %d", got, limit)
		}
	}
	return ""
}

func TestGrantsReportACountThatFails(t *testing.T) {
	g := grants{exists: alive, limit: 1, open: map[uint32]time.Time{}, procs: func() ([]int, error) { return nil, os.ErrNotExist }}
	_, err := g.grant(context.Background(), 1)
	if diff := cmp.Diff("counting the processes of the tree: file does not exist", err.Error()); diff != "" {
		t.Error(diff)
	}
}
