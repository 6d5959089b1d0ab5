package yamltree

import (
	"slices"
	"strings"
)

// Flat is the tree as one line per value: key path → canonical value, for people to compare and for records. Two trees of
// equal content have equal maps, two of different content have different ones.
//
// A list of single values is one value, such as "[a, b]"; items that hold a map or a list have paths of their own, such as
// "sandbox.mounts[0].path". A text is written as it is unless it could be taken for something else; then it stands in double
// quotes. Empty maps and lists are "{}" and "[]", an empty value is "null".
func (n *Node) Flat() map[string]string {
	out := map[string]string{}
	n.flat("", out)
	return out
}

func (n *Node) flat(path string, out map[string]string) {
	switch {
	case n.Kind == Map && len(n.Entries) > 0:
		for _, e := range n.Entries {
			e.Value.flat(Join(path, flatKey(e.Key)), out)
		}
	case n.Kind == List && slices.ContainsFunc(n.Items, func(i *Node) bool { return i.Kind == Map || i.Kind == List }):
		for i, item := range n.Items {
			item.flat(pathItem(path, i), out)
		}
	case path != "":
		out[path] = n.flatValue()
	}
}

func (n *Node) flatValue() string {
	switch n.Kind {
	case Map:
		return "{}"
	case List:
		items := make([]string, 0, len(n.Items))
		for _, i := range n.Items {
			items = append(items, i.flatValue())
		}
		return "[" + strings.Join(items, ", ") + "]"
	case Null:
		return "null"
	case String:
		if bare(n.Text) {
			return n.Text
		}
		return quoted(n.Text)
	}
	return n.Text
}

// flatKey keeps a key that holds a separator of paths apart from a path.
func flatKey(key string) string {
	if strings.ContainsAny(key, `.[]"`) {
		return quoted(key)
	}
	return key
}

// quoted doubles quotes inside, as CSV does: a backslash would be doubled once more when the value is shown.
func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// bare reports whether a text cannot be mistaken for a value of another kind, a list or a quoted text.
func bare(s string) bool {
	switch strings.ToLower(s) {
	case "", "null", "~", "true", "false":
		return false
	}
	// Numbers of every form, also of those that no key accepts, begin with one of these.
	if strings.IndexByte("0123456789+-.", s[0]) >= 0 && strings.Trim(s, "0123456789+-._abcdefABCDEFxXoOiInN:") == "" {
		return false
	}
	return !strings.ContainsAny(s, "[]{}\",") && strings.TrimSpace(s) == s
}
