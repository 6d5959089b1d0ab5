package history

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

// proves R-REC-04: what is asked of the server, word for word: newest first, turns as summaries, pages of a fixed size.
func TestWhatIsAskedOfTheServer(t *testing.T) {
	w := New(me, "t", gen)
	older, _ := w.OlderItems()
	olderTurns, _ := w.OlderTurns()
	turn, _ := w.TurnItems("u", codex.Target)
	for what, c := range map[string]struct {
		params any
		want   string
	}{
		"items":       {w.NewestItems(), `{"threadId":"t","limit":100,"sortDirection":"desc"}`},
		"older items": {older, `{"threadId":"t","limit":100,"sortDirection":"desc"}`},
		"turns":       {w.NewestTurns(), `{"threadId":"t","limit":50,"sortDirection":"desc","itemsView":"summary"}`},
		"older turns": {olderTurns, `{"threadId":"t","limit":50,"sortDirection":"desc","itemsView":"summary"}`},
		"one turn":    {turn, `{"threadId":"t","turnId":"u","limit":100,"sortDirection":"desc"}`},
	} {
		text, err := codex.Encode(c.params)
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if json.Unmarshal(text, &got) != nil || json.Unmarshal([]byte(c.want), &want) != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %s, want %s", what, text, c.want)
		}
	}
}

// report 29, 30
// proves R-REC-04, R-REC-11: cases 29 and 30.
func TestPagesAndEventsShowEveryItemOnce(t *testing.T) {
	w := New(me, "t", gen)
	w.Note(gen, startedNote("u3", message(t, "live", "")))
	asked := w.NewestItems()
	w.MergeItems(gen, asked, page(t, "c1", "u2/a", "u2/b", "u2/b"))
	expect(t, w, "u2/a!:page u2/b!:page u3/live:")
	w.MergeItems(gen, asked, page(t, "c1", "u2/a", "u2/b", "u3/live"))
	older, stop := w.OlderItems()
	if stop != NoStop || older.Cursor.Page != "c1" {
		t.Fatal(older, stop)
	}
	w.MergeItems(gen, older, page(t, "c2", "u1/a", "u1/b"))
	if m := w.MergeItems(gen, older, page(t, "c2", "u1/a", "u1/b")); !m.Ignored {
		t.Error("the same page twice", m)
	}
	older, _ = w.OlderItems()
	w.MergeItems(gen, older, page(t, "", "u0/a", "u1/a"))
	expect(t, w, "u0/a!:page u1/a!:page u1/b!:page u2/a!:page u2/b!:page u3/live!:page")
	if _, stop := w.OlderItems(); stop != Beginning {
		t.Error(stop)
	}
	if _, stop := New(me, "t", gen).OlderItems(); stop != NotRead {
		t.Error(stop)
	}
}

// proves R-REC-04: summaries first, a turn's details by explicit action, on both versions.
func TestTurnsAndTheirDetails(t *testing.T) {
	turns := codex.TurnsListResult{NextCursor: "tc", Data: []codex.Turn{
		{ID: "u2", Status: codex.TurnInProgress, Items: []codex.Item{message(t, "q", "page")}},
		{ID: "u1", Status: codex.TurnCompleted, StartedAt: 5, CompletedAt: 6, Items: []codex.Item{message(t, "first", "page"), message(t, "last", "page")}},
	}}
	for version, anchor := range map[string]relay.ItemID{codex.Target: "last", codex.Regression: ""} {
		w := New(me, "t", gen)
		w.MergeTurns(gen, w.NewestTurns(), turns)
		expect(t, w, "u1/first!:page u1/last!:page u2/q!:page")
		asked, stop := w.TurnItems("u1", version)
		if asked.TurnID != "u1" || asked.Cursor.Anchor != anchor || asked.Cursor.Page != "" || stop != NoStop {
			t.Errorf("%s: %+v", version, asked)
		}
		newest := []string{"u1/c", "u1/d"}
		if version == codex.Regression {
			newest = append(newest, "u1/last")
		}
		w.MergeItems(gen, asked, page(t, "d1", newest...))
		asked, _ = w.TurnItems("u1", version)
		if asked.Cursor.Page != "d1" || asked.Cursor.Anchor != "" {
			t.Errorf("%s: %+v", version, asked)
		}
		w.MergeItems(gen, asked, page(t, "d2", "u1/a", "u1/b"))
		asked, _ = w.TurnItems("u1", version)
		w.MergeItems(gen, asked, page(t, "", "u1/first"))
		expect(t, w, "u1/first!:page u1/a!:page u1/b!:page u1/c!:page u1/d!:page u1/last!:page u2/q!:page")
		info, _ := w.Turn("u1")
		if _, stop := w.TurnItems("u1", version); !info.Full || info.Status != codex.TurnCompleted || info.StartedAt != 5 || stop != Beginning {
			t.Errorf("%+v %s", info, stop)
		}
		if other, _ := w.TurnItems("gone", version); !w.MergeItems(gen, other, page(t, "", "gone/x")).Ignored {
			t.Error("a turn without a place was merged")
		}
		// The items list reads the same thread again, and the older turns go on with their own cursor.
		w.MergeItems(gen, w.NewestItems(), page(t, "i1", "u1/d", "u1/last", "u2/q", "u2/r"))
		older, _ := w.OlderTurns()
		w.MergeTurns(gen, older, codex.TurnsListResult{Data: []codex.Turn{{ID: "u0", Status: codex.TurnCompleted, Items: []codex.Item{message(t, "z", "page")}}}})
		expect(t, w, "u0/z!:page u1/first!:page u1/a!:page u1/b!:page u1/c!:page u1/d!:page u1/last!:page u2/q!:page u2/r!:page")
	}
}

