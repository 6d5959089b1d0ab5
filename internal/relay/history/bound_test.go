package history

import (
	"fmt"
	"strings"
	"testing"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

// held is how much text a window really has.
func held(w *Window) (n int) {
	for _, e := range w.entries {
		n += len(e.Note)
		for _, c := range e.Changes {
			n += len(c.Path) + len(c.Kind.Type) + len(c.Kind.MovePath) + len(c.Diff)
		}
		for _, p := range e.parts {
			n += p.text.Len()
		}
	}
	for _, t := range w.turns {
		n += t.texts()
	}
	return n
}

func patchNote(item string, changes ...codex.FileUpdate) codex.Notification {
	return &codex.PatchUpdated{ThreadID: "t", TurnID: "u", ItemID: relay.ItemID(item), Changes: changes}
}

func fileItem(t testing.TB, id string) codex.Item {
	return decode(t, map[string]any{"type": "fileChange", "id": id, "status": "inProgress", "changes": []any{}})
}

// proves R-REC-11, R-PRI-01: patches, plans, notes and errors count, and are cut.
func TestEverythingThatIsHeldIsBounded(t *testing.T) {
	big := strings.Repeat("x", 4<<20)
	for name, one := range map[string]func(i int) []codex.Notification{
		"patches": func(i int) []codex.Notification {
			id := fmt.Sprint("f", i)
			return []codex.Notification{startedNote("u", fileItem(t, id)), patchNote(id, codex.FileUpdate{Path: "/p", Diff: big}), patchNote(id, codex.FileUpdate{Path: "/p", Diff: big})}
		},
		"paths": func(i int) []codex.Notification {
			id := fmt.Sprint("f", i)
			return []codex.Notification{startedNote("u", fileItem(t, id)), patchNote(id, codex.FileUpdate{Path: big[:1<<20], Kind: codex.ChangeKind{MovePath: big[:1<<19]}}, codex.FileUpdate{Path: big})}
		},
		"notes": func(i int) []codex.Notification {
			id := fmt.Sprint("f", i)
			return []codex.Notification{startedNote("u", message(t, id, "")), &codex.McpProgress{ThreadID: "t", TurnID: "u", ItemID: relay.ItemID(id), Text: big}}
		},
		"plans": func(i int) []codex.Notification {
			return []codex.Notification{&codex.TurnPlan{ThreadID: "t", TurnID: relay.TurnID(fmt.Sprint("v", i)), Explanation: big, Plan: []codex.PlanStep{{Step: "s"}, {Step: big}}}}
		},
		"diffs": func(i int) []codex.Notification {
			return []codex.Notification{&codex.TurnDiff{ThreadID: "t", TurnID: relay.TurnID(fmt.Sprint("v", i)), Diff: big}}
		},
		"errors": func(i int) []codex.Notification {
			return []codex.Notification{&codex.TurnDone{ThreadID: "t", Turn: codex.Turn{ID: relay.TurnID(fmt.Sprint("v", i)), Status: codex.TurnFailed, Error: &codex.TurnError{Message: big[:codex.MaxErrorText]}}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(me, "t", gen)
			w.Note(gen, startedNote("u", message(t, "first", "hello")))
			for i := range map[bool]int{true: 1200, false: 40}[name == "notes" || name == "plans" || name == "errors"] {
				for _, n := range one(i) {
					w.Note(gen, n)
				}
				if h := held(w); h > MaxText+MaxItemText || w.Text() < h || w.Text() > MaxText && len(w.order) > 1 {
					t.Fatalf("after %d: %d bytes held, %d counted", i, h, w.Text())
				}
			}
			if _, ok := w.Entry(Key{"u", "first"}); !ok && (name == "plans" || name == "diffs" || name == "errors") {
				t.Error("what is displayed gave way to turns that are not")
			}
		})
	}
}

// proves R-PRI-01, R-INT-08: a patch that is cut says so, and one that is not says nothing.
func TestCutPatches(t *testing.T) {
	w := New(me, "t", gen)
	w.Note(gen, startedNote("u", fileItem(t, "f")))
	for _, test := range []struct {
		changes      []codex.FileUpdate
		entries, cut int
	}{
		{[]codex.FileUpdate{{Path: "/a", Diff: "+a"}}, 1, 0},
		{[]codex.FileUpdate{{Path: "/a", Diff: strings.Repeat("x", MaxItemText)}, {Path: "/b", Diff: "+evil"}}, 1, 2 + 7},
		{[]codex.FileUpdate{{Path: strings.Repeat("x", MaxItemText+1)}}, 0, MaxItemText + 1},
		{[]codex.FileUpdate{}, 0, 0},
	} {
		w.Note(gen, patchNote("f", test.changes...))
		e, _ := w.Entry(Key{"u", "f"})
		if len(e.Changes) != test.entries || e.Changes == nil || e.Cut != test.cut {
			t.Errorf("%d changes, %d cut; want %d, %d", len(e.Changes), e.Cut, test.entries, test.cut)
		}
	}
	w.Note(gen, doneNote("u", fileItem(t, "f")))
	if e, _ := w.Entry(Key{"u", "f"}); e.Cut != 0 || e.Changes != nil || w.Text() > 200 {
		t.Errorf("%d cut, %d bytes", e.Cut, w.Text())
	}
}
