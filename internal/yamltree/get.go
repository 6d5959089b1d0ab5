package yamltree

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

var (
	intForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`) })
	floatForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?(0|[1-9][0-9]*)?(\.[0-9]+)?([eE][-+]?[0-9]+)?$`) })
)

// Text returns a string. A number or a bare true is refused: quotes make it a text.
func (v Value) Text(def string) string {
	if !v.Present() {
		return def
	}
	if v.node.Kind != String {
		v.wrongType(T("yaml.accepts.text"))
		return def
	}
	if strings.ContainsRune(v.node.Text, 0) {
		v.Fail(T("yaml.nul"), T("yaml.accepts.text"))
		return def
	}
	return v.node.Text
}

// Enum returns one of the allowed texts.
func (v Value) Enum(def string, allowed ...string) string {
	if !v.Present() {
		return def
	}
	accepted := T("yaml.accepts.one_of", "values", strings.Join(allowed, ", "))
	if v.node.Kind != String {
		v.wrongType(accepted)
		return def
	}
	if !slices.Contains(allowed, v.node.Text) {
		v.Fail(T("yaml.not_allowed", "value", v.Shown()), accepted)
		return def
	}
	return v.node.Text
}

// Int returns a whole number from lo to hi, written in decimal digits.
func (v Value) Int(def, lo, hi int64) int64 {
	if !v.Present() {
		return def
	}
	accepted := intRange(lo, hi)
	// The parser takes a whole number of more than 64 bits for a Float.
	if v.node.Kind != Int && v.node.Kind != Float || !intForm().MatchString(v.node.Text) {
		v.wrongType(accepted)
		return def
	}
	n, err := strconv.ParseInt(v.node.Text, 10, 64)
	if err != nil || n < lo || n > hi {
		v.Fail(T("yaml.out_of_range", "value", v.Shown()), accepted)
		return def
	}
	return n
}

func intRange(lo, hi int64) Text {
	if lo == hi {
		return T("yaml.accepts.one_of", "values", lo)
	}
	if hi == math.MaxInt64 {
		return T("yaml.accepts.integer_from", "min", lo)
	}
	return T("yaml.accepts.integer_range", "min", lo, "max", hi)
}

// Range bounds a Float: values from Min to Max; with AboveMin, Min itself is excluded. Infinite bounds do not bound.
type Range struct {
	Min, Max float64
	AboveMin bool
}

// Float returns a finite number inside a range.
func (v Value) Float(def float64, in Range) float64 {
	if !v.Present() {
		return def
	}
	accepted := in.text()
	isNumber := (v.node.Kind == Int || v.node.Kind == Float) && floatForm().MatchString(v.node.Text)
	if !isNumber {
		v.wrongType(accepted)
		return def
	}
	f, err := strconv.ParseFloat(v.node.Text, 64)
	if err != nil || f < in.Min || f > in.Max || in.AboveMin && f == in.Min {
		v.Fail(T("yaml.out_of_range", "value", v.Shown()), accepted)
		return def
	}
	return f
}

func (in Range) text() Text {
	lo, hi := strconv.FormatFloat(in.Min, 'g', -1, 64), strconv.FormatFloat(in.Max, 'g', -1, 64)
	switch {
	case math.IsInf(in.Min, -1) && math.IsInf(in.Max, 1):
		return T("yaml.accepts.number")
	case math.IsInf(in.Max, 1):
		return T("yaml.accepts.number_from", "min", lo)
	case in.AboveMin:
		return T("yaml.accepts.number_above", "min", lo, "max", hi)
	}
	return T("yaml.accepts.number_range", "min", lo, "max", hi)
}

// Bool returns true or false; other spellings of YAML 1.1, such as yes, are refused.
func (v Value) Bool(def bool) bool {
	if !v.Present() {
		return def
	}
	if v.node.Kind != Bool || v.node.Text != "true" && v.node.Text != "false" {
		v.wrongType(T("yaml.accepts.one_of", "values", "true, false"))
		return def
	}
	return v.node.Text == "true"
}

// List returns the items; a null item is a problem.
func (v Value) List() []Value {
	if !v.Present() {
		return nil
	}
	if v.node.Kind != List {
		v.wrongType(T("yaml.accepts.list"))
		return nil
	}
	var out []Value
	for i, n := range v.node.Items {
		item := Value{r: v.r, node: n, pos: n.Pos, path: pathItem(v.path, i)}
		if n.Kind == Null {
			item.node = nil
			item.Fail(T("yaml.empty_item"), Text{})
			continue
		}
		out = append(out, item)
	}
	return out
}

// Named is one entry of a map whose keys are free.
type Named struct {
	Name  string
	Value Value
}

// Free returns the entries of a map whose keys are names chosen by the writer.
func (v Value) Free() []Named {
	if !v.Present() {
		return nil
	}
	if v.node.Kind != Map {
		v.wrongType(T("yaml.accepts.map"))
		return nil
	}
	var out []Named
	for _, e := range v.node.Entries {
		out = append(out, Named{e.Key, v.at(e.Key, &e)})
	}
	return out
}

// Section is a map with a fixed set of keys.
type Section struct {
	v     Value
	asked []string
}

// Section declares that the value is a map with fixed keys: ask for each with Key, then call Done.
func (v Value) Section() *Section {
	if v.Present() && v.node.Kind != Map {
		v.wrongType(T("yaml.accepts.map"))
		v.node = nil
	}
	return &Section{v: v}
}

// Key declares a key and returns its value.
func (s *Section) Key(name string) Value {
	if !slices.Contains(s.asked, name) {
		s.asked = append(s.asked, name)
	}
	s.v.r.Declare(general(Join(s.v.path, name)))
	return s.v.child(name)
}

// Asked returns the keys asked for so far.
func (s *Section) Asked() []string { return slices.Clone(s.asked) }

// Done records every key of the map that was not asked for.
func (s *Section) Done() {
	if s.v.node == nil {
		return
	}
	for _, e := range s.v.node.Entries {
		if !slices.Contains(s.asked, e.Key) {
			r := s.v.r
			r.unknown = append(r.unknown, len(r.problems))
			r.problems = append(r.problems, Problem{Pos: e.Pos, Path: Join(s.v.path, e.Key), Text: unknownKey(e.Key),
				Accepted: T("yaml.accepts.keys", "values", strings.Join(s.asked, ", "))})
		}
	}
}

// unknownKey names characters beyond ASCII, because one that looks like a Latin letter cannot be seen.
func unknownKey(key string) Text {
	var foreign []string
	for _, r := range key {
		if r > unicode.MaxASCII {
			foreign = append(foreign, fmt.Sprintf("U+%04X", r))
		}
	}
	if foreign == nil {
		return T("yaml.unknown_key")
	}
	return T("yaml.unknown_key_characters", "characters", strings.Join(slices.Compact(foreign), ", "))
}

func (v Value) child(name string) Value { return v.at(name, v.node.entry(name)) }

// at is the value of an entry; nil is an absent one.
func (v Value) at(name string, e *Entry) Value {
	c := Value{r: v.r, pos: v.Pos(), path: Join(v.path, name)}
	if e != nil {
		c.pos = e.Pos
		if e.Value.Kind != Null {
			c.node = e.Value
		}
	}
	return c
}
