package history

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

var me = relay.Owner{Profile: "p", Account: "a"}

const gen = relay.Generation(2)

func message(t testing.TB, id, text string) codex.Item {
	t.Helper()
	return decode(t, map[string]any{"type": "agentMessage", "id": id, "text": text})
}

func decode(t testing.TB, v any) codex.Item {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var i codex.Item
	if err := i.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return i
}

func startedNote(turn string, i codex.Item) codex.Notification {
	return &codex.ItemStarted{ThreadID: "t", TurnID: relay.TurnID(turn), Item: i, StartedAtMs: 1}
}

func doneNote(turn string, i codex.Item) codex.Notification {
	return &codex.ItemCompleted{ThreadID: "t", TurnID: relay.TurnID(turn), Item: i, CompletedAtMs: 2}
}

func deltaNote(turn, item, text string) codex.Notification {
	return &codex.ItemDelta{Name: "item/agentMessage/delta", ThreadID: "t", TurnID: relay.TurnID(turn), ItemID: relay.ItemID(item), Delta: text}
}

// show is the window as a person reads it.
func show(w *Window) string {
	var s []string
	for _, e := range w.Entries() {
		text := ""
		if m, ok := e.Item.Body.(*codex.AgentMessage); ok {
			text = m.Text
		}
		for _, p := range e.Parts {
			text += "+" + p.Text
		}
		flags := []string{"~", "", "!"}[e.Rank]
		if e.Partial {
			flags += "?"
		}
		if e.Severed {
			flags += "x"
		}
		s = append(s, fmt.Sprintf("%s/%s%s:%s", e.Key.Turn, e.Key.Item, flags, text))
	}
	return strings.Join(s, " ")
}

func expect(t testing.TB, w *Window, want string) {
	t.Helper()
	if diff := cmp.Diff(want, show(w)); diff != "" {
		t.Error(diff)
	}
}

// page makes a page, newest first, from ids "turn/item", oldest first.
func page(t testing.TB, next string, ids ...string) codex.ItemsListResult {
	t.Helper()
	r := codex.ItemsListResult{NextCursor: next, Data: []codex.ItemEntry{}}
	for _, id := range slices.Backward(ids) {
		turn, item, _ := strings.Cut(id, "/")
		r.Data = append(r.Data, codex.ItemEntry{TurnID: relay.TurnID(turn), Item: message(t, item, "page")})
	}
	return r
}

// proves R-REC-11
func TestCompletedBeatsDeltas(t *testing.T) {
	w := New(me, "t", gen)
	note := func(n codex.Notification) { w.Note(gen, n) }
	note(startedNote("u", message(t, "i", "")))
	note(deltaNote("u", "i", "Hel"))
	note(deltaNote("u", "i", "lo"))
	note(startedNote("u", message(t, "i", "again")))
	expect(t, w, "u/i:+Hello")
	note(doneNote("u", message(t, "i", "Hello!")))
	for _, late := range []codex.Notification{deltaNote("u", "i", "late"), startedNote("u", message(t, "i", "late")), doneNote("u", message(t, "i", "other"))} {
		if changed, _ := w.Note(gen, late); changed {
			t.Errorf("%T moved the display backwards", late)
		}
	}
	expect(t, w, "u/i!:Hello!")
	if m := w.MergeItems(gen, w.NewestItems(), page(t, "", "u/i")); m.Added != 0 {
		t.Error(m)
	}
	expect(t, w, "u/i!:Hello!")
}

// proves R-CONN-08: joining mid-stream, and an item that completes long after its turn.
func TestMidStreamAndLateItems(t *testing.T) {
	w := New(me, "t", gen)
	w.Note(gen, deltaNote("u", "i", "tail"))
	expect(t, w, "u/i~?:+tail")
	w.Note(gen, startedNote("u", message(t, "j", "")))
	w.Note(gen, doneNote("v", message(t, "k", "next turn")))
	w.Note(gen, doneNote("u", message(t, "i", "whole")))
	w.Note(gen, doneNote("u", message(t, "late", "late")))
	expect(t, w, "u/i!:whole u/j: u/late!:late v/k!:next turn")
}

