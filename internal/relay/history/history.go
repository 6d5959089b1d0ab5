// Package history is the bounded window on one thread's conversation: pages that were read and live events, merged by
// turn and item id (R-REC-04, R-REC-11). It is pure.
//
// A completed item beats everything that was known of it before, and nothing replaces it: late deltas, repeated starts
// and older pages never move the display backwards. Ids are the only identity, never time, text or position. A Window
// belongs to one owner and is bound to one generation at a time; it outlives connections, and what arrives for another
// generation than its own is ignored.
package history

import (
	"strings"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

// Limits (R-REC-11, R-PRI-01).
const (
	MaxItems    = 1000     // entries of a Window
	MaxText     = 16 << 20 // bytes of text in a Window
	MaxItemText = 2 << 20  // bytes of one entry; the rest is cut and counted
	MaxPlan     = 64 << 10 // bytes of the plan of a turn, and of its explanation
	MaxPages    = 200      // pages that are read towards the past
	MaxPageSize = 1000     // entries of one page that are looked at; the server clamps to 100
	maxCursor   = 4 << 10
	maxBarren   = 3 // pages in a row without anything new
)

// Key identifies an entry. Item ids alone are not unique in a thread.
type Key struct {
	Turn relay.TurnID
	Item relay.ItemID
}

// Rank is how much is known of an item.
type Rank int

// The ranks; a higher one wins.
const (
	Streaming Rank = iota // only deltas: its start was never seen
	Started               // in progress
	Done                  // completed: final
)

// Entry is one item as it is displayed. Item.Body may be nil: unknown type, only deltas so far, or too large. Item.Raw is
// kept only where Body is nil. While Rank is below Done, Parts hold what was streamed; they stand for the text, the
// output or the reasoning of the item.
type Entry struct {
	Key     Key
	Rank    Rank
	Item    codex.Item
	Parts   []Part
	Changes []codex.FileUpdate // of a file change in progress, replacing those of the item
	Note    string             // last progress message of a tool call
	// Partial: the beginning or a middle of Parts is missing.
	Partial bool
	// Severed: its connection ended before it was completed; nothing more comes, unless its thread is joined again.
	Severed bool
	// Cut counts the bytes that this client left out because of MaxItemText.
	Cut         int
	StartedAtMs int64 // 0 when not told
	DoneAtMs    int64
	// Version grows with every change of the Window, so that a reader sees what changed since.
	Version uint64
}

// Part is a streamed piece: Kind is text, output, content or summary; Index numbers the parts of reasoning.
type Part struct {
	Kind  string
	Index int
	Text  string
}

// Delivery is a user message with the id that its sender gave it, for the ledger.
type Delivery struct {
	MessageID string
	Turn      relay.TurnID
	Item      relay.ItemID
}

// TurnInfo is what pages and events say about a turn as a whole.
type TurnInfo struct {
	ID        relay.TurnID
	Status    codex.TurnStatus
	Err       *codex.TurnError
	StartedAt int64 // Unix seconds, like EndedAt; 0 when not told
	EndedAt   int64
	// Full: all items of the turn were read, not only the first and last.
	Full        bool
	Plan        []codex.PlanStep
	Explanation string
	Diff        string
	DiffCut     int

	pages   pager
	size    int    // bytes of the texts
	version uint64 // of the window, when a text changed
}

// texts is the size of what a turn holds.
func (t *TurnInfo) texts() int {
	n := len(t.Diff) + len(t.Explanation)
	for _, s := range t.Plan {
		n += len(s.Step) + len(s.Status)
	}
	if t.Err != nil {
		n += len(t.Err.Message) + len(t.Err.AdditionalDetails) + len(t.Err.Info)
	}
	return n
}

type entry struct {
	Entry
	parts []*part
	size  int // of everything that is held, in bytes
	// changesSize and changesCut are the shares of Changes in size and Cut.
	changesSize, changesCut int
	fresh                   bool // seen live since the window was bound to its generation
}

type part struct {
	kind  string
	index int
	text  strings.Builder
}

func (e *entry) view() Entry {
	v := e.Entry
	for _, p := range e.parts {
		v.Parts = append(v.Parts, Part{p.kind, p.index, p.text.String()})
	}
	return v
}

// partKinds names the part that a delta belongs to.
var partKinds = map[string]string{
	"item/agentMessage/delta":           "text",
	"item/plan/delta":                   "text",
	"item/commandExecution/outputDelta": "output",
	"item/fileChange/outputDelta":       "output",
	"item/reasoning/textDelta":          "content",
	"item/reasoning/summaryTextDelta":   "summary",
}

// delta appends streamed text. It returns by how many bytes the entry grew.
func (e *entry) delta(kind string, index int, text string) int {
	room := max(0, MaxItemText-e.size)
	kept, left := codex.Bound(text, room)
	e.Cut += left
	var p *part
	for _, q := range e.parts {
		if q.kind == kind && q.index == index {
			p = q
		}
	}
	if p == nil {
		if len(e.parts) >= MaxItems {
			e.Cut += len(kept)
			return 0
		}
		p = &part{kind: kind, index: index}
		e.parts = append(e.parts, p)
	}
	p.text.WriteString(kept)
	return len(kept)
}

// rankOf tells whether an item of a page is final. A page of the regression version has no times, so the item's own status
// decides then.
func rankOf(i codex.Item, doneAt int64) Rank {
	status := ""
	switch b := i.Body.(type) {
	case *codex.CommandExecution:
		status = b.Status
	case *codex.FileChange:
		status = b.Status
	case *codex.McpToolCall:
		status = b.Status
	case *codex.DynamicToolCall:
		status = b.Status
	case *codex.CollabCall:
		status = b.Status
	}
	if doneAt == 0 && status == "inProgress" {
		return Started
	}
	return Done
}
