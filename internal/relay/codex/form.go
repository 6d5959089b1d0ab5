package codex

import (
	"maps"
	"slices"
)

// FormSchema is the flat object schema of a form elicitation: one level of primitive fields.
type FormSchema struct {
	Type       formObject       `json:"type"`
	Properties map[string]Field `json:"properties"`
	Required   []string         `json:"required,omitzero"`
	Schema     string           `json:"$schema,omitzero"`
}

type formObject string

func (formObject) values() []string { return []string{"object"} }

// FieldKind says how a field is edited and validated.
type FieldKind string

// The kinds of R-INT-04.
const (
	FieldString  FieldKind = "string"
	FieldNumber  FieldKind = "number"
	FieldInteger FieldKind = "integer"
	FieldBoolean FieldKind = "boolean"
	FieldSelect  FieldKind = "select"      // one of Choices
	FieldMulti   FieldKind = "multiselect" // an array of Choices
)

// Field is one field of a form. Limits that are nil do not apply.
type Field struct {
	Kind        FieldKind
	Title       string
	Description string
	// Default is the suggested value in its JSON form; display state only, never an answer by itself.
	Default              Raw
	Choices              []Choice
	MinLength, MaxLength *int64
	Minimum, Maximum     *float64
	MinItems, MaxItems   *int64
	// Format is "", email, uri, date or date-time.
	Format string
	raw    Raw
}

// Choice is one value of a select with its label.
type Choice struct{ Value, Title string }

type constOption struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

type fieldItems struct {
	Type  string        `json:"type,omitzero"`
	Enum  []string      `json:"enum,omitzero"`
	AnyOf []constOption `json:"anyOf,omitzero"`
}

type fieldWire struct {
	Type        fieldType     `json:"type"`
	Title       string        `json:"title,omitzero"`
	Description string        `json:"description,omitzero"`
	Default     Raw           `json:"default,omitzero"`
	Enum        []string      `json:"enum,omitzero"`
	EnumNames   []string      `json:"enumNames,omitzero"`
	OneOf       []constOption `json:"oneOf,omitzero"`
	Items       *fieldItems   `json:"items,omitzero"`
	MinLength   *int64        `json:"minLength,omitzero"`
	MaxLength   *int64        `json:"maxLength,omitzero"`
	Minimum     *float64      `json:"minimum,omitzero"`
	Maximum     *float64      `json:"maximum,omitzero"`
	MinItems    *int64        `json:"minItems,omitzero"`
	MaxItems    *int64        `json:"maxItems,omitzero"`
	Format      fieldFormat   `json:"format,omitzero"`
}

type fieldType string

func (fieldType) values() []string {
	return []string{"string", "number", "integer", "boolean", "array"}
}

type fieldFormat string

func (fieldFormat) values() []string { return []string{"email", "uri", "date", "date-time"} }

// fieldMembers are all members that a field may have. A field with another one is a form that we do not understand: a
// person would fill in something that means more than what is shown.
var fieldMembers = []string{"type", "title", "description", "default", "enum", "enumNames", "oneOf", "items", "minLength", "maxLength",
	"minimum", "maximum", "minItems", "maxItems", "format"}

func decodeForm(data []byte) (*FormSchema, error) {
	object, err := Decode[map[string]Raw](data)
	if err != nil {
		return nil, err
	}
	for name := range *object {
		if !slices.Contains([]string{"type", "properties", "required", "$schema"}, name) {
			return nil, bad("requestedSchema", "has an unknown member")
		}
	}
	return Decode[FormSchema](data)
}

// MarshalJSON implements json.Marshaler: the field as the server sent it.
func (f Field) MarshalJSON() ([]byte, error) { return f.raw.MarshalJSON() }

// UnmarshalJSON implements json.Unmarshaler.
func (f *Field) UnmarshalJSON(data []byte) error {
	object, err := Decode[map[string]Raw](data)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(*object)) {
		if !slices.Contains(fieldMembers, name) {
			return bad("field", "has an unknown member")
		}
	}
	w, err := Decode[fieldWire](data)
	if err != nil {
		return err
	}
	*f = Field{Title: w.Title, Description: w.Description, Default: w.Default, MinLength: w.MinLength, MaxLength: w.MaxLength,
		Minimum: w.Minimum, Maximum: w.Maximum, MinItems: w.MinItems, MaxItems: w.MaxItems, Format: string(w.Format), raw: slices.Clone(data)}
	switch {
	case w.Type == "array" && w.Items == nil:
		return bad("field.items", "is missing")
	case w.Type == "array" && (w.Items.Enum == nil) == (w.Items.AnyOf == nil):
		return bad("field.items", "is neither a list of values nor of titled values")
	case w.Type == "array":
		f.Kind, f.Choices = FieldMulti, append(plain(w.Items.Enum, nil), titled(w.Items.AnyOf)...)
	case w.Type == "string" && w.OneOf != nil && w.Enum != nil:
		return bad("field", "has two lists of values")
	case w.Type == "string" && w.OneOf != nil:
		f.Kind, f.Choices = FieldSelect, titled(w.OneOf)
	case w.Type == "string" && w.Enum != nil:
		f.Kind, f.Choices = FieldSelect, plain(w.Enum, w.EnumNames)
	default:
		f.Kind = FieldKind(w.Type)
	}
	return nil
}

func plain(values, names []string) []Choice {
	choices := make([]Choice, 0, len(values))
	for i, v := range values {
		title := v
		if i < len(names) {
			title = names[i]
		}
		choices = append(choices, Choice{v, title})
	}
	return choices
}

func titled(options []constOption) []Choice {
	choices := make([]Choice, 0, len(options))
	for _, o := range options {
		choices = append(choices, Choice{o.Const, o.Title})
	}
	return choices
}
