package contract

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"sekisho/internal/fileop"
	"sekisho/internal/relay/codex"
	"sekisho/internal/strictjson"
)

// Validator checks messages against a generated contract, so that a fake can say nothing that the real server would not.
// It is safe for concurrent use.
type Validator struct{ s *Schema }

// ErrInvalid reports a message that the contract does not allow; the text says where.
var ErrInvalid = errors.New("not allowed by the contract")

// ErrNoMethod reports a method that the contract does not have in that direction.
var ErrNoMethod = errors.New("no such method in the contract")

// NewValidator checks against s.
func NewValidator(s *Schema) *Validator { return &Validator{s} }

// Validator returns the validator of a cached surface; one that is not there is contract.not_generated.
func (c *Cache) Validator(version string, surface codex.Surface) (*Validator, error) {
	s, err := c.Schema(version, surface)
	if err != nil {
		return nil, err
	}
	return NewValidator(s), nil
}

// LoadValidator is Cache.Validator of the user's cache: what a fake calls. `make contract` fills the cache.
func LoadValidator(version string, surface codex.Surface) (*Validator, error) {
	m, err := Load()
	if err != nil {
		return nil, err
	}
	root, err := CacheRoot()
	if err != nil {
		return nil, err
	}
	return OpenCache(fileop.OS(), root, m).Validator(version, surface)
}

// Params checks the params of a request or notification; empty params are null.
func (v *Validator) Params(d Direction, method string, params []byte) error {
	schema, ok := v.s.methods(d)[method]
	if !ok {
		return fmt.Errorf("%w: %s %s", ErrNoMethod, d, method)
	}
	return v.check(schema, params, method+" params")
}

// Result checks the result of a call, or the client's answer to a server request. A method whose result has no type in the
// bundle is not checked beyond being JSON.
func (v *Validator) Result(d Direction, method string, result []byte) error {
	if !v.s.has(d, method) {
		return fmt.Errorf("%w: %s %s", ErrNoMethod, d, method)
	}
	var schema node = true
	if name := v.s.resultName(d, method); name != "" {
		schema = v.s.types[name]
	}
	return v.check(schema, result, method+" result")
}

func (v *Validator) check(schema node, data []byte, at string) error {
	var value any
	if len(data) > 0 {
		if err := strictjson.UnmarshalOpen(data, codex.MaxMessage, &value); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrInvalid, at, err)
		}
	}
	if schema == nil {
		schema = map[string]any{"type": []any{"null", "object"}}
	}
	if err := v.value(schema, value, at, 0); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

// value is the subset of JSON Schema draft 7 that the generator uses.
func (v *Validator) value(schema node, value any, at string, depth int) error {
	if depth > 4*strictjson.MaxDepth {
		return fmt.Errorf("%s: the schema refers to itself without end", at)
	}
	if b, ok := schema.(bool); ok {
		if !b {
			return fmt.Errorf("%s: nothing is allowed here", at)
		}
		return nil
	}
	object, ok := schema.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: no schema", at)
	}
	if name := refName(schema); name != "" {
		if t, ok := v.s.types[name]; ok {
			return v.value(t, value, at, depth+1)
		}
		return fmt.Errorf("%s: the schema has no type %s", at, name)
	}
	if types := typesOf(schema); types != nil && !slices.ContainsFunc(types, func(t string) bool { return isOf(t, value) }) {
		return fmt.Errorf("%s: not of type %v", at, types)
	}
	if list, ok := object["enum"].([]any); ok && !slices.ContainsFunc(list, func(e any) bool { return e == value }) {
		return fmt.Errorf("%s: none of the listed values", at)
	}
	if err := limits(object, value, at); err != nil {
		return err
	}
	if err := v.combined(object, value, at, depth); err != nil {
		return err
	}
	switch value := value.(type) {
	case map[string]any:
		return v.object(object, value, at, depth)
	case []any:
		if items := object["items"]; items != nil {
			for i, e := range value {
				if err := v.value(items, e, fmt.Sprintf("%s[%d]", at, i), depth+1); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (v *Validator) object(schema, value map[string]any, at string, depth int) error {
	for _, name := range strs(schema["required"]) {
		if _, ok := value[name]; !ok {
			return fmt.Errorf("%s.%s: missing", at, name)
		}
	}
	for _, name := range sortedKeys(value) {
		property, known := lookup(schema["properties"], name)
		if !known {
			property = schema["additionalProperties"]
			if property == nil {
				continue
			}
		}
		if err := v.value(property, value[name], at+"."+name, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (v *Validator) combined(schema map[string]any, value any, at string, depth int) error {
	all, _ := schema["allOf"].([]any)
	for _, alt := range all {
		if err := v.value(alt, value, at, depth+1); err != nil {
			return err
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, ok := schema[key].([]any)
		if !ok {
			continue
		}
		matches := 0
		var last error
		for _, alt := range list {
			if err := v.value(alt, value, at, depth+1); err == nil {
				matches++
			} else {
				last = err
			}
		}
		if matches == 0 {
			return fmt.Errorf("%s: none of the %d variants (the last: %w)", at, len(list), last)
		}
		if key == "oneOf" && matches > 1 {
			return fmt.Errorf("%s: %d variants at once", at, matches)
		}
	}
	return nil
}

func limits(schema map[string]any, value any, at string) error {
	if n, ok := value.(float64); ok {
		if least, ok := schema["minimum"].(float64); ok && n < least {
			return fmt.Errorf("%s: below %v", at, least)
		}
		if most, ok := schema["maximum"].(float64); ok && n > most {
			return fmt.Errorf("%s: above %v", at, most)
		}
	}
	if s, ok := value.(string); ok {
		if least, ok := schema["minLength"].(float64); ok && utf8.RuneCountInString(s) < int(least) {
			return fmt.Errorf("%s: shorter than %v", at, least)
		}
	}
	return nil
}

func isOf(t string, value any) bool {
	switch v := value.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case float64:
		return t == "number" || t == "integer" && v == math.Trunc(v)
	case []any:
		return t == "array"
	}
	return t == "object"
}
