package ask

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sekisho/internal/fault"
	"sekisho/internal/relay/codex"
	"sekisho/internal/visible"
)

func invalid(variant, target string, detail ...any) *fault.Error {
	return fault.New(fault.AnswerInvalid, fault.Variant(variant), fault.Target(visible.Line(target, 100)), fault.Arg("detail", fmt.Sprint(detail...)))
}

// content validates the values of a form and returns them in the server's terms (R-INT-04). Fields that are not required
// may be left out.
func content(s *codex.FormSchema, values map[string]json.RawMessage) (codex.Raw, error) {
	names := fieldNames(s)
	out := map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(values)) {
		raw := values[id]
		i, err := strconv.Atoi(id)
		if err != nil || i < 0 || i >= len(names) || strconv.Itoa(i) != id {
			return nil, invalid("not_asked", "field "+id)
		}
		v, err := fieldValue(names[i], s.Properties[names[i]], raw)
		if err != nil {
			return nil, err
		}
		out[names[i]] = v
	}
	for _, name := range s.Required {
		if _, ok := out[name]; !ok {
			return nil, invalid("required", name)
		}
	}
	return codex.Encode(out)
}

func fieldValue(name string, f codex.Field, raw json.RawMessage) (any, error) {
	if strings.TrimSpace(string(raw)) == "null" { // which decodes into anything
		return nil, invalid("type", name)
	}
	switch f.Kind {
	case codex.FieldString:
		s, err := codex.Decode[string](raw)
		if err != nil {
			return nil, invalid("type", name)
		}
		return *s, checkString(name, f, *s)
	case codex.FieldNumber, codex.FieldInteger:
		return number(name, f, raw)
	case codex.FieldBoolean:
		b, err := codex.Decode[bool](raw)
		if err != nil {
			return nil, invalid("type", name)
		}
		return *b, nil
	case codex.FieldSelect:
		id, err := codex.Decode[string](raw)
		if err != nil {
			return nil, invalid("type", name)
		}
		return option(name, f.Choices, *id)
	case codex.FieldMulti:
		ids, err := codex.Decode[[]string](raw)
		if err != nil {
			return nil, invalid("type", name)
		}
		return options(name, f, *ids)
	}
	return nil, invalid("type", name)
}

func checkString(name string, f codex.Field, s string) error {
	if n := int64(utf8.RuneCountInString(s)); f.MinLength != nil && n < *f.MinLength || f.MaxLength != nil && n > *f.MaxLength {
		return invalid("length", name, limits(f.MinLength, f.MaxLength))
	}
	if f.Format != "" && !formatted(f.Format, s) {
		return invalid("format", name, f.Format)
	}
	return nil
}

// dateTime is the form of RFC 3339; time.Parse also takes hours of one digit, a comma and zones a day off.
var dateTime = regexp.MustCompile(`^[0-9-]{10}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)

func formatted(format, s string) bool {
	switch format {
	case "email":
		local, domain, ok := strings.Cut(s, "@")
		return ok && local != "" && domain != "" && !strings.ContainsAny(s, " \t\r\n<>()[],;:\"\\") && !strings.Contains(domain, "@") &&
			!strings.HasPrefix(domain, ".") && !strings.HasSuffix(domain, ".") && !strings.Contains(domain, "..")
	case "uri":
		u, err := url.Parse(s)
		return err == nil && u.Scheme != "" && (u.Host != "" || u.Opaque != "" || u.Path != "") && !strings.ContainsAny(s, " \t\r\n")
	case "date":
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	case "date-time":
		_, err := time.Parse(time.RFC3339, s)
		return err == nil && dateTime.MatchString(s)
	}
	return false
}

func number(name string, f codex.Field, raw json.RawMessage) (any, error) {
	n, err := codex.Decode[float64](raw)
	if err != nil || math.IsInf(*n, 0) || math.IsNaN(*n) {
		return nil, invalid("type", name)
	}
	if f.Minimum != nil && *n < *f.Minimum || f.Maximum != nil && *n > *f.Maximum {
		return nil, invalid("range", name, limits(f.Minimum, f.Maximum))
	}
	if f.Kind == codex.FieldNumber {
		return *n, nil
	}
	if *n != math.Trunc(*n) || math.Abs(*n) > 1<<53 {
		return nil, invalid("type", name)
	}
	return int64(*n), nil
}

func option(name string, choices []codex.Choice, id string) (string, error) {
	i, err := strconv.Atoi(id)
	if err != nil || i < 0 || i >= len(choices) || strconv.Itoa(i) != id {
		return "", invalid("choice", name)
	}
	return choices[i].Value, nil
}

func options(name string, f codex.Field, ids []string) ([]string, error) {
	values := []string{}
	for i, id := range ids {
		v, err := option(name, f.Choices, id)
		if err != nil {
			return nil, err
		}
		if slices.Contains(ids[:i], id) {
			return nil, invalid("choice", name)
		}
		values = append(values, v)
	}
	if n := int64(len(values)); f.MinItems != nil && n < *f.MinItems || f.MaxItems != nil && n > *f.MaxItems {
		return nil, invalid("count", name, limits(f.MinItems, f.MaxItems))
	}
	return values, nil
}

// limits writes a range for people: 2..10, ≥ 2, ≤ 10.
func limits[N int64 | float64](low, high *N) string {
	switch {
	case low != nil && high != nil:
		return fmt.Sprintf("%v..%v", *low, *high)
	case low != nil:
		return fmt.Sprintf("≥ %v", *low)
	case high != nil:
		return fmt.Sprintf("≤ %v", *high)
	}
	return ""
}
