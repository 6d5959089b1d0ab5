package contract

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sekisho/internal/strictjson"
)

// maxBundle bounds a generated bundle; the largest real one has 1.3 MB.
const maxBundle = 32 << 20

// node is one JSON Schema: an object, or a boolean.
type node = any

// Schema is a parsed bundle: types by name, and per direction the methods with their params.
type Schema struct {
	types         map[string]node
	Requests      map[string]node // client → server; the params' schema, nil for none
	ServerReqs    map[string]node
	Notifications map[string]node // server → client
	ClientNotes   map[string]node
}

// ParseSchema reads the generator's bundle.
func ParseSchema(data []byte) (*Schema, error) {
	var root struct {
		Definitions map[string]any `json:"definitions"`
	}
	if err := strictjson.UnmarshalOpen(data, maxBundle, &root); err != nil {
		return nil, fmt.Errorf("reading the schema bundle: %w", err)
	}
	s := &Schema{types: map[string]node{}}
	for name, t := range root.Definitions {
		if name != "v2" {
			s.types[name] = t
		}
	}
	v2, ok := root.Definitions["v2"].(map[string]any)
	if !ok {
		return nil, errors.New("the schema bundle has no definitions/v2")
	}
	maps.Copy(s.types, v2) // the two that are in both are equal
	for name, into := range map[string]*map[string]node{"ClientRequest": &s.Requests, "ServerRequest": &s.ServerReqs,
		"ServerNotification": &s.Notifications, "ClientNotification": &s.ClientNotes} {
		methods, err := methodsOf(s.types[name])
		if err != nil {
			return nil, fmt.Errorf("reading %s of the schema bundle: %w", name, err)
		}
		*into = methods
	}
	return s, nil
}

func methodsOf(t node) (map[string]node, error) {
	object, _ := t.(map[string]any)
	list, ok := object["oneOf"].([]any)
	if !ok {
		return nil, errors.New("no list of methods")
	}
	methods := map[string]node{}
	for _, e := range list {
		props := child(e, "properties")
		names := strs(child(child(props, "method"), "enum"))
		if len(names) != 1 {
			return nil, errors.New("an entry without one method name")
		}
		methods[names[0]] = child(props, "params")
	}
	return methods, nil
}

// Type returns a type by name.
func (s *Schema) Type(name string) (node, bool) {
	t, ok := s.types[name]
	return t, ok
}

// resolve follows references and single-element allOf to the schema that says something, and names the last type.
func (s *Schema) resolve(n node) (node, string) {
	name := ""
	for range 32 {
		if r := refName(n); r != "" {
			n, name = s.types[r], r
			continue
		}
		if all, ok := child(n, "allOf").([]any); ok && len(all) == 1 && child(n, "properties") == nil {
			n = all[0]
			continue
		}
		break
	}
	return n, name
}

func refName(n node) string {
	ref, _ := child(n, "$ref").(string)
	return ref[strings.LastIndexByte(ref, '/')+1:]
}

// alternatives are the branches of oneOf or anyOf.
func alternatives(n node) []any {
	for _, key := range []string{"oneOf", "anyOf"} {
		if list, ok := child(n, key).([]any); ok {
			return list
		}
	}
	return nil
}

func child(n node, key string) any {
	object, _ := n.(map[string]any)
	return object[key]
}

func strs(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// typesOf is the "type" keyword as a list.
func typesOf(n node) []string {
	if s, ok := child(n, "type").(string); ok {
		return []string{s}
	}
	return strs(child(n, "type"))
}

func sortedKeys(v any) []string {
	object, _ := v.(map[string]any)
	return slices.Sorted(maps.Keys(object))
}
