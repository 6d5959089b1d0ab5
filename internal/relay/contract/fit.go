package contract

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

// fitter compares a Go type with a generated type, in the direction in which values travel. What it finds is a reason why
// a valid message of that contract would be refused here (reading), or a message of ours would be refused or lose a
// member there (writing).
type fitter struct {
	s *Schema
	// exact also reports members of ours that the contract does not have: right for the pinned target, where such a member
	// is a slip of the pen; other versions may lack an optional one.
	exact    bool
	problems []Problem
	seen     map[string]bool
}

// Problem is one place where a contract and this client do not fit. What is a stable word; contract.fit.<What> is its text.
type Problem struct {
	At, What, Value string
}

// String is for logs and developers.
func (p Problem) String() string { return strings.TrimSpace(p.At + ": " + p.What + " " + p.Value) }

func (f *fitter) add(at, what string, value ...string) {
	f.problems = append(f.problems, Problem{at, what, strings.Join(value, " ")})
}

// visit reports whether the pair was not compared before; types refer to each other.
func (f *fitter) visit(t reflect.Type, name, way string) bool {
	key := way + t.String() + "/" + name
	if name == "" {
		return true
	}
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	if f.seen[key] {
		return false
	}
	f.seen[key] = true
	return true
}

var (
	rawType     = reflect.TypeFor[codex.Raw]()
	itemType    = reflect.TypeFor[codex.Item]()
	idType      = reflect.TypeFor[relay.RequestID]()
	choiceType  = reflect.TypeFor[codex.Decision]()
	fieldType   = reflect.TypeFor[codex.Field]()
	cursorType  = reflect.TypeFor[codex.ItemsCursor]()
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
)

// read checks that every value that the contract allows is accepted by t.
func (f *fitter) read(t reflect.Type, n node, at string, nullable bool) {
	n, name := f.s.resolve(n)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == rawType || t.Kind() == reflect.Interface {
		return
	}
	kinds := f.kinds(n)
	if slices.Contains(kinds, "null") && !nullable {
		f.add(at, "null")
	}
	if inner := f.notNull(n); inner != nil {
		n, name = f.s.resolve(inner)
	}
	if !f.visit(t, name, "read") {
		return
	}
	switch {
	case t == itemType:
		f.readItem(n, at)
	case t == choiceType:
		f.decisions(n, at)
	case t == idType:
		f.only(n, at, "string", "integer")
	case t == fieldType, reflect.PointerTo(t).Implements(unmarshaler):
		// these read their own shape; the digest of the method shows a change
	case t.Kind() == reflect.Struct:
		f.readStruct(t, n, at)
	case t.Kind() == reflect.Slice:
		f.only(n, at, "array")
		f.read(t.Elem(), child(n, "items"), at+"[]", false)
	case t.Kind() == reflect.Map:
		f.only(n, at, "object")
		if extra := child(n, "additionalProperties"); extra != nil {
			f.read(t.Elem(), extra, at+"{}", false)
		}
	case t.Kind() == reflect.String:
		f.only(n, at, "string")
		f.closed(t, n, at)
	case t.Kind() == reflect.Bool:
		f.only(n, at, "boolean")
	case t.Kind() == reflect.Float64:
		f.only(n, at, "number", "integer")
	default:
		f.only(n, at, "integer")
	}
}

// only reports kinds of the contract that the Go type does not take.
func (f *fitter) only(n node, at string, allowed ...string) {
	for _, k := range f.kinds(n) {
		if k != "null" && !slices.Contains(allowed, k) {
			f.add(at, "type", k)
		}
	}
}

