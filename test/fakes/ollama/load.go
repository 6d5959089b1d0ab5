package scriptmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"go.yaml.in/yaml/v4"

	"sekisho/internal/strictjson"
)

const maxScript = 8 << 20

// Load reads a script file, JSON or YAML.
func Load(path string) (*Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Parse decodes a script strictly: unknown and repeated members are errors that name their place.
func Parse(data []byte) (*Script, error) {
	text := data
	if t := bytes.TrimSpace(data); len(t) == 0 || t[0] != '{' {
		var node yaml.Node
		if err := yaml.Unmarshal(data, &node); err != nil {
			return nil, err
		}
		if len(node.Content) != 1 {
			return nil, fmt.Errorf("the script is empty")
		}
		var b bytes.Buffer
		if err := writeJSON(&b, node.Content[0]); err != nil {
			return nil, err
		}
		text = b.Bytes()
	}
	var s Script
	if err := strictjson.Unmarshal(text, maxScript, &s); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return &s, nil
}

// writeJSON turns a YAML node into JSON, keeping the order of keys. Whatever JSON cannot say is refused with its line.
func writeJSON(b *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.MappingNode:
		seen := map[string]bool{}
		b.WriteByte('{')
		for i := 0; i < len(n.Content); i += 2 {
			k := n.Content[i]
			if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
				return fmt.Errorf("line %d: a key must be plain text", k.Line)
			}
			if seen[k.Value] {
				return fmt.Errorf("line %d: the key %s is there twice", k.Line, k.Value)
			}
			seen[k.Value] = true
			if i > 0 {
				b.WriteByte(',')
			}
			writeText(b, k.Value)
			b.WriteByte(':')
			if err := writeJSON(b, n.Content[i+1]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
		return nil
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, c := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeJSON(b, c); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	case yaml.ScalarNode:
		if n.Tag == "!!str" {
			writeText(b, n.Value)
			return nil
		}
		var v any
		if err := n.Decode(&v); err != nil {
			return fmt.Errorf("line %d: %w", n.Line, err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("line %d: %w", n.Line, err)
		}
		b.Write(text)
		return nil
	}
	return fmt.Errorf("line %d: anchors and aliases are not supported", n.Line)
}

func writeText(b *bytes.Buffer, s string) {
	text, err := strictjson.Marshal(s)
	if err != nil { // the YAML parser has refused invalid UTF-8
		panic(err)
	}
	b.Write(text)
}
