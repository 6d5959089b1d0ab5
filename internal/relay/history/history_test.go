package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// proves R-REC-11
func TestTheWindowIsBounded(t *testing.T) {
	w := New(me, "t", gen)
	for i := range MaxItems + 50 {
		w.Note(gen, doneNote(fmt.Sprint("u", i), message(t, "i", "x")))
	}
	if got := w.Entries(); len(got) != MaxItems || got[0].Key.Turn != "u50" {
		t.Errorf("%d entries from %v", len(got), got[0].Key)
	}
	if !w.Evicted() {
		t.Error("what was forgotten is not told")
	}
	if w.Clear(); w.Evicted() {
		t.Error("an empty window has forgotten something")
	}
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
