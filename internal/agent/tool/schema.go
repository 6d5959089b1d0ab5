package tool

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sekisho/internal/agent"
)

// kind is the JSON type of an argument.
type kind uint8

const (
	text    kind = iota // string
	integer             // whole number
	boolean             // true or false
	texts               // array of strings
)

func (k kind) String() string {
	return [...]string{"string", "integer", "boolean", "array"}[k]
}

// field is one argument of a tool. The schema that the model sees and the check of what it sends are both made from it,
// so they cannot drift apart. Ollama drops every schema keyword but type, enum, items, description and required before
// the model sees it: limits are therefore repeated in the description.
type field struct {
	name        string
	kind        kind
	required    bool
	nullable    bool     // null is accepted and means absent
	enum        []string // of a text, or of each item of texts
	min, max    int64    // of an integer
	fallback    int64    // of an absent integer
	maxBytes    int      // of a text, or of each item of texts; 0 = only the limit of the whole call
	maxItems    int      // of texts
	unique      bool     // items of texts differ from each other
	isPath      bool     // not empty, no NUL
	line        bool     // no NUL: it becomes an argument of a system call
	description string
}

// schema describes one tool.
type schema struct {
	name        string
	description string
	fields      []field
}

func (s schema) spec() agent.ToolSpec {
	return agent.ToolSpec{Name: s.name, Description: s.description, Parameters: s.parameters()}
}

// parameters is the JSON Schema of the arguments, with members in the order of the table: models fill them in that order.
func (s schema) parameters() []byte {
	var b strings.Builder
	e := jsontext.NewEncoder(&b, jsontext.Multiline(false))
	put := func(tokens ...jsontext.Token) {
		for _, t := range tokens {
			if err := e.WriteToken(t); err != nil {
				panic("tool: schema of " + s.name + ": " + err.Error()) // the table is a constant of this package
			}
		}
	}
	str := jsontext.String
	put(jsontext.BeginObject, str("type"), str("object"), str("properties"), jsontext.BeginObject)
	for _, f := range s.fields {
		put(str(f.name))
		f.put(put)
	}
	put(jsontext.EndObject, str("required"), jsontext.BeginArray)
	for _, f := range s.fields {
		if f.required {
			put(str(f.name))
		}
	}
	put(jsontext.EndArray, str("additionalProperties"), jsontext.False, jsontext.EndObject)
	return []byte(strings.TrimSpace(b.String()))
}

func (f field) put(put func(...jsontext.Token)) {
	str := jsontext.String
	put(jsontext.BeginObject, str("type"))
	if f.nullable {
		put(jsontext.BeginArray, str(f.kind.String()), str("null"), jsontext.EndArray)
	} else {
		put(str(f.kind.String()))
	}
	put(str("description"), str(f.description))
	switch f.kind {
	case integer:
		put(str("minimum"), jsontext.Int(f.min), str("maximum"), jsontext.Int(f.max))
	case texts:
		put(str("items"), jsontext.BeginObject, str("type"), str("string"))
		f.putEnum(put, false)
		put(jsontext.EndObject, str("maxItems"), jsontext.Int(int64(f.maxItems)))
	default:
		f.putEnum(put, f.nullable)
	}
	put(jsontext.EndObject)
}

func (f field) putEnum(put func(...jsontext.Token), null bool) {
	if f.enum == nil {
		return
	}
	put(jsontext.String("enum"), jsontext.BeginArray)
	for _, v := range f.enum {
		put(jsontext.String(v))
	}
	if null {
		put(jsontext.Null)
	}
	put(jsontext.EndArray)
}