// report 33
// proves R-REC-04: case 33.
func TestCyclicAndEndlessCursorsStop(t *testing.T) {
	read := func(next func(int) string, ids func(int) []string) (*Window, int, Stop) {
		w := New(me, "t", gen)
		w.MergeItems(gen, w.NewestItems(), page(t, next(0), ids(0)...))
		for n := 1; ; n++ {
			asked, stop := w.OlderItems()
			if stop != NoStop {
				return w, n, stop
			}
			w.MergeItems(gen, asked, page(t, next(n), ids(n)...))
		}
	}
	fresh := func(n int) []string { return []string{fmt.Sprint("u/", 9999-n)} }
	if _, n, stop := read(func(int) string { return "same" }, fresh); stop != Cycle || n > 2 {
		t.Error("a cursor that repeats itself:", n, stop)
	}
	if _, n, stop := read(func(n int) string { return fmt.Sprint(n % 3) }, fresh); stop != Cycle || n > 4 {
		t.Error("a ring of cursors:", n, stop)
	}
	if _, n, stop := read(func(n int) string { return fmt.Sprint(n) }, func(int) []string { return []string{"u/i"} }); stop != Cycle || n > maxBarren+1 {
		t.Error("pages without anything new:", n, stop)
	}
	if _, n, stop := read(func(n int) string { return fmt.Sprint(n) }, fresh); stop != TooMany || n != MaxPages {
		t.Error("pages without end:", n, stop)
	}
	if _, _, stop := read(func(n int) string { return strings.Repeat("x", maxCursor+1) }, fresh); stop != Cycle {
		t.Error("a huge cursor:", stop)
	}
	w, _, stop := read(func(n int) string { return fmt.Sprint(n) }, func(n int) []string {
		var ids []string
		for i := range 100 {
			ids = append(ids, fmt.Sprintf("u/%d.%d", n, i))
		}
		return ids
	})
	if got := len(w.Entries()); stop != Full || got != MaxItems {
		t.Error(got, stop)
	}
}

// proves R-REC-04: the newest items of a long turn touch neither its first nor its last item, and stand in it all the same.
func TestTheFirstItemsPageFitsIntoTheSummary(t *testing.T) {
	w := New(me, "t", gen)
	w.Note(gen, startedNote("u2", message(t, "live", "")))
	w.MergeTurns(gen, w.NewestTurns(), codex.TurnsListResult{Data: []codex.Turn{
		{ID: "u2", Status: codex.TurnInProgress, Items: []codex.Item{message(t, "q", "page")}},
		{ID: "u1", Status: codex.TurnCompleted, Items: []codex.Item{message(t, "a", "page"), message(t, "z", "page")}}}})
	if m := w.MergeItems(gen, w.NewestItems(), page(t, "c", "u2/y", "u2/z")); m.Gap {
		t.Error("a gap")
	}
	older, _ := w.OlderItems()
	w.MergeItems(gen, older, page(t, "d", "u2/w", "u2/x"))
	expect(t, w, "u1/a!:page u1/z!:page u2/q!:page u2/w!:page u2/x!:page u2/y!:page u2/z!:page u2/live:")
}

// proves R-REC-11: whatever order pages and events come in, every item is there once, in the thread's order, and final.
func TestAnyOrderOfPagesAndEvents(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(rt, "items")
		var all []string
		turn := 0
		for i := range n {
			if rapid.Bool().Draw(rt, "new turn") {
				turn++
			}
			all = append(all, fmt.Sprintf("u%d/i%d", turn, i))
		}
		split := func(id string) (string, string) { a, b, _ := strings.Cut(id, "/"); return a, b }
		w := New(me, "t", gen)
		next := map[string]int{} // per item: which of its events comes next
		for range rapid.IntRange(0, 60).Draw(rt, "events") {
			id := rapid.SampledFrom(all).Draw(rt, "item")
			u, i := split(id)
			switch next[id] {
			case 0:
				w.Note(gen, startedNote(u, message(t, i, "")))
			case 1, 2:
				w.Note(gen, deltaNote(u, i, "d"))
			case 3:
				w.Note(gen, doneNote(u, message(t, i, "page")))
			default:
				w.Note(gen, deltaNote(u, i, "late"))
			}
			next[id]++
			if rapid.IntRange(0, 9).Draw(rt, "page") == 0 {
				w.MergeItems(gen, w.NewestItems(), page(t, "", all...))
			}
			seen := map[Key]bool{}
			for _, e := range w.Entries() {
				if seen[e.Key] || e.Rank == Done && len(e.Parts) > 0 {
					rt.Fatalf("%v: %s", e.Key, show(w))
				}
				seen[e.Key] = true
			}
			if len(seen) != len(w.entries) {
				rt.Fatalf("%d in order, %d held", len(seen), len(w.entries))
			}
		}
		w.MergeItems(gen, w.NewestItems(), page(t, "", all...))
		var want []string
		for _, id := range all {
			want = append(want, id+"!:page")
		}
		if diff := cmp.Diff(strings.Join(want, " "), show(w)); diff != "" {
			rt.Fatal(diff)
		}
		total := 0
		for _, e := range w.entries {
			total += e.size
		}
		if total != w.Text() {
			rt.Fatalf("%d bytes counted, %d held", w.Text(), total)
		}
	})
}
