package yamltree

import (
	"encoding/json"
	"strconv"

	"sekisho/internal/strictjson"
)

// JSON returns the value as JSON: texts, decimal numbers, true and false, lists and maps. A number in another notation,
// infinity or NaN is a problem.
func (v Value) JSON() (json.RawMessage, bool) {
	if !v.Present() {
		return json.RawMessage("null"), true
	}
	raw, ok := v.node.json(nil)
	if !ok {
		v.wrongType(T("yaml.accepts.json"))
		return nil, false
	}
	return raw, true
}

func (n *Node) json(b []byte) ([]byte, bool) {
	ok := true
	switch n.Kind {
	case Null:
		return append(b, "null"...), true
	case Bool:
		return append(b, n.Text...), n.Text == "true" || n.Text == "false"
	case Int:
		return append(b, n.Text...), intForm().MatchString(n.Text)
	case Float: // never empty, although its form would allow that
		f, err := strconv.ParseFloat(n.Text, 64)
		if err != nil || !floatForm().MatchString(n.Text) {
			return nil, false
		}
		return strconv.AppendFloat(b, f, 'g', -1, 64), true
	case String:
		quoted, err := strictjson.Marshal(n.Text)
		return append(b, quoted...), err == nil
	case List:
		b = append(b, '[')
		for i, item := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			if b, ok = item.json(b); !ok {
				return nil, false
			}
		}
		return append(b, ']'), true
	}
	b = append(b, '{')
	for i, e := range n.Entries {
		if i > 0 {
			b = append(b, ',')
		}
		quoted, err := strictjson.Marshal(e.Key)
		if err != nil {
			return nil, false
		}
		b = append(append(b, quoted...), ':')
		if b, ok = e.Value.json(b); !ok {
			return nil, false
		}
	}
	return append(b, '}'), true
}
