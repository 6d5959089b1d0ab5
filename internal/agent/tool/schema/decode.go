package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"sekisho/internal/agent/tool/charset"
	"sekisho/internal/fault"
	"sekisho/internal/strictjson"
)

// maxArguments bounds the arguments of one call in bytes: two maximal texts of file_edit, escaped, and the rest.
const maxArguments = 16 << 20

// Values are arguments that agree with a schema. Absent and null members are missing, but an integer has its fallback.
type Values map[string]any // string, int64, bool or []string

// Text is the string of a member, "" when it is absent.
func (v Values) Text(name string) string { s, _ := v[name].(string); return s }

// Integer is the number of a member.
func (v Values) Integer(name string) int64 { n, _ := v[name].(int64); return n }

// Texts are the strings of a member, nil when it is absent.
func (v Values) Texts(name string) []string { l, _ := v[name].([]string); return l }

// Optional is the text, or nil when it is absent.
func (v Values) Optional(name string) *string {
	if s, ok := v[name].(string); ok {
		return &s
	}
	return nil
}

// Flag is the truth of a member, nil when it is absent.
func (v Values) Flag(name string) *bool {
	if b, ok := v[name].(bool); ok {
		return &b
	}
	return nil
}

// Problems collects what is wrong with the arguments, by field.
type Problems struct{ fields, texts []string }

// Add tells what is wrong with one field.
func (p *Problems) Add(field, format string, args ...any) {
	p.fields = append(p.fields, field)
	p.texts = append(p.texts, field+": "+fmt.Sprintf(format, args...))
}

// Err is nil without problems. Target lists the fields; the cause is the text for the model.
func (p *Problems) Err() error {
	if len(p.texts) == 0 {
		return nil
	}
	return fault.New(fault.ToolArgumentsInvalid, fault.Target(strings.Join(p.fields, ", ")), fault.Cause(errors.New(strings.Join(p.texts, "; "))))
}

// Decode checks raw against the schema: one object, no unknown or repeated member, exact types, enums, ranges, sizes. All
// problems are reported at once.
func (s Schema) Decode(raw json.RawMessage) (Values, error) {
	var members map[string]json.RawMessage
	if err := strictjson.Unmarshal(raw, maxArguments, &members); err != nil || members == nil {
		var p Problems
		switch {
		case errors.Is(err, strictjson.ErrTooLarge):
			p.Add("arguments", "more than %d bytes", maxArguments)
		case err != nil:
			p.Add("arguments", "not one valid JSON object without repeated members")
		default:
			p.Add("arguments", "must be a JSON object, not null")
		}
		return nil, p.Err()
	}
	var p Problems
	out := Values{}
	for _, f := range s.Fields {
		m, ok := members[f.Name]
		delete(members, f.Name)
		switch {
		case !ok && f.Required:
			p.Add(f.Name, "required but missing")
		case !ok, f.Nullable && bytes.Equal(m, []byte("null")):
			if f.Kind == Integer {
				out[f.Name] = f.Fallback
			}
		default:
			if v, problem := f.decode(m); problem != "" {
				p.Add(f.Name, "%s", problem)
			} else {
				out[f.Name] = v
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		p.Add(`"`+charset.Clip(charset.OneLine(name), 40)+`"`, "unknown argument; known are %s", s.fieldNames())
	}
	return out, p.Err()
}

func (s Schema) fieldNames() string {
	var names []string
	for _, f := range s.Fields {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// decode returns the value of one member, or what is wrong with it.
func (f Field) decode(m json.RawMessage) (value any, problem string) {
	switch f.Kind {
	case Text:
		var s string
		if m[0] != '"' || strictjson.Unmarshal(m, maxArguments, &s) != nil {
			return nil, "must be " + f.wanted()
		}
		return s, f.checkText(s)
	case Integer:
		n, ok := wholeNumber(string(m))
		if !ok || n < f.Min || n > f.Max {
			return nil, fmt.Sprintf("must be a whole number from %d to %d", f.Min, f.Max)
		}
		return n, ""
	case Boolean:
		if s := string(m); s == "true" || s == "false" {
			return s == "true", ""
		}
		return nil, "must be " + f.wanted()
	default:
		return f.decodeTexts(m)
	}
}

func (f Field) decodeTexts(m json.RawMessage) (any, string) {
	var items []json.RawMessage
	if m[0] != '[' || strictjson.Unmarshal(m, maxArguments, &items) != nil {
		return nil, "must be an array of strings"
	}
	if len(items) > f.MaxItems {
		return nil, fmt.Sprintf("has %d items, at most %d are allowed", len(items), f.MaxItems)
	}
	list := make([]string, 0, len(items))
	for i, item := range items {
		one := Field{Kind: Text, Enum: f.Enum, MaxBytes: f.MaxBytes, IsPath: f.IsPath, Line: f.Line}
		s, problem := one.decode(item)
		if problem != "" {
			return nil, fmt.Sprintf("item %d %s", i, problem)
		}
		if f.Unique && slices.Contains(list, s.(string)) {
			return nil, fmt.Sprintf("item %d repeats an earlier one", i)
		}
		list = append(list, s.(string))
	}
	return list, ""
}

func (f Field) checkText(s string) string {
	switch {
	case f.Enum != nil && !slices.Contains(f.Enum, s):
		return "must be " + f.wanted()
	case f.MaxBytes > 0 && len(s) > f.MaxBytes:
		return fmt.Sprintf("is %d bytes long, at most %d are allowed", len(s), f.MaxBytes)
	case f.IsPath && s == "":
		return "must not be empty"
	case (f.IsPath || f.Line) && strings.ContainsRune(s, 0):
		return "must not contain a NUL character"
	}
	return ""
}

// wanted names the accepted values.
func (f Field) wanted() string {
	s := "a " + f.Kind.String()
	if f.Enum != nil {
		s = "one of " + strings.Join(f.Enum, ", ")
	}
	if f.Kind == Boolean {
		s = "true or false"
	}
	if f.Nullable {
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
