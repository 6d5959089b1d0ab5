package history

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

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
