package scriptmodel

import (
	"bytes"
	"fmt"
	"slices"
)

// violation names the first rule of the client (A-OLL-01, A-OLL-02, A-OLL-04, A-OLL-08) that a request breaks although
// Ollama would accept it; "" for none. numCtx is the window of the calls before, nil before the first.
func (s *Script) violation(q *ChatRequest, numCtx *string) string {
	if err := repeats(q.raw); err != nil {
		return err.Error()
	}
	switch {
	case q.Stream == nil || *q.Stream:
		return "stream must be false"
	case q.Truncate == nil || *q.Truncate:
		return "truncate must be false"
	case q.Shift == nil || *q.Shift:
		return "shift must be false"
	case len(q.Think) == 0 || string(q.Think) == "null":
		return "think must be sent"
	case len(q.Messages) == 0:
		return "a call without messages"
	case formatOf(q.Format) != "none" && len(q.Tools) > 0:
		return "format and tools together"
	}
	for name := range q.Options {
		if optionKinds[name] == "" && !slices.Contains(ignoredOptions, name) && !slices.Contains(s.ExtraOptions, name) {
			return fmt.Sprintf("unknown option %q", name)
		}
	}
	if now := fmt.Sprint(q.Options["num_ctx"]); numCtx != nil && *numCtx != now {
		return fmt.Sprintf("num_ctx changed from %s to %s: the model would be loaded again", *numCtx, now)
	}
	for i, t := range q.Tools {
		if t.Type != "function" || t.Function.Name == "" || !bytes.Contains(t.Function.Parameters, []byte(`"properties"`)) {
			return fmt.Sprintf("tool %d is no function with a name and parameters with properties", i)
		}
	}
	return s.brokenConversation(q.Messages)
}

// brokenConversation checks roles, images, reasoning, and the pairing of calls and results.
func (s *Script) brokenConversation(messages []Message) string {
	var open []ToolCall
	continued := continuation(messages)
	for i, m := range messages {
		at := func(text string) string { return fmt.Sprintf("message %d (%s): %s", i, m.Role, text) }
		if m.Role != "tool" && len(open) > 0 {
			return at("tool calls before it have no result")
		}
		if len(m.Images) > 0 && !s.can("vision") {
			return at("an image for a model without vision")
		}
		if m.Thinking != "" && (len(m.ToolCalls) == 0 || i < continued) {
			return at("reasoning outside the tool-call exchange that is being continued")
		}
		switch m.Role {
		case "system", "user":
		case "assistant":
			for _, c := range m.ToolCalls {
				if c.ID == "" || len(c.Function.Arguments) == 0 {
					return at("an echoed call without id or arguments")
				}
			}
			open = m.ToolCalls
		case "tool":
			if len(open) == 0 {
				return at("a result without a call")
			}
			if m.ToolName != open[0].Function.Name || m.ToolCallID != open[0].ID {
				return at("a result of another call than the next one")
			}
			open = open[1:]
		default:
			return at("unknown role")
		}
	}
	if len(open) > 0 {
		return "tool calls at the end have no result"
	}
	return ""
}

// continuation is the index where the trailing tool-call exchange starts; reminders may follow it.
func continuation(messages []Message) int {
	end := len(messages)
	for end > 0 && (messages[end-1].Role == "user" || messages[end-1].Role == "system") {
		end--
	}
	start := end
	for start > 0 && (messages[start-1].Role == "tool" || len(messages[start-1].ToolCalls) > 0) {
		start--
	}
	return start
}
