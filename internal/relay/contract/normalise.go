package contract

import (
	"fmt"
	"slices"
	"strings"
)

// facts is the normalised form of a type: one line of text per place in it, so that two versions can be compared line by
// line. It has what R-CON-02 names (required members, types and nullability, enumerations, additionalProperties, formats
// and limits) and neither titles nor descriptions nor order.
type facts map[string]string

// normalise flattens one type; at is the path so far.
func normalise(n node, at string, out facts) {
	if b, ok := n.(bool); ok {
		out[at] = fmt.Sprintf("any=%t", b)
		return
	}
	if all, ok := child(n, "allOf").([]any); ok && len(all) == 1 && child(n, "properties") == nil {
		normalise(all[0], at, out)
		return
	}
	var words []string
	kinds := kindsOf(n)
	if len(kinds) > 0 {
		words = append(words, "kinds="+strings.Join(kinds, ","))
	}
	for _, key := range []string{"required", "enum"} {
		if list := strs(child(n, key)); list != nil {
			slices.Sort(list)
			words = append(words, key+"="+strings.Join(list, ","))
		}
	}
	for _, key := range []string{"const", "format", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern"} {
		if v := child(n, key); v != nil {
			words = append(words, fmt.Sprintf("%s=%v", key, v))
		}
	}
	switch extra := child(n, "additionalProperties").(type) {
	case bool:
		words = append(words, fmt.Sprintf("additionalProperties=%t", extra))
	case map[string]any:
		words = append(words, "additionalProperties=schema")
		normalise(extra, at+"/*", out)
	}
	out[at] = strings.Join(words, " ")
	for _, name := range sortedKeys(child(n, "properties")) {
		normalise(child(child(n, "properties"), name), at+"."+name, out)
	}
	if items := child(n, "items"); items != nil {
		normalise(items, at+"[]", out)
	}
	for i, alt := range alternatives(n) {
		if refName(alt) != "" || onlyNull(alt) {
			continue // among the kinds
		}
		normalise(alt, at+"|"+variantName(alt, i), out)
	}
}

// kindsOf lists what a value can be: JSON types, and names of referenced types.
func kindsOf(n node) []string {
	var kinds []string
	if r := refName(n); r != "" {
		kinds = append(kinds, r)
	}
	kinds = append(kinds, typesOf(n)...)
	for _, alt := range alternatives(n) {
		if r := refName(alt); r != "" {
			kinds = append(kinds, r)
		} else if onlyNull(alt) {
			kinds = append(kinds, "null")
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

func onlyNull(n node) bool { t := typesOf(n); return len(t) == 1 && t[0] == "null" }

// variantName names a branch by what selects it, so that a branch keeps its name when others come or go.
func variantName(n node, i int) string {
	if values := strs(child(n, "enum")); len(values) == 1 {
		return values[0]
	} else if len(values) > 1 {
		return "values"
	}
	props := child(n, "properties")
	for _, tag := range []string{"type", "mode", "kind"} {
		if values := strs(child(child(props, tag), "enum")); len(values) == 1 {
			return values[0]
		}
	}
	if required := strs(child(n, "required")); len(required) > 0 {
		slices.Sort(required)
		return strings.Join(required, "+")
	}
	if t := typesOf(n); len(t) > 0 {
		return strings.Join(t, "/")
	}
	return fmt.Sprint(i)
}

// closure lists a type and all that it refers to.
func (s *Schema) closure(n node, seen map[string]bool) {
	switch n := n.(type) {
	case map[string]any:
		if r := refName(n); r != "" && !seen[r] {
			seen[r] = true
			s.closure(s.types[r], seen)
		}
		for key, value := range n {
			if key != "description" && key != "title" && key != "default" {
				s.closure(value, seen)
			}
		}
	case []any:
		for _, e := range n {
			s.closure(e, seen)
		}
	}
}

// factsOf normalises named types.
func (s *Schema) factsOf(names []string) facts {
	out := facts{}
	for _, name := range names {
		normalise(s.types[name], name, out)
	}
	return out
}
