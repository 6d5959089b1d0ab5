package yamltree

import (
	"fmt"
	"slices"
	"strings"

	"sekisho/internal/fault"
)

// Reader walks a tree by declared keys. Getters never fail: they record a Problem and return the default, so that one run
// finds everything. A null value counts as absent.
type Reader struct {
	root     *Node
	problems []Problem
	warnings []Problem
	declared []string
	unknown  []int // indexes into problems
}

// NewReader starts at root, which must be a Map.
func NewReader(root *Node) *Reader { return &Reader{root: root} }

// Root is the document itself.
func (r *Reader) Root() Value { return Value{r: r, node: r.root, pos: r.root.Pos} }

// Declare adds valid paths that reading may not visit, such as keys of the items of an empty list
// ("sandbox.mounts[].path").
func (r *Reader) Declare(paths ...string) {
	for _, p := range paths {
		if !slices.Contains(r.declared, p) {
			r.declared = append(r.declared, p)
		}
	}
}

// Declared returns every path that was asked for, with "[]" for list positions, in order of asking.
func (r *Reader) Declared() []string { return slices.Clone(r.declared) }

// Problems returns what was found so far, in order of place. Unknown keys get their nearest valid key among everything
// declared until now, so call it after reading.
func (r *Reader) Problems() []Problem {
	for _, i := range r.unknown {
		r.problems[i].Nearest = r.nearest(r.problems[i].Path)
	}
	out := slices.Clone(r.problems)
	Sort(out)
	return out
}

// Warnings returns the doubtful things, in order of place.
func (r *Reader) Warnings() []Problem {
	out := slices.Clone(r.warnings)
	Sort(out)
	return out
}

// Report records a problem that was found outside the getters.
func (r *Reader) Report(p Problem) { r.problems = append(r.problems, p) }

// nearest prefers a sibling with a similar name, then a key of the same or a similar name anywhere else.
func (r *Reader) nearest(path string) string {
	parent, name := cutLast(path)
	var siblings, siblingPaths, names, paths []string
	for _, d := range r.declared {
		p, n := cutLast(d)
		if p == general(parent) {
			siblings, siblingPaths = append(siblings, n), append(siblingPaths, Join(parent, n))
			continue
		}
		names, paths = append(names, n), append(paths, d)
	}
	if n := Nearest(name, siblings); n != "" {
		return siblingPaths[slices.Index(siblings, n)]
	}
	if n := Nearest(name, names); n != "" {
		return paths[slices.Index(names, n)]
	}
	return ""
}

func cutLast(path string) (parent, name string) {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}

// general replaces list positions by "[]".
func general(path string) string {
	var b strings.Builder
	in := false
	for _, c := range path {
		switch {
		case c == '[':
			in = true
			b.WriteString("[]")
		case c == ']':
			in = false
		case !in:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// Value is a place in the document, present or not.
type Value struct {
	r    *Reader
	node *Node // nil when absent or null
	pos  Pos   // of the key, else of the nearest thing around
	path string
}

// Present reports whether the place holds a value other than null.
func (v Value) Present() bool { return v.node != nil }

// Path is the key path, such as "sandbox.mounts[0].path".
func (v Value) Path() string { return v.path }

// Pos is the place of the value, or of what surrounds it when absent.
func (v Value) Pos() Pos {
	if v.node != nil {
		return v.node.Pos
	}
	return v.pos
}

// Node is the value's node, or nil when absent.
func (v Value) Node() *Node { return v.node }

// Fail records a problem at this value.
func (v Value) Fail(text, accepted Text) {
	v.r.problems = append(v.r.problems, Problem{Pos: v.Pos(), Path: v.path, Text: text, Accepted: accepted})
}

// Refuse records a problem that has a code of its own.
func (v Value) Refuse(code fault.Code, text, accepted Text) {
	v.r.problems = append(v.r.problems, Problem{Pos: v.Pos(), Path: v.path, Code: code, Text: text, Accepted: accepted})
}

// Warn records a warning at this value.
func (v Value) Warn(text Text) {
	v.r.warnings = append(v.r.warnings, Problem{Pos: v.Pos(), Path: v.path, Text: text})
}

// Required records a problem when the value is absent, and reports whether it is present. OneOf are the values that it
// could have; none says nothing about them.
func (v Value) Required(oneOf ...string) bool {
	if !v.Present() {
		accepted := Text{}
		if len(oneOf) > 0 {
			accepted = T("yaml.accepts.one_of", "values", strings.Join(oneOf, ", "))
		}
		v.Fail(T("yaml.required"), accepted)
	}
	return v.Present()
}

func (v Value) wrongType(accepted Text) {
	v.Fail(T("yaml.wrong_type", "value", v.Shown()), accepted)
}

// Shown describes the value for a message: scalars as written, the others by kind.
func (v Value) Shown() string {
	switch v.node.Kind {
	case Map:
		return "{…}"
	case List:
		return "[…]"
	case String:
		return `"` + cut(v.node.Text) + `"`
	}
	return cut(v.node.Text)
}

func cut(s string) string {
	const limit = 80
	if rs := []rune(s); len(rs) > limit {
		return string(rs[:limit]) + "…"
	}
	return s
}

func pathItem(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
