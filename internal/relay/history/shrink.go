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

// cutChanges makes changes fit into MaxItemText together. A change whose path does not fit is left out, with all after it.
func cutChanges(changes []codex.FileUpdate) (kept []codex.FileUpdate, size, cut int) {
	kept = make([]codex.FileUpdate, 0, min(len(changes), MaxItems)) // none is not unknown
	for i, c := range changes {
		head := len(c.Path) + len(c.Kind.Type) + len(c.Kind.MovePath)
		if size+head > MaxItemText || i >= MaxItems {
			for _, c := range changes[i:] {
				cut += max(1, len(c.Path)+len(c.Kind.Type)+len(c.Kind.MovePath)+len(c.Diff))
			}
			break
		}
		diff, left := codex.Bound(c.Diff, MaxItemText-size-head)
		c.Diff = diff
		kept = append(kept, c)
		size, cut = size+head+len(diff), cut+left
	}
	return kept, size, cut
}

// cutPlan keeps the steps that fit into MaxPlan together.
func cutPlan(steps []codex.PlanStep) (kept []codex.PlanStep) {
	room := MaxPlan
	for i, s := range steps {
		room -= len(s.Step) + len(s.Status)
		if room < 0 || i >= MaxItems {
			break
		}
		kept = append(kept, s)
	}
	return kept
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
		c.Changes, _, cut = cutChanges(b.Changes)
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
