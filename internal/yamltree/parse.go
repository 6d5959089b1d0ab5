package yamltree

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Parse reads one document. An empty document is an empty Map. With problems the node is nil; syntax errors come one at a
// time because the parser stops there, everything else is collected. File names the document in positions only.
func Parse(file string, data []byte) (*Node, []Problem) {
	whole := Pos{File: file}
	if len(data) > MaxBytes {
		return nil, []Problem{{Pos: whole, Text: T("yaml.too_large", "limit", MaxBytes)}}
	}
	if i := invalidUTF8(data); i >= 0 {
		return nil, []Problem{{Pos: place(file, data, i), Text: T("yaml.not_utf8")}}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, []Problem{{Pos: whole, Text: T("yaml.syntax", "detail", err)}}
	}
	var doc yaml.Node
	if err := loader.Load(&doc); err != nil {
		if blank(data) {
			return &Node{Kind: Map, Pos: Pos{file, 1, 1}}, nil
		}
		return nil, []Problem{syntaxProblem(file, data, err)}
	}
	b := builder{file: file}
	var next yaml.Node
	if err := loader.Load(&next); err == nil {
		b.add(first(&next), "", T("yaml.several_documents"))
	} else if le := loadError(err); le != nil && le.Mark.Line > 0 {
		b.problems = append(b.problems, syntaxProblem(file, data, err))
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, []Problem{{Pos: whole, Text: T("yaml.not_a_map")}}
	}
	root := b.node(doc.Content[0], "", 1)
	switch {
	case len(b.problems) > 0:
		return nil, b.problems
	case root.Kind == Null:
		return &Node{Kind: Map, Pos: root.Pos}, nil
	case root.Kind != Map:
		return nil, []Problem{{Pos: root.Pos, Text: T("yaml.not_a_map")}}
	}
	return root, nil
}

func first(doc *yaml.Node) *yaml.Node {
	if len(doc.Content) > 0 {
		return doc.Content[0]
	}
	return doc
}

type builder struct {
	file     string
	problems []Problem
}

func (b *builder) pos(n *yaml.Node) Pos { return Pos{b.file, n.Line, n.Column} }

func (b *builder) add(n *yaml.Node, path string, t Text) {
	b.problems = append(b.problems, Problem{Pos: b.pos(n), Path: path, Text: t})
}

func (b *builder) node(n *yaml.Node, path string, depth int) *Node {
	out := &Node{Pos: b.pos(n)}
	switch {
	case depth > MaxDepth:
		b.add(n, path, T("yaml.too_deep", "limit", MaxDepth))
		return out
	case n.Kind == yaml.AliasNode:
		b.add(n, path, T("yaml.alias", "name", n.Value))
		return out
	case n.Anchor != "":
		b.add(n, path, T("yaml.anchor", "name", n.Anchor))
	case n.Style&yaml.TaggedStyle != 0:
		b.add(n, path, T("yaml.tag", "tag", n.Tag))
	}
	switch n.Kind {
	case yaml.MappingNode:
		out.Kind = Map
		b.entries(n, out, path, depth)
	case yaml.SequenceNode:
		out.Kind = List
		for i, c := range n.Content {
			out.Items = append(out.Items, b.node(c, fmt.Sprintf("%s[%d]", path, i), depth+1))
		}
	default:
		out.Kind, out.Text = scalarKind(n), n.Value
	}
	return out
}

func (b *builder) entries(n *yaml.Node, out *Node, path string, depth int) {
	first := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind == yaml.AliasNode || k.Anchor != "":
			b.add(k, path, T("yaml.alias", "name", k.Value+k.Anchor))
			continue
		case k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge":
			b.add(k, path, T("yaml.merge_key"))
			continue
		case k.Kind != yaml.ScalarNode || scalarKind(k) != String || k.Style&yaml.TaggedStyle != 0 || k.Value == "":
			b.add(k, path, T("yaml.key_not_text"))
			continue
		}
		if line, dup := first[k.Value]; dup {
			b.add(k, Join(path, k.Value), T("yaml.duplicate_key", "line", line))
			continue
		}
		first[k.Value] = k.Line
		out.Entries = append(out.Entries, Entry{k.Value, b.pos(k), b.node(v, Join(path, k.Value), depth+1)})
	}
}

// Join appends a key to a path.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func scalarKind(n *yaml.Node) Kind {
	switch n.ShortTag() {
	case "!!null":
		return Null
	case "!!bool":
		return Bool
	case "!!int":
		return Int
	case "!!float":
		return Float
	}
	return String // also a time stamp: no key wants one
}

// blank reports whether data holds nothing but blank lines and comments.
func blank(data []byte) bool {
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		if t := bytes.TrimSpace(line); len(t) > 0 && t[0] != '#' {
			return false
		}
	}
	return true
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func place(file string, data []byte, i int) Pos {
	before := data[:i]
	start := bytes.LastIndexByte(before, '\n') + 1
	return Pos{file, bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1}
}