// proves R-REC-11, R-CONN-02
func TestOtherGenerationsThreadsAndOwners(t *testing.T) {
	s := NewStore(me)
	s.Rebind(gen)
	w := s.Open("t")
	other := &codex.ItemCompleted{ThreadID: "t2", TurnID: "u", Item: message(t, "i", "other thread")}
	for _, g := range []relay.Generation{1, 3} {
		if changed, _ := s.Note(g, doneNote("u", message(t, "i", "x"))); changed {
			t.Error("another generation's event is shown")
		}
		if m := w.MergeItems(g, w.NewestItems(), page(t, "", "u/i")); !m.Ignored {
			t.Error("another generation's page is shown")
		}
		if m := w.MergeTurns(g, w.NewestTurns(), codex.TurnsListResult{}); !m.Ignored {
			t.Error("another generation's page is shown")
		}
	}
	if changed, _ := s.Note(gen, other); changed {
		t.Error("a thread without a window is kept")
	}
	if changed, _ := w.Note(gen, other); changed {
		t.Error("another thread's item is shown")
	}
	for _, g := range []relay.Generation{0, 1, 3} {
		for _, n := range []codex.Notification{doneNote("u", message(t, "i", "x")), startedNote("u", message(t, "i", "x")), deltaNote("u", "i", "x"),
			&codex.TurnStarted{ThreadID: "t", Turn: codex.Turn{ID: "u"}}, &codex.TurnDiff{ThreadID: "t", TurnID: "u", Diff: "d"}} {
			if changed, _ := w.Note(g, n); changed {
				t.Errorf("generation %d: %T changes the window itself", g, n)
			}
		}
	}
	wrong := w.NewestItems()
	wrong.ThreadID = "t2"
	if m := w.MergeItems(gen, wrong, page(t, "", "u/i")); !m.Ignored {
		t.Error("another thread's page is shown")
	}
	expect(t, w, "")

	// The history outlives its connection; what was in progress does not go on.
	s.Note(gen, doneNote("u", message(t, "i", "kept")))
	s.Note(gen, startedNote("u", message(t, "j", "")))
	s.Note(gen, deltaNote("u", "j", "half"))
	s.Rebind(gen + 1)
	if !w.Stale() {
		t.Error("not stale")
	}
	expect(t, w, "u/i!:kept u/j?x:+half")
	w.MergeItems(gen+1, w.NewestItems(), page(t, "", "u/i", "u/j"))
	if w.Stale() {
		t.Error("stale after the newest page")
	}
	expect(t, w, "u/i!:kept u/j!:page")

	if NewStore(relay.Owner{Account: "b"}).Open("t").Text() != 0 {
		t.Error("another owner sees text")
	}
	for i := range MaxWindows + 1 {
		s.Open(relay.ThreadID(fmt.Sprint("x", i)))
	}
	if _, ok := s.Window("t"); ok || s.Owner() != me || s.Open("t").Owner() != me || s.Open("t").Thread() != "t" {
		t.Error("windows are not bounded")
	}
	s.Close("t")
	if _, ok := s.Window("t"); ok {
		t.Error("a closed window is there")
	}
}

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

// proves R-REC-11
func TestTheWindowIsBounded(t *testing.T) {
	w := New(me, "t", gen)
	for i := range MaxItems + 50 {
		w.Note(gen, doneNote(fmt.Sprint("u", i), message(t, "i", "x")))
	}
	if got := w.Entries(); len(got) != MaxItems || got[0].Key.Turn != "u50" {
		t.Errorf("%d entries from %v", len(got), got[0].Key)
	}
	w.Clear()
	big := strings.Repeat("x", 1<<20)
	for i := range 40 {
		w.Note(gen, doneNote("u", message(t, fmt.Sprint("i", i), big)))
	}
	for i := range 40 {
		w.Note(gen, startedNote("v", message(t, fmt.Sprint("i", i), "")))
		w.Note(gen, deltaNote("v", fmt.Sprint("i", i), big))
		w.Note(gen, deltaNote("v", fmt.Sprint("i", i), big))
		w.Note(gen, deltaNote("v", fmt.Sprint("i", i), big))
		if w.Text() > MaxText {
			t.Fatalf("%d bytes", w.Text())
		}
	}
	last := w.Entries()[len(w.Entries())-1]
	if len(last.Parts[0].Text)+last.Cut != 3<<20 || len(last.Parts[0].Text) > MaxItemText {
		t.Errorf("%d kept, %d cut", len(last.Parts[0].Text), last.Cut)
	}
	w.Clear()
	if w.Text() != 0 || len(w.Entries()) != 0 {
		t.Error("not cleared")
	}
}

