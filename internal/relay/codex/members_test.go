package codex

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"sekisho/internal/relay"
)

// sample is the smallest value of a type: required members only.
func sample(t reflect.Type) any {
	switch t {
	case reflect.TypeFor[Item]():
		return map[string]any{"type": "plan", "id": "i", "text": "t"}
	case reflect.TypeFor[relay.RequestID]():
		return 0
	case rawType:
		return map[string]any{}
	}
	if values, ok := ValuesOf(t); ok {
		return values[0]
	}
	switch t.Kind() {
	case reflect.Pointer:
		return sample(t.Elem())
	case reflect.String:
		return "x"
	case reflect.Bool:
		return true
	case reflect.Slice:
		return []any{sample(t.Elem())}
	case reflect.Map:
		return map[string]any{"k": sample(t.Elem())}
	case reflect.Struct:
		object := map[string]any{}
		vs, isUnion := VariantsOf(t)
		var variant string
		if isUnion {
			variant = slices.Sorted(maps.Keys(vs.Required))[0]
		}
		for _, m := range MembersOf(t) {
			if !m.Optional || slices.Contains(vs.Required[variant], m.Name) {
				object[m.Name] = sample(m.Type)
			}
		}
		if isUnion {
			object[vs.Tag] = variant
		}
		return object
	}
	return 1
}

// Every result and every notification in use: the smallest value is accepted; without any one required member, or with it
// null, it is not; an optional member may be absent or null; more members do no harm.
//
// proves R-CON-03
func TestEveryResultAndNotificationShape(t *testing.T) {
	type shape struct {
		name   string
		typ    reflect.Type
		decode func([]byte) error
	}
	var shapes []shape
	for _, m := range Methods() {
		shapes = append(shapes, shape{"result of " + m.Name, m.Result, func(data []byte) error { return DecodeResult(data, reflect.New(m.Result).Interface()) }})
	}
	for _, n := range Notifications() {
		shapes = append(shapes, shape{n.Name, n.Params, func(data []byte) error { _, err := DecodeNotification(n.Name, data); return err }})
	}
	checks := 0
	for _, s := range shapes {
		whole, err := json.Marshal(sample(s.typ))
		if err != nil {
			t.Fatal(err)
		}
		try := func(what string, data []byte, ok bool) {
			t.Helper()
			checks++
			if err := s.decode(data); ok != (err == nil) || err != nil && !errors.Is(err, ErrBadParams) {
				t.Errorf("%s %s: %v\n%s", s.name, what, err, data)
			}
		}
		try("smallest", whole, true)
		try("with another member", without(t, string(whole), "addedLater", []any{1}), true)
		for _, data := range []string{`null`, `[]`, `"x"`, `1`, ``, `{`} {
			try("as "+data, []byte(data), false)
		}
		for _, m := range MembersOf(s.typ) {
			// An optional member is in the smallest value only if its variant requires it.
			_, required := sample(s.typ).(map[string]any)[m.Name]
			try("without "+m.Name, without(t, string(whole), m.Name, nil), !required)
			try(m.Name+" null", without(t, string(whole), m.Name, json.RawMessage("null")), !required || m.Type == rawType || m.Nullable && !m.Optional)
			if m.Type != rawType && m.Type != reflect.TypeFor[[]Raw]() {
				try(m.Name+" of another type", without(t, string(whole), m.Name, [][]any{{[]any{}}}), false)
			}
		}
	}
	if checks < 600 {
		t.Errorf("only %d checks", checks)
	}
}
