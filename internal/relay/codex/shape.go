package codex

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"sekisho/internal/relay"
	"sekisho/internal/strictjson"
)

// Variants is a tagged union: the name of the member that selects, and per value of it the members that are required.
type Variants struct {
	Tag      string
	Required map[string][]string
	// Sends lists, per variant that this client sends, the members that it always sets. Nil: what Required says.
	Sends map[string][]string
	// Open tolerates a value that is not listed. A union inside something that a person approves is never open.
	Open bool
}

type enumeration interface{ values() []string }
type union interface{ variants() Variants }

// A type with its own UnmarshalJSON checks itself there.
var selfChecked = reflect.TypeFor[json.Unmarshaler]()

// member is one member of a struct type, as its tag says.
type member struct {
	name     string
	index    int
	optional bool
	nullable bool
	typ      reflect.Type
}

var membersOf sync.Map // reflect.Type → []member

func members(t reflect.Type) []member {
	if m, ok := membersOf.Load(t); ok {
		return m.([]member)
	}
	var ms []member
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			ms = append(ms, members(f.Type)...)
			continue
		}
		if name == "-" || !f.IsExported() {
			continue
		}
		optional := slices.Contains(strings.Split(opts, ","), "omitzero")
		ms = append(ms, member{name: name, index: i, optional: optional, nullable: optional || f.Type.Kind() == reflect.Pointer, typ: f.Type})
	}
	membersOf.Store(t, ms)
	return ms
}

func decodeInto(data []byte, v any) error {
	tree, err := parse(data)
	if err != nil {
		return err
	}
	return decodeTree(tree, data, v)
}

func parse(data []byte) (tree any, err error) {
	if err := strictjson.UnmarshalOpen(data, MaxMessage, &tree); err != nil {
		return nil, fmt.Errorf("%w: not one JSON value", ErrBadParams)
	}
	return tree, nil
}

// decodeTree checks tree, which is data parsed, against the type of v and decodes data into it.
func decodeTree(tree any, data []byte, v any) error {
	t := reflect.TypeOf(v).Elem()
	if err := check(t, tree, t.Name()); err != nil {
		return err
	}
	if err := strictjson.UnmarshalOpen(data, MaxMessage, v); err != nil {
		return fmt.Errorf("%w: %s: a member has the wrong type", ErrBadParams, t.Name())
	}
	boundIn(reflect.ValueOf(v).Elem())
	return nil
}

// check walks the type and the value together: presence, null, enumerations, unions. Plain types are left to the decoder.
func check(t reflect.Type, v any, at string) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	zero := reflect.Zero(t).Interface()
	if reflect.PointerTo(t).Implements(selfChecked) || t.Kind() == reflect.Interface {
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		if e, ok := zero.(enumeration); ok {
			if s, isString := v.(string); !isString || !slices.Contains(e.values(), s) {
				return bad(at, "is none of the known values")
			}
		}
		if s, isString := v.(string); isString && len(s) > relay.MaxID && slices.Contains(idTypes, t) {
			return bad(at, "is too long")
		}
	case reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			return bad(at, "is not an array")
		}
		for _, e := range list {
			if e == nil && t.Elem().Kind() != reflect.Pointer && t.Elem() != rawType {
				return bad(at, "has a null element")
			}
			if err := check(t.Elem(), e, at+"[]"); err != nil {
				return err
			}
		}
	case reflect.Map:
		object, ok := v.(map[string]any)
		if !ok {
			return bad(at, "is not an object")
		}
		for _, e := range object {
			if e == nil && t.Elem().Kind() != reflect.Pointer && t.Elem() != rawType {
				return bad(at, "has a null member")
			}
			if err := check(t.Elem(), e, at+"{}"); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return checkStruct(t, zero, v, at)
	}
	return nil
}

func checkStruct(t reflect.Type, zero, v any, at string) error {
	object, ok := v.(map[string]any)
	if !ok {
		return bad(at, "is not an object")
	}
	for _, m := range members(t) {
		value, present := object[m.name]
		switch {
		case !present && !m.optional:
			return bad(at+"."+m.name, "is missing")
		case !present || value == nil && m.nullable:
			continue
		case value == nil && m.typ == rawType:
			continue // null is a value of "anything"
		case value == nil:
			return bad(at+"."+m.name, "is null")
		}
		if err := check(m.typ, value, at+"."+m.name); err != nil {
			return err
		}
	}
	u, ok := zero.(union)
	if !ok {
		return nil
	}
	vs := u.variants()
	tag, _ := object[vs.Tag].(string)
	required, known := vs.Required[tag]
	if !known && !vs.Open {
		return bad(at+"."+vs.Tag, "is none of the known values")
	}
	for _, name := range required {
		if value, present := object[name]; !present || value == nil {
			return bad(at+"."+name, "is missing")
		}
	}
	return nil
}

var (
	rawType = reflect.TypeFor[Raw]()
	// idTypes are the identifiers that are kept and repeated; one above relay.MaxID is malformed.
	idTypes = []reflect.Type{reflect.TypeFor[relay.ThreadID](), reflect.TypeFor[relay.TurnID](), reflect.TypeFor[relay.ItemID]()}
)

func bad(at, what string) error { return fmt.Errorf("%w: %s %s", ErrBadParams, at, what) }
