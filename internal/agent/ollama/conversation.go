package ollama

import (
	"bytes"
	"fmt"

	"sekisho/internal/agent"
	"sekisho/internal/strictjson"
)

// ValidateConversation reports the first place where messages break the echo rules of A-OLL-08: every call that an
// assistant message echoes has an id, a tool's name and one JSON object as arguments, and exactly one result follows
// each, in the order of the calls, with the same id and name, before anything else is said. Results pair by position;
// models repeat ids.
func ValidateConversation(messages []agent.Message) error {
	var open []agent.ToolCall // calls that still need a result
	for i, m := range messages {
		if m.Role != "tool" && len(open) > 0 {
			return fmt.Errorf("message %d: %d tool calls before it have no result", i, len(open))
		}
		if m.Role != "assistant" && (len(m.ToolCalls) > 0 || m.Thinking != "") {
			return fmt.Errorf("message %d: a %s message carries calls or reasoning", i, m.Role)
		}
		if m.Role != "tool" && (m.ToolName != "" || m.ToolCallID != "") {
			return fmt.Errorf("message %d: a %s message names a tool call", i, m.Role)
		}
		if m.Role != "user" && len(m.Images) > 0 {
			return fmt.Errorf("message %d: a %s message carries images", i, m.Role)
		}
		switch m.Role {
		case "system", "user":
		case "assistant":
			for k, call := range m.ToolCalls {
				if err := echoable(call); err != nil {
					return fmt.Errorf("message %d, call %d: %w", i, k, err)
				}
			}
			open = m.ToolCalls
		case "tool":
			if len(open) == 0 {
				return fmt.Errorf("message %d: a tool result without a call", i)
			}
			if m.ToolName != open[0].Name || m.ToolCallID != open[0].ID {
				return fmt.Errorf("message %d: result of %s %q where %s %q is due", i, m.ToolName, m.ToolCallID, open[0].Name, open[0].ID)
			}
			open = open[1:]
		default:
			return fmt.Errorf("message %d: unknown role %q", i, m.Role)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d tool calls at the end have no result", len(open))
	}
	return nil
}

func echoable(call agent.ToolCall) error {
	if call.ID == "" {
		return fmt.Errorf("no id")
	}
	if args := bytes.TrimSpace(call.Arguments); len(args) == 0 || args[0] != '{' {
		return fmt.Errorf("arguments are no JSON object")
	}
	if _, err := strictjson.Canonical(call.Arguments); err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	return nil
}

// exchangeStart is the index of the first message of the tool-call exchange that the next reply continues: the trailing
// run of assistant messages with calls and their results, which reminders (user or system) may follow. Without such a
// run it is len(messages).
func exchangeStart(messages []agent.Message) int {
	end := len(messages)
	for end > 0 && (messages[end-1].Role == "user" || messages[end-1].Role == "system") {
		end--
	}
	start := end
	for start > 0 && (messages[start-1].Role == "tool" || messages[start-1].Role == "assistant" && len(messages[start-1].ToolCalls) > 0) {
		start--
	}
	if start == end {
		return len(messages)
	}
	return start
}
