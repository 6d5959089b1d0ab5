package worker

import (
	"slices"
	"strings"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/history"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/visible"
)

// window is a run of at most count items that ends before the position end; the lock is held.
func (w *Worker) window(p *partition, t *thread, entries []history.Entry, end, count int) uicontract.Window {
	first := max(0, end-count)
	out := uicontract.Window{First: first, Total: len(entries), Items: []uicontract.Item{}}
	for _, e := range entries[first:end] {
		out.Items = append(out.Items, w.item(p, t, e, uicontract.PreviewBytes))
	}
	return out
}

const maxWindowRead = 200

func (w *Worker) readWindow(p *uicontract.WindowRead) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.shown(p.Thread)
	if err != nil {
		return nil, err
	}
	entries := t.win.Entries()
	end := len(entries)
	if p.Before != "" {
		if end = find(entries, p.Before); end < 0 {
			return nil, refused("unknown_item")
		}
	}
	return w.window(w.part, t, entries, end, max(1, min(p.Count, maxWindowRead))), nil
}

func find(entries []history.Entry, id string) int {
	return slices.IndexFunc(entries, func(e history.Entry) bool { return itemID(e.Key.Turn, e.Key.Item) == id })
}

// shown returns an open thread, connected or not; the lock is held.
func (w *Worker) shown(id relay.ThreadID) (*thread, error) {
	if w.part == nil || w.part.threads[id] == nil {
		return nil, refused("unknown_thread")
	}
	if t := w.part.threads[id]; t.open {
		return t, nil
	}
	return nil, refused("not_open")
}

func (w *Worker) readItem(p *uicontract.ItemRef) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.shown(p.Thread)
	if err != nil {
		return nil, err
	}
	entries := t.win.Entries()
	i := find(entries, p.Item)
	if i < 0 {
		return nil, refused("unknown_item")
	}
	return w.item(w.part, t, entries[i], wholeBytes), nil
}

const maxHits = 100

// search looks through the window, newest first.
func (w *Worker) search(p *uicontract.Search) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.shown(p.Thread)
	if err != nil {
		return nil, err
	}
	want := strings.ToLower(p.Text)
	if want == "" || len(want) > lineBytes {
		return nil, refused("empty")
	}
	out := uicontract.SearchResult{Hits: []uicontract.SearchHit{}}
	entries := t.win.Entries()
	for i, e := range slices.Backward(entries) {
		text := plainText(e)
		at := strings.Index(strings.ToLower(text), want)
		if at < 0 {
			continue
		}
		if len(out.Hits) == maxHits {
			out.More = true
			break
		}
		from := max(0, min(at, len(text))-80)
		out.Hits = append(out.Hits, uicontract.SearchHit{Item: itemID(e.Key.Turn, e.Key.Item), Position: i, Shown: visible.Line(valid(text[from:]), 300)})
	}
	return out, nil
}

// plainText is what a search looks through.
func plainText(e history.Entry) string {
	var parts []string
	for _, p := range e.Parts {
		parts = append(parts, p.Text)
	}
	switch b := e.Item.Body.(type) {
	case *codex.UserMessage:
		parts = append(parts, userText(b))
	case *codex.AgentMessage:
		parts = append(parts, b.Text)
	case *codex.Plan:
		parts = append(parts, b.Text)
	case *codex.Reasoning:
		parts = append(parts, b.Summary...)
	case *codex.CommandExecution:
		parts = append(parts, b.Command)
		if b.AggregatedOutput != nil {
			parts = append(parts, *b.AggregatedOutput)
		}
	case *codex.FileChange:
		for _, c := range b.Changes {
			parts = append(parts, c.Path, c.Diff)
		}
	}
	return strings.Join(parts, "\n")
}

// stopped explains why nothing older is read, when that is not the beginning.
func (w *Worker) stopped(stop history.Stop) *uicontract.Problem {
	variant := map[history.Stop]string{history.Cycle: "cursor", history.TooMany: "cursor"}[stop]
	if variant == "" {
		return nil
	}
	problem := w.explain(fault.New(fault.RelaySync, fault.Variant(variant)))
	return &problem
}
