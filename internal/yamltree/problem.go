package yamltree

import (
	"cmp"
	"fmt"
	"slices"

	"sekisho/internal/fault"
)

// Text is a localizable sentence: a key of the locale files with the values of its placeholders.
type Text struct {
	Key  string
	Args map[string]string
}

// T makes a Text from a key and alternating placeholder names and values.
func T(key string, args ...any) Text {
	t := Text{Key: key}
	for i := 0; i+1 < len(args); i += 2 {
		if t.Args == nil {
			t.Args = map[string]string{}
		}
		t.Args[fmt.Sprint(args[i])] = fmt.Sprint(args[i+1])
	}
	return t
}

// Problem is one thing that is wrong (or, as a warning, doubtful) in a document.
type Problem struct {
	Pos Pos
	// Path is the key, such as "sandbox.mounts[0].access"; "" means the document.
	Path string
	// Code is set when the problem has a code of its own; otherwise the caller's code for a bad document holds.
	Code fault.Code
	Text Text
	// Accepted tells which values would do; a zero Text says nothing.
	Accepted Text
	// Nearest is the valid key that an unknown one probably means, or "".
	Nearest string
}

// Sort orders problems by file, line and column, keeping the order of finding within one place.
func Sort(ps []Problem) {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
}
