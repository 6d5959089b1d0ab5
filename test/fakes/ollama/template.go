package scriptmodel

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sekisho/internal/strictjson"
)

var placeholder = regexp.MustCompile(`\{\{\s*([a-z]+\.[a-zA-Z_][a-zA-Z0-9_]*)\s*\}\}`)

// builtin are the values that need no capture.
var builtin = []string{"user.content", "tool.content", "tool.name", "system.content"}

// checkTemplates compiles captures and refuses a placeholder that nothing fills.
func (r *Rule) checkTemplates() error {
	known := slices.Clone(builtin)
	for _, source := range slices.Sorted(maps.Keys(r.Capture)) {
		if !slices.Contains(sources, source) {
			return fmt.Errorf("capture: %q is none of %q", source, sources)
		}
		re, err := regexp.Compile(r.Capture[source])
		if err != nil {
			return fmt.Errorf("capture.%s: %w", source, err)
		}
		r.captures = append(r.captures, capture{source, re})
		for _, name := range re.SubexpNames() {
			if name != "" {
				known = append(known, source+"."+name)
			}
		}
	}
	texts := []string{string(r.Reply.Content), r.Reply.Thinking, r.Reply.Error}
	for _, c := range r.Reply.ToolCalls {
		texts = append(texts, string(c.Arguments))
	}
	for _, m := range placeholder.FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
		if !slices.Contains(known, m[1]) {
			return fmt.Errorf("reply: {{%s}} is filled by nothing; known are %q", m[1], known)
		}
	}
	return nil
}

// values are the template values of f; false when a capture does not match. Of several user messages at the end, the
// last one that matches counts, then any earlier one.
func (r *Rule) values(f facts) (map[string]string, bool) {
	tool := ""
	out := map[string]string{"user.content": last(f.users), "system.content": first(f.systems)}
	if f.tool != nil {
		tool = f.tool.Content
		out["tool.content"], out["tool.name"] = tool, f.tool.ToolName
	}
	for _, c := range r.captures {
		texts := map[string][]string{"user": f.users, "system": f.systems, "tool": {tool}}[c.source]
		var m []string
		for i := len(texts) - 1; i >= 0 && m == nil; i-- {
			m = c.re.FindStringSubmatch(texts[i])
		}
		if m == nil {
			return nil, false
		}
		for i, name := range c.re.SubexpNames() {
			if name != "" {
				out[c.source+"."+name] = m[i]
			}
		}
	}
	return out, true
}

func last(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[len(s)-1]
}

func fill(text string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(p string) string { return values[placeholder.FindStringSubmatch(p)[1]] })
}

// fillJSON fills the strings inside a JSON value.
func fillJSON(raw json.RawMessage, values map[string]string) json.RawMessage {
	if !placeholder.Match(raw) {
		return raw
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return raw
	}
	out, err := strictjson.Marshal(fillAny(v, values))
	if err != nil {
		return raw
	}
	return out
}

func fillAny(v any, values map[string]string) any {
	switch v := v.(type) {
	case string:
		return fill(v, values)
	case []any:
		for i := range v {
			v[i] = fillAny(v[i], values)
		}
	case map[string]any:
		for k := range v {
			v[k] = fillAny(v[k], values)
		}
	}
	return v
}
