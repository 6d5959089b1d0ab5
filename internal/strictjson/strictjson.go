// Package strictjson decodes JSON that comes from outside: case-sensitive names, no duplicate or unknown members, valid
// UTF-8 only, one value per input, bounded size and depth.
//
// encoding/json accepts "PATH" for "path" and silently takes the last of two equal members; either would let a
// validated message mean something else to the next reader.
package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth bounds the nesting of an accepted document.
const MaxDepth = 256

// ErrTooLarge reports an input above the caller's limit.
var ErrTooLarge = errors.New("JSON input is too large")

// ErrTooDeep reports an input nested deeper than MaxDepth.
var ErrTooDeep = errors.New("JSON input is nested too deeply")

// Unmarshal decodes exactly one JSON value of at most limit bytes into v. Unknown members are an error.
func Unmarshal(data []byte, limit int, v any) error {
	if len(data) > limit {
		return fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, len(data), limit)
	}
	if err := checkDepth(data); err != nil {
		return err
	}
	return json.Unmarshal(data, v, json.RejectUnknownMembers(true))
}

// UnmarshalOpen is Unmarshal for messages whose sender may add members that we do not know (a server's reply).
func UnmarshalOpen(data []byte, limit int, v any) error {
	if len(data) > limit {
		return fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, len(data), limit)
	}
	if err := checkDepth(data); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// Read reads at most limit bytes and decodes them as Unmarshal does.
func Read(r io.Reader, limit int, v any) error {
	data, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return err
	}
	return Unmarshal(data, limit, v)
}

// Marshal encodes v without escaping HTML characters and with members of maps in a fixed order.
func Marshal(v any) ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) }

// Canonical returns the RFC 8785 form of one JSON value: equal values have equal bytes (A-TOOL-08's fingerprints).
func Canonical(data []byte) ([]byte, error) {
	if err := checkDepth(data); err != nil {
		return nil, err
	}
	v := jsontext.Value(bytes.Clone(data))
	if err := v.Canonicalize(); err != nil {
		return nil, err
	}
	return v, nil
}

// checkDepth walks brackets outside strings, without recursion, before a recursive decoder sees the input.
func checkDepth(data []byte) error {
	depth, inString, escaped := 0, false, false
	for _, c := range data {
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return ErrTooDeep
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