// proves R-PRI-01
func TestHugeItemsAreCut(t *testing.T) {
	huge := strings.Repeat("語", MaxItemText)
	for name, v := range map[string]map[string]any{
		"message":  {"type": "agentMessage", "id": "i", "text": huge},
		"plan":     {"type": "plan", "id": "i", "text": huge},
		"command":  {"type": "commandExecution", "id": "i", "command": "c", "cwd": "/", "status": "completed", "commandActions": []any{}, "aggregatedOutput": huge},
		"patch":    {"type": "fileChange", "id": "i", "status": "completed", "changes": []any{map[string]any{"path": "p", "kind": map[string]any{"type": "add"}, "diff": huge}}},
		"image":    {"type": "imageGeneration", "id": "i", "status": "completed", "result": huge},
		"prompt":   {"type": "userMessage", "id": "i", "clientId": "m", "content": []any{map[string]any{"type": "text", "text": huge}, map[string]any{"type": "image", "url": "data:" + huge}}},
		"tool":     {"type": "mcpToolCall", "id": "i", "server": "s", "tool": "t", "status": "completed", "arguments": huge},
		"whatever": {"type": "someday", "id": "i", "text": huge},
	} {
		w := New(me, "t", gen)
		i := decode(t, v)
		_, found := w.Note(gen, doneNote("u", i))
		e := w.Entries()[0]
		data, err := codex.Encode(e.Item.Body)
		if err != nil || len(data) > 2*MaxItemText || len(e.Item.Raw) > 0 || e.Cut == 0 || w.Text() > 2*MaxItemText || e.Item.Type != v["type"] {
			t.Errorf("%s: %d bytes of body, %d of raw, %d cut, %d in all", name, len(data), len(e.Item.Raw), e.Cut, w.Text())
		}
		if (len(found) == 1) != (name == "prompt") {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// proves R-REC-11
func TestAGapStartsTheWindowAnew(t *testing.T) {
	w := New(me, "t", gen)
	w.MergeItems(gen, w.NewestItems(), page(t, "old", "u1/a", "u1/b"))
	w.Lost()
	w.Note(gen, startedNote("u9", message(t, "live", "")))
	m := w.MergeItems(gen, w.NewestItems(), page(t, "new", "u8/a", "u8/b"))
	expect(t, w, "u8/a!:page u8/b!:page u9/live:")
	if older, stop := w.OlderItems(); !m.Gap || older.Cursor.Page != "new" || stop != NoStop || w.Stale() {
		t.Error(m, older, stop)
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

// proves R-REC-07: the id that a message was sent with is found live and in pages.
func TestDeliveriesAreReported(t *testing.T) {
	w := New(me, "t", gen)
	sent := decode(t, map[string]any{"type": "userMessage", "id": "i", "clientId": "m1", "content": []any{}})
	foreign := decode(t, map[string]any{"type": "userMessage", "id": "j", "clientId": nil, "content": []any{}})
	want := []Delivery{{"m1", "u", "i"}}
	if _, found := w.Note(gen, startedNote("u", sent)); !cmp.Equal(found, want) {
		t.Error(found)
	}
	m := w.MergeItems(gen, w.NewestItems(), codex.ItemsListResult{Data: []codex.ItemEntry{{TurnID: "u", Item: foreign}, {TurnID: "u", Item: sent}}})
	if !cmp.Equal(m.Found, want) {
		t.Error(m.Found)
	}
	m = New(me, "t", gen).MergeTurns(gen, w.NewestTurns(), codex.TurnsListResult{Data: []codex.Turn{{ID: "u", Items: []codex.Item{sent}}}})
	if !cmp.Equal(m.Found, want) {
		t.Error(m.Found)
	}
}

// proves R-REC-11: the recorded traffic of the real server, live events and pages together.
func TestTranscripts(t *testing.T) {
	files, _ := filepath.Glob("../codex/testdata/transcripts/*.jsonl")
	if len(files) == 0 {
		t.Fatal("no transcripts")
	}
	pages, items := 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		windows := map[relay.ThreadID]*Window{}
		window := func(id relay.ThreadID) *Window {
			if windows[id] == nil {
				windows[id] = New(me, id, gen)
			}
			return windows[id]
		}
		asked := map[string]recordedCall{}
		for line := range strings.Lines(string(data)) {
			var l struct {
				Dir string
				Msg json.RawMessage
			}
			var m recordedCall
			if json.Unmarshal([]byte(line), &l) != nil || json.Unmarshal(l.Msg, &m) != nil {
				continue
			}
			switch {
			case l.Dir == "send":
				asked[string(m.ID)] = m
			case m.Method != "" && m.ID == nil:
				n, err := codex.DecodeNotification(m.Method, m.Params)
				if err == nil && n.Scope().Thread != "" {
					window(n.Scope().Thread).Note(gen, n)
				}
			case m.Result != nil && asked[string(m.ID)].Method == codex.ThreadItemsList:
				var p struct{ ThreadID relay.ThreadID }
				if r, err := codex.Decode[codex.ItemsListResult](m.Result); err == nil && json.Unmarshal(asked[string(m.ID)].Params, &p) == nil {
					w := window(p.ThreadID)
					w.MergeItems(gen, w.NewestItems(), *r)
					pages++
				}
			case m.Result != nil && asked[string(m.ID)].Method == codex.ThreadTurnsList:
				var p struct{ ThreadID relay.ThreadID }
				if r, err := codex.Decode[codex.TurnsListResult](m.Result); err == nil && json.Unmarshal(asked[string(m.ID)].Params, &p) == nil {
					w := window(p.ThreadID)
					w.MergeTurns(gen, w.NewestTurns(), *r)
					pages++
				}
			}
		}
		for id, w := range windows {
			texts := map[string]Key{}
			for _, e := range w.Entries() {
				items++
				m, ok := e.Item.Body.(*codex.UserMessage)
				if !ok {
					continue
				}
				text := fmt.Sprint(e.Key.Turn, m.Content)
				if other, twice := texts[text]; twice {
					t.Errorf("%s %s: the same words in %v and %v", filepath.Base(file), id, other, e.Key)
				}
				texts[text] = e.Key
			}
		}
	}
	if pages < 5 || items < 100 {
		t.Errorf("%d pages, %d items", pages, items)
	}
}

type recordedCall struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
}