// kinds are the JSON types of a schema with references followed.
func (f *fitter) kinds(n node) []string {
	n, _ = f.s.resolve(n)
	if _, anything := n.(bool); anything || n == nil {
		return []string{"anything"}
	}
	kinds := typesOf(n)
	for _, alt := range alternatives(n) {
		kinds = append(kinds, f.kinds(alt)...)
	}
	if kinds == nil && child(n, "properties") != nil {
		kinds = []string{"object"}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// notNull is the one branch of "T or null" that is not null; nil for anything else.
func (f *fitter) notNull(n node) node {
	list := alternatives(n)
	rest := slices.DeleteFunc(slices.Clone(list), onlyNull)
	if len(rest) == 1 && len(rest) < len(list) {
		return rest[0]
	}
	return nil
}

// values are all strings that a schema allows, or false if any string is.
func (f *fitter) values(n node) ([]string, bool) {
	n, _ = f.s.resolve(n)
	if values := strs(child(n, "enum")); values != nil {
		return values, true
	}
	var all []string
	for _, alt := range alternatives(n) {
		values, ok := f.values(alt)
		if !ok && !onlyNull(alt) {
			return nil, false
		}
		all = append(all, values...)
	}
	return all, all != nil
}

func (f *fitter) closed(t reflect.Type, n node, at string) {
	ours, ok := codex.ValuesOf(t)
	if !ok {
		return
	}
	theirs, ok := f.values(n)
	if !ok {
		f.add(at, "open_values")
	}
	for _, v := range theirs {
		if !slices.Contains(ours, v) {
			f.add(at, "unknown_value", v)
		}
	}
}

func (f *fitter) readStruct(t reflect.Type, n node, at string) {
	vs, isUnion := codex.VariantsOf(t)
	branches := []branch{{node: n, props: child(n, "properties"), required: strs(child(n, "required"))}}
	if isUnion {
		branches = f.branches(n, vs.Tag)
		for _, b := range branches {
			if _, known := vs.Required[b.tag]; !known && !vs.Open {
				f.add(at, "unknown_variant", b.tag)
			}
		}
	}
	for _, b := range branches {
		here := at
		if isUnion {
			if _, known := vs.Required[b.tag]; !known {
				continue
			}
			here = at + "|" + b.tag
			for _, name := range vs.Required[b.tag] {
				if !slices.Contains(b.required, name) {
					f.add(here+"."+name, "not_required")
				}
			}
		}
		f.readMembers(t, b, here)
	}
	if f.exact {
		f.allExist(t, branches, at)
	}
}

func (f *fitter) readMembers(t reflect.Type, b branch, at string) {
	for _, m := range codex.MembersOf(t) {
		prop, ok := lookup(b.props, m.Name)
		if !m.Optional && !slices.Contains(b.required, m.Name) {
			f.add(at+"."+m.Name, "not_required")
		}
		if ok {
			f.read(m.Type, prop, at+"."+m.Name, m.Nullable)
		}
	}
}

// allExist reports members of ours that no branch has.
func (f *fitter) allExist(t reflect.Type, branches []branch, at string) {
	for _, m := range codex.MembersOf(t) {
		if !slices.ContainsFunc(branches, func(b branch) bool { _, ok := lookup(b.props, m.Name); return ok }) {
			f.add(at+"."+m.Name, "absent")
		}
	}
}

func (f *fitter) readItem(n node, at string) {
	types := codex.ItemTypes()
	for _, b := range f.branches(n, "type") {
		t, ok := types[b.tag]
		if !ok {
			continue // shown by its type name
		}
		delete(types, b.tag)
		if !slices.Contains(b.required, "id") {
			f.add(at+"|"+b.tag+".id", "not_required")
		}
		f.readMembers(t, b, at+"|"+b.tag)
		if f.exact {
			f.allExist(t, []branch{b}, at+"|"+b.tag)
		}
	}
	if f.exact {
		for name := range types {
			f.add(at, "no_variant", name)
		}
	}
}

// decisions compares the values and one-member objects of a decision.
func (f *fitter) decisions(n node, at string) {
	known := []codex.DecisionKind{codex.Accept, codex.AcceptForSession, codex.Decline, codex.Cancel, codex.AcceptExecpolicy, codex.ApplyNetwork}
	for _, alt := range alternatives(n) {
		for _, v := range append(strs(child(alt, "enum")), strs(child(alt, "required"))...) {
			if !slices.Contains(known, codex.DecisionKind(v)) {
				f.add(at, "unknown_decision", v)
			}
		}
	}
}
