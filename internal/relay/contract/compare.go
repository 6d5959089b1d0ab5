package contract

import (
	"fmt"
	"maps"
	"slices"
)

// Compare lists the differences from a to b as lines in a fixed order: methods of each direction, then types, then places
// in types that both have. A line begins with + (only in b), - (only in a) or ~ (in both, different).
func Compare(a, b *Schema) []string {
	var lines []string
	for _, d := range directions {
		from, to := d.of(a), d.of(b)
		for _, m := range both(from, to) {
			_, inA := from[m]
			_, inB := to[m]
			switch {
			case !inA:
				lines = append(lines, fmt.Sprintf("+ %s %s", d.name, m))
			case !inB:
				lines = append(lines, fmt.Sprintf("- %s %s", d.name, m))
			default:
				lines = append(lines, changes(flat(from[m], d.name+" "+m), flat(to[m], d.name+" "+m))...)
			}
		}
	}
	var common []string
	for _, t := range both(a.types, b.types) {
		_, inA := a.types[t]
		_, inB := b.types[t]
		switch {
		case listsMethods[t]:
		case !inA:
			lines = append(lines, "+ type "+t)
		case !inB:
			lines = append(lines, "- type "+t)
		default:
			common = append(common, t)
		}
	}
	return append(lines, changes(a.factsOf(common), b.factsOf(common))...)
}

type direction struct {
	name string
	of   func(*Schema) map[string]node
}

var directions = []direction{
	{"request", func(s *Schema) map[string]node { return s.Requests }},
	{"server request", func(s *Schema) map[string]node { return s.ServerReqs }},
	{"notification", func(s *Schema) map[string]node { return s.Notifications }},
	{"client notification", func(s *Schema) map[string]node { return s.ClientNotes }},
}

// listsMethods are the types that only list methods; the envelopes around them say nothing about a method.
var listsMethods = map[string]bool{"ClientRequest": true, "ServerRequest": true, "ServerNotification": true, "ClientNotification": true}

func flat(n node, at string) facts {
	out := facts{}
	if n != nil {
		normalise(n, at, out)
	}
	return out
}

func changes(a, b facts) []string {
	var lines []string
	for _, at := range both(a, b) {
		from, inA := a[at]
		to, inB := b[at]
		switch {
		case !inA:
			lines = append(lines, fmt.Sprintf("+ %s {%s}", at, to))
		case !inB:
			lines = append(lines, fmt.Sprintf("- %s {%s}", at, from))
		case from != to:
			lines = append(lines, fmt.Sprintf("~ %s {%s} -> {%s}", at, from, to))
		}
	}
	return lines
}

func both[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
