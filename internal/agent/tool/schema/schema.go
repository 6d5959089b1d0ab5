// Package schema describes the arguments of a tool once: the JSON Schema that the model sees and the strict check of what it sends
// are both made from it. It is pure.
package schema

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sekisho/internal/agent"
)

// Kind is the JSON type of an argument.
type Kind uint8

const (
	Text    Kind = iota // string
	Integer             // whole number
	Boolean             // true or false
	Texts               // array of strings
)

func (k Kind) String() string {
	return [...]string{"string", "integer", "boolean", "array"}[k]
}

// Field is one argument of a tool. The schema that the model sees and the check of what it sends are both made from it,
// so they cannot drift apart. Ollama drops every schema keyword but type, enum, items, description and required before
// the model sees it: limits are therefore repeated in the description.
type Field struct {
	Name        string
	Kind        Kind
	Required    bool
	Nullable    bool     // null is accepted and means absent
	Enum        []string // of a text, or of each item of texts
	Min, Max    int64    // of an integer
	Fallback    int64    // of an absent integer
	MaxBytes    int      // of a text, or of each item of texts; 0 = only the limit of the whole call
	MaxItems    int      // of texts
	Unique      bool     // items of texts differ from each other
	IsPath      bool     // not empty, no NUL
	Line        bool     // no NUL: it becomes an argument of a system call
	Description string
}

// Schema describes one tool.
type Schema struct {
	Name        string
	Description string
	Fields      []Field
}

// Spec is the tool as the model is told of it.
func (s Schema) Spec() agent.ToolSpec {
	return agent.ToolSpec{Name: s.Name, Description: s.Description, Parameters: s.Parameters()}
}

// Parameters is the JSON Schema of the arguments, with members in the order of the table: models fill them in that order.
func (s Schema) Parameters() []byte {
	var b strings.Builder
	e := jsontext.NewEncoder(&b, jsontext.Multiline(false))
	put := func(tokens ...jsontext.Token) {
		for _, t := range tokens {
			if err := e.WriteToken(t); err != nil {
				panic("tool: schema of " + s.Name + ": " + err.Error()) // the table is a constant of this package
			}
		}
	}
	str := jsontext.String
	put(jsontext.BeginObject, str("type"), str("object"), str("properties"), jsontext.BeginObject)
	for _, f := range s.Fields {
		put(str(f.Name))
		f.put(put)
	}
	put(jsontext.EndObject, str("required"), jsontext.BeginArray)
	for _, f := range s.Fields {
		if f.Required {
			put(str(f.Name))
		}
	}
	put(jsontext.EndArray, str("additionalProperties"), jsontext.False, jsontext.EndObject)
	return []byte(strings.TrimSpace(b.String()))
}

func (f Field) put(put func(...jsontext.Token)) {
	str := jsontext.String
	put(jsontext.BeginObject, str("type"))
	if f.Nullable {
		put(jsontext.BeginArray, str(f.Kind.String()), str("null"), jsontext.EndArray)
	} else {
		put(str(f.Kind.String()))
	}
	put(str("description"), str(f.Description))
	switch f.Kind {
	case Integer:
		put(str("minimum"), jsontext.Int(f.Min), str("maximum"), jsontext.Int(f.Max))
	case Texts:
		put(str("items"), jsontext.BeginObject, str("type"), str("string"))
		f.putEnum(put, false)
		put(jsontext.EndObject, str("maxItems"), jsontext.Int(int64(f.MaxItems)))
	default:
		f.putEnum(put, f.Nullable)
	}
	put(jsontext.EndObject)
}

func (f Field) putEnum(put func(...jsontext.Token), null bool) {
	if f.Enum == nil {
		return
	}
	put(jsontext.String("enum"), jsontext.BeginArray)
	for _, v := range f.Enum {
		put(jsontext.String(v))
	}
	if null {
		put(jsontext.Null)
	}
	put(jsontext.EndArray)
}
