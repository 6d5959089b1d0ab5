package contract

import (
	"maps"
	"slices"
)

// branch is one variant of a union with what the union says about all of them: members beside oneOf hold for each.
type branch struct {
	tag      string
	node     node
	props    any
	required []string
}

// branches splits a union by its tag. A variant that is itself split further keeps only what all its parts require.
func (f *fitter) branches(n node, tag string) []branch {
	n, _ = f.s.resolve(n)
	var out []branch
	for _, alt := range alternatives(n) {
		alt, _ = f.s.resolve(alt)
		if onlyNull(alt) {
			continue
		}
		props := map[string]any{}
		for _, source := range append([]any{child(n, "properties"), child(alt, "properties")}, partsOf(alt)...) {
			if m, ok := source.(map[string]any); ok {
				maps.Copy(props, m)
			}
		}
		required := slices.Concat(strs(child(n, "required")), strs(child(alt, "required")))
		for _, value := range strs(child(child(props, tag), "enum")) {
			out = append(out, branch{value, alt, props, required})
		}
	}
	return out
}

// partsOf are the members of a variant's own variants.
func partsOf(n node) []any {
	var out []any
	for _, alt := range alternatives(n) {
		out = append(out, child(alt, "properties"))
	}
	return out
}

func lookup(props any, name string) (node, bool) {
	object, _ := props.(map[string]any)
	n, ok := object[name]
	return n, ok
}
