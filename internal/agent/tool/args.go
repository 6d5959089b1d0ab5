package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sekisho/internal/fault"
	"sekisho/internal/strictjson"
)

// maxArguments bounds the arguments of one call in bytes: two maximal texts of file_edit, escaped, and the rest.
const maxArguments = 16 << 20

// values are arguments that agree with a schema. Absent and null members are missing, but an integer has its fallback.
type values map[string]any // string, int64, bool or []string

func (v values) text(name string) string    { s, _ := v[name].(string); return s }
func (v values) integer(name string) int64  { n, _ := v[name].(int64); return n }
func (v values) texts(name string) []string { l, _ := v[name].([]string); return l }

// optional is the text, or nil when it is absent.
func (v values) optional(name string) *string {
	if s, ok := v[name].(string); ok {
		return &s
	}
	return nil
}

func (v values) flag(name string) *bool {
	if b, ok := v[name].(bool); ok {
		return &b
	}
	return nil
}

// problems collects what is wrong with the arguments, by field.
type problems struct{ fields, texts []string }

func (p *problems) add(field, format string, args ...any) {
	p.fields = append(p.fields, field)
	p.texts = append(p.texts, field+": "+fmt.Sprintf(format, args...))
}

// err is nil without problems. Target lists the fields; the cause is the text for the model.
func (p *problems) err() error {
	if len(p.texts) == 0 {
		return nil
	}
	return fault.New(fault.ToolArgumentsInvalid, fault.Target(strings.Join(p.fields, ", ")), fault.Cause(errors.New(strings.Join(p.texts, "; "))))
}

// decode checks raw against the schema: one object, no unknown or repeated member, exact types, enums, ranges, sizes. All
// problems are reported at once.
func (s schema) decode(raw json.RawMessage) (values, error) {
	var members map[string]json.RawMessage
	if err := strictjson.Unmarshal(raw, maxArguments, &members); err != nil || members == nil {
		var p problems
		switch {
		case errors.Is(err, strictjson.ErrTooLarge):
			p.add("arguments", "more than %d bytes", maxArguments)
		case err != nil:
			p.add("arguments", "not one valid JSON object without repeated members")
		default:
			p.add("arguments", "must be a JSON object, not null")
		}
		return nil, p.err()
	}
	var p problems
	out := values{}
	for _, f := range s.fields {
		m, ok := members[f.name]
		delete(members, f.name)
		switch {
		case !ok && f.required:
			p.add(f.name, "required but missing")
		case !ok, f.nullable && bytes.Equal(m, []byte("null")):
			if f.kind == integer {
				out[f.name] = f.fallback
			}
		default:
			if v, problem := f.decode(m); problem != "" {
				p.add(f.name, "%s", problem)
			} else {
				out[f.name] = v
			}
		}
	}
	for _, name := range sortedKeys(members) {
		p.add(`"`+clip(oneLine(name), 40)+`"`, "unknown argument; known are %s", s.fieldNames())
	}
	return out, p.err()
}

func (s schema) fieldNames() string {
	var names []string
	for _, f := range s.fields {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

// decode returns the value of one member, or what is wrong with it.
func (f field) decode(m json.RawMessage) (value any, problem string) {
	switch f.kind {
	case text:
		var s string
		if m[0] != '"' || strictjson.Unmarshal(m, maxArguments, &s) != nil {
			return nil, "must be " + f.wanted()
		}
		return s, f.checkText(s)
	case integer:
		n, ok := wholeNumber(string(m))
		if !ok || n < f.min || n > f.max {
			return nil, fmt.Sprintf("must be a whole number from %d to %d", f.min, f.max)
		}
		return n, ""
	case boolean:
		if s := string(m); s == "true" || s == "false" {
			return s == "true", ""
		}
		return nil, "must be " + f.wanted()
	default:
		return f.decodeTexts(m)
	}
}

func (f field) decodeTexts(m json.RawMessage) (any, string) {
	var items []json.RawMessage
	if m[0] != '[' || strictjson.Unmarshal(m, maxArguments, &items) != nil {
		return nil, "must be an array of strings"
	}
	if len(items) > f.maxItems {
		return nil, fmt.Sprintf("has %d items, at most %d are allowed", len(items), f.maxItems)
	}
	list := make([]string, 0, len(items))
	for i, item := range items {
		one := field{kind: text, enum: f.enum, maxBytes: f.maxBytes, isPath: f.isPath, line: f.line}
		s, problem := one.decode(item)
		if problem != "" {
			return nil, fmt.Sprintf("item %d %s", i, problem)
		}
		if f.unique && slices.Contains(list, s.(string)) {
			return nil, fmt.Sprintf("item %d repeats an earlier one", i)
		}
		list = append(list, s.(string))
	}
	return list, ""
}

func (f field) checkText(s string) string {
	switch {
	case f.enum != nil && !slices.Contains(f.enum, s):
		return "must be " + f.wanted()
	case f.maxBytes > 0 && len(s) > f.maxBytes:
		return fmt.Sprintf("is %d bytes long, at most %d are allowed", len(s), f.maxBytes)
	case f.isPath && s == "":
		return "must not be empty"
	case (f.isPath || f.line) && strings.ContainsRune(s, 0):
		return "must not contain a NUL character"
	}
	return ""
}

// wanted names the accepted values.
func (f field) wanted() string {
	s := "a " + f.kind.String()
	if f.enum != nil {
		s = "one of " + strings.Join(f.enum, ", ")
	}
	if f.kind == boolean {
		s = "true or false"
	}
	if f.nullable {
		s += " or null"
	}
	return s
}

// wholeNumber reads a JSON number whose value is an integer; 100.0 and 1e2 are 100 to every JSON reader.
func wholeNumber(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	if s == "" || (s[0] != '-' && (s[0] < '0' || s[0] > '9')) {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}
