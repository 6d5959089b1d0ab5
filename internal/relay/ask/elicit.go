package ask

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"sekisho/internal/fault"
	"sekisho/internal/relay/codex"
	"sekisho/internal/visible"
)

func projectElicitation(c *Card, r *codex.Elicitation) *refusal {
	refuse := func(variant string) *refusal {
		return (&refusal{reason: fault.New(fault.RequestRefused, fault.Variant(variant), fault.Target(visible.Line(r.ServerName, 100)))}).decline()
	}
	switch r.Mode {
	case codex.ModeForm:
	case codex.ModeURL:
		return refuse("url")
	case codex.ModeUserVerification:
		return refuse("verification")
	default:
		return refuse("form")
	}
	if r.Approval != nil {
		// Fields would ask for more than a yes: that is no approval that this version knows.
		if len(r.RequestedSchema.Properties) > 0 {
			return refuse("approval")
		}
		c.Kind, c.Tool, c.Choices = ToolCard, toolView(r), toolChoices(r.Approval.Persist)
		return nil
	}
	c.Kind = FormCard
	c.Form = &FormView{Server: literal(r.ServerName), Message: literal(r.Message), Fields: []FieldView{}}
	for i, name := range fieldNames(r.RequestedSchema) {
		c.Form.Fields = append(c.Form.Fields, fieldView(strconv.Itoa(i), name, r.RequestedSchema))
	}
	return nil
}

func toolView(r *codex.Elicitation) *ToolView {
	v := &ToolView{Server: literal(r.ServerName), Message: literal(r.Message), Approval: literal(r.Approval.Kind), Description: optional(r.Approval.Description)}
	if len(r.Approval.Params) > 0 {
		p := literal(string(r.Approval.Params))
		v.Params = &p
	}
	return v
}

// Kinds of the choices of a tool approval.
const (
	toolAccept  = "accept"
	toolSession = "acceptSession"
	toolAlways  = "acceptAlways"
	toolDecline = "decline"
	toolCancel  = "cancel"
)

// persists maps the choices that outlast the call to the server's names.
var persists = map[string]string{toolSession: "session", toolAlways: "always"}

// toolChoices are this call, the lasting forms that the server offers, and no.
func toolChoices(persist []string) []Choice {
	kinds := []string{toolAccept}
	for _, kind := range []string{toolSession, toolAlways} {
		if slices.Contains(persist, persists[kind]) {
			kinds = append(kinds, kind)
		}
	}
	list := []Choice{}
	for i, kind := range append(kinds, toolDecline, toolCancel) {
		list = append(list, Choice{ID: strconv.Itoa(i), Kind: kind, Accepts: kind != toolDecline && kind != toolCancel, ChangesRules: kind == toolAlways})
	}
	return list
}

// fieldNames orders the fields: required ones as the server lists them, then the rest by name.
func fieldNames(s *codex.FormSchema) []string {
	names := slices.Collect(maps.Keys(s.Properties))
	rank := func(name string) int {
		if i := slices.Index(s.Required, name); i >= 0 {
			return i
		}
		return len(s.Required)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	return names
}

func fieldView(id, name string, s *codex.FormSchema) FieldView {
	f := s.Properties[name]
	v := FieldView{ID: id, Name: literal(name), Title: optional(f.Title), Description: optional(f.Description), Kind: string(f.Kind),
		Required: slices.Contains(s.Required, name), MinLength: f.MinLength, MaxLength: f.MaxLength, Minimum: f.Minimum, Maximum: f.Maximum,
		MinItems: f.MinItems, MaxItems: f.MaxItems, Format: f.Format}
	for i, ch := range f.Choices {
		v.Options = append(v.Options, OptionView{strconv.Itoa(i), literal(ch.Title), literal(ch.Value)})
	}
	if value, ok := suggestion(f); ok {
		v.Default = value
	}
	return v
}

// suggestion is the default of a field as a value of an answer; a default that would not be accepted is none.
func suggestion(f codex.Field) (codex.Raw, bool) {
	if len(f.Default) == 0 || string(f.Default) == "null" {
		return nil, false
	}
	index := func(value string) string {
		return strconv.Itoa(slices.IndexFunc(f.Choices, func(c codex.Choice) bool { return c.Value == value }))
	}
	raw := f.Default
	switch f.Kind {
	case codex.FieldSelect:
		one, err := codex.Decode[string](raw)
		if err != nil {
			return nil, false
		}
		raw, _ = codex.Encode(index(*one))
	case codex.FieldMulti:
		many, err := codex.Decode[[]string](raw)
		if err != nil {
			return nil, false
		}
		ids := []string{}
		for _, value := range *many {
			ids = append(ids, index(value))
		}
		raw, _ = codex.Encode(ids)
	}
	if _, err := fieldValue("", f, raw); err != nil {
		return nil, false
	}
	return raw, true
}
