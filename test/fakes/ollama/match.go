package scriptmodel

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// facts is what conditions and templates see of a request.
type facts struct {
	format, phase string
	tools         []string
	systems       []string
	users         []string
	lastUsers     []string // the user messages at the end
	lastRole      string
	tool          *Message // the result that the model is to react to
	toolOK        bool
	toolError     string
	conversation  string
	turn          int
}

func observe(q *ChatRequest) facts {
	f := facts{format: formatOf(q.Format), phase: "text", tools: q.Tools.names()}
	switch {
	case len(q.Tools) > 0:
		f.phase = "run"
	case f.format != "none":
		f.phase = "plan"
	}
	for _, m := range q.Messages {
		switch m.Role {
		case "system":
			f.systems = append(f.systems, m.Content)
		case "user":
			f.users = append(f.users, m.Content)
		}
	}
	n := len(q.Messages)
	for i := n - 1; i >= 0 && q.Messages[i].Role == "user"; i-- {
		f.lastUsers = append(f.lastUsers, q.Messages[i].Content)
	}
	last := n - 1
	if n > 1 && q.Messages[n-1].Role == "user" && q.Messages[n-2].Role == "tool" {
		last = n - 2
	}
	if last >= 0 {
		f.lastRole = q.Messages[last].Role
		if f.lastRole == "tool" {
			f.tool = &q.Messages[last]
			f.toolOK, f.toolError = outcome(f.tool.Content)
		}
	}
	f.conversation = fmt.Sprintf("%x", sha256.Sum256([]byte(first(f.systems)+"\x00"+first(f.users))))
	return f
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

// outcome reads the header line of a tool result: one JSON object with ok and error_code. A result without such a line
// counts as a success.
func outcome(content string) (ok bool, code string) {
	line, _, _ := strings.Cut(content, "\n")
	var h struct {
		OK   *bool  `json:"ok"`
		Code string `json:"error_code"`
	}
	if json.Unmarshal([]byte(line), &h) != nil {
		return true, ""
	}
	return h.Code == "" && (h.OK == nil || *h.OK), h.Code
}

// holds reports whether every condition of w is met.
func (w When) holds(f facts) bool {
	any := func(texts []string, part string) bool {
		return part == "" || slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, part) })
	}
	needsTool := w.LastTool != "" || w.LastToolOK != nil || w.LastToolError != "" || w.LastToolContains != ""
	switch {
	case w.Format != "" && w.Format != f.format,
		w.Phase != "" && w.Phase != f.phase,
		!any(f.systems, w.SystemContains),
		!any(f.users, w.UserContains),
		!any(f.lastUsers, w.LastUserContains),
		w.LastRole != "" && w.LastRole != f.lastRole,
		w.Turn != 0 && w.Turn != f.turn,
		needsTool && f.tool == nil:
		return false
	}
	for _, name := range w.ToolsInclude {
		if !slices.Contains(f.tools, name) {
			return false
		}
	}
	if !needsTool {
		return true
	}
	return (w.LastTool == "" || w.LastTool == f.tool.ToolName) &&
		(w.LastToolOK == nil || *w.LastToolOK == f.toolOK) &&
		(w.LastToolError == "" || w.LastToolError == f.toolError) &&
		strings.Contains(f.tool.Content, w.LastToolContains)
}

// state counts uses: per conversation and for the server.
type state struct {
	turns map[string]int
	used  map[string]map[int]int // conversation ("" = server) → rule → uses
}

// pick returns the first rule that matches and is not exhausted, with its captures, and counts the use.
func (s *state) pick(rules []Rule, f facts) (*Rule, map[string]string) {
	for i := range rules {
		r := &rules[i]
		key := f.conversation
		if r.Scope == "server" {
			key = ""
		}
		if r.Times > 0 && s.used[key][i] >= r.Times || !r.When.holds(f) {
			continue
		}
		values, ok := r.values(f)
		if !ok {
			continue
		}
		if s.used[key] == nil {
			s.used[key] = map[int]int{}
		}
		s.used[key][i]++
		return r, values
	}
	return nil, nil
}
