package yamltree

import "slices"

// Merge lays over on top of base at node level (A-CFG-02): maps merge key by key at any depth, everything else is
// replaced. Each node of the result keeps the position of the file it comes from. An empty value laid on a map changes
// nothing: a section whose lines are all commented out says nothing. Neither argument is changed.
func Merge(base, over *Node) *Node {
	switch {
	case over == nil:
		return base
	case base == nil:
		return over
	case base.Kind == Map && over.Kind == Null:
		return base
	case base.Kind != Map || over.Kind != Map:
		return over
	}
	out := &Node{Kind: Map, Pos: base.Pos, Entries: slices.Clone(base.Entries)}
	index := make(map[string]int, len(base.Entries))
	for i, e := range base.Entries {
		index[e.Key] = i
	}
	for _, e := range over.Entries {
		i, ok := index[e.Key]
		if !ok {
			out.Entries = append(out.Entries, e)
			continue
		}
		merged := Merge(out.Entries[i].Value, e.Value)
		if merged == e.Value { // replaced: the key's place is the overlay's too
			out.Entries[i].Pos = e.Pos
		}
		out.Entries[i].Value = merged
	}
	return out
}
