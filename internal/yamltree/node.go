// Package yamltree reads a strict subset of YAML into a tree whose every node knows its file, line and column, merges two
// such trees, and walks the result by declared keys while collecting every problem instead of stopping at the first.
//
// What is refused, and why: aliases and anchors (a few lines can expand to gigabytes, and a value would appear far from
// where it is written), tags (a value says by its form what it is), merge keys (a second, silent kind of overlay),
// duplicate keys (the parser keeps both, and readers differ in which one wins), keys that are not plain text, several
// documents, bytes that are not UTF-8, and input above MaxBytes or nested deeper than MaxDepth.
package yamltree

import (
	"slices"
	"strconv"
	"strings"
)

// Limits of an accepted document.
const (
	MaxBytes = 1 << 20
	MaxDepth = 64
)

// Pos is a place in a file: line and column count from 1, the column in characters. Line 0 means the file as a whole.
type Pos struct {
	File   string
	Line   int
	Column int
}

// Kind tells what a Node is.
type Kind uint8

// The kinds. A Null is an empty value, "~" or "null".
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	List
	Map
)

// Node is one value. It is never changed after Parse or Merge returned it.
type Node struct {
	Kind Kind
	Pos  Pos
	// Text is a scalar's content: the text of a String, else the literal as written.
	Text    string
	Items   []*Node // of a List
	Entries []Entry // of a Map, in the order of the file
}

// Entry is one key of a Map with its value.
type Entry struct {
	Key   string
	Pos   Pos // of the key
	Value *Node
}

// Get returns the value of key in a Map, or nil.
func (n *Node) Get(key string) *Node {
	if e := n.entry(key); e != nil {
		return e.Value
	}
	return nil
}

func (n *Node) entry(key string) *Entry {
	if n == nil || n.Kind != Map {
		return nil
	}
	i := slices.IndexFunc(n.Entries, func(e Entry) bool { return e.Key == key })
	if i < 0 {
		return nil
	}
	return &n.Entries[i]
}

// At returns the position of the deepest existing part of a path such as "sandbox.mounts[1].path": of the value of a list
// item, of the key of a map entry.
func (n *Node) At(path string) Pos {
	pos := n.Pos
	for _, part := range splitPath(path) {
		if part.index >= 0 {
			if n == nil || n.Kind != List || part.index >= len(n.Items) {
				return pos
			}
			n = n.Items[part.index]
			pos = n.Pos
			continue
		}
		e := n.entry(part.key)
		if e == nil {
			return pos
		}
		n, pos = e.Value, e.Pos
	}
	return pos
}

type pathPart struct {
	key   string
	index int // -1 for a key
}

func splitPath(path string) []pathPart {
	var parts []pathPart
	for _, s := range strings.Split(path, ".") {
		key, rest, _ := strings.Cut(s, "[")
		if key != "" {
			parts = append(parts, pathPart{key, -1})
		}
		for rest != "" {
			var digits string
			digits, rest, _ = strings.Cut(rest, "]")
			i, err := strconv.Atoi(digits)
			if err != nil || i < 0 {
				return parts
			}
			parts = append(parts, pathPart{"", i})
			rest = strings.TrimPrefix(rest, "[")
		}
	}
	return parts
}

// Canonical renders the tree so that equal content has equal bytes: keys sorted, comments, order of keys, quoting and
// layout ignored. It is meant for hashing and is not YAML.
func (n *Node) Canonical() []byte { return n.canonical(nil) }

func (n *Node) canonical(b []byte) []byte {
	switch n.Kind {
	case Map:
		sorted := slices.Clone(n.Entries)
		slices.SortFunc(sorted, func(x, y Entry) int { return strings.Compare(x.Key, y.Key) })
		b = append(b, '{')
		for _, e := range sorted {
			b = strconv.AppendQuote(b, e.Key)
			b = append(b, ':')
			b = e.Value.canonical(b)
			b = append(b, ',')
		}
		return append(b, '}')
	case List:
		b = append(b, '[')
		for _, i := range n.Items {
			b = i.canonical(b)
			b = append(b, ',')
		}
		return append(b, ']')
	case Null: // "~", "null" and nothing at all say the same
		return append(b, 'n')
	}
	b = append(b, "nbifslm"[n.Kind])
	return strconv.AppendQuote(b, n.Text)
}
