package history

import "sekisho/internal/relay/codex"

// shrink makes an item fit into MaxItemText: the longest texts of known bodies are cut, anything else loses its body. It
// returns the item, its size and how many bytes were left out.
func shrink(i codex.Item) (item codex.Item, size, cut int) {
	size = len(i.Raw)
	if size > MaxItemText {
		cut = cutBody(&i)
		if cut == 0 || size-cut > 2*MaxItemText {
			// An unknown type, or a known one whose bulk is somewhere else.
			i.Body, i.Raw, cut = nil, nil, size
		}
		size = max(size-cut, 0)
	}
	if i.Body != nil {
		i.Raw = nil // the body says the same
	}
	return i, size, cut
}

// cutBody cuts the members that are known to be long. Bodies are copied: the caller's item stays whole.
func cutBody(i *codex.Item) (cut int) {
	bound := func(s string) string {
		kept, left := codex.Bound(s, MaxItemText)
		cut += left
		return kept
	}
	switch b := i.Body.(type) {
	case *codex.AgentMessage:
		c := *b
		c.Text = bound(b.Text)
		i.Body = &c
	case *codex.Plan:
		i.Body = &codex.Plan{Text: bound(b.Text)}
	case *codex.CommandExecution:
		if b.AggregatedOutput == nil {
			return 0
		}
		c := *b
		kept, left := codex.BoundTail(*b.AggregatedOutput, MaxItemText/2)
		c.AggregatedOutput, cut = &kept, left
		i.Body = &c
	case *codex.FileChange:
		c := *b
		c.Changes = append([]codex.FileUpdate(nil), b.Changes...)
		room := MaxItemText
		for n := range c.Changes {
			kept, left := codex.Bound(c.Changes[n].Diff, room)
			room -= len(kept)
			c.Changes[n].Diff, cut = kept, cut+left
		}
		i.Body = &c
	case *codex.ImageGeneration:
		c := *b
		c.Result, cut = "", len(b.Result) // a part of an image is none
		i.Body = &c
	case *codex.UserMessage:
		c := *b
		c.Content = append([]codex.UserInput(nil), b.Content...)
		room := MaxItemText
		for n := range c.Content {
			in := &c.Content[n]
			kept, left := codex.Bound(in.Text, room)
			room -= len(kept)
			in.Text, cut = kept, cut+left
			if len(in.URL) > MaxItemText/4 {
				cut += len(in.URL)
				in.URL = ""
			}
		}
		i.Body = &c
	}
	return cut
}
