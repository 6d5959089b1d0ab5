package ollama

import (
	"encoding/json"
	"slices"
	"strings"

	"sekisho/internal/agent"
	"sekisho/internal/strictjson"
)

// textCall is the only shape of a call in content that is recovered. "parameters" is an alias here and nowhere else.
type textCall struct {
	Name       *string         `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
}

// recoverCall finds the call that a model wrote as text (A-OLL-07): the whole content is exactly one call object or its
// <tool_call> envelope, the tool is among those sent, and the arguments are valid. A call in prose or in a code fence is
// text: an explanation must never run.
func recoverCall(content string, q Request) (agent.ToolCall, bool) {
	if q.Validate == nil {
		return agent.ToolCall{}, false
	}
	text := strings.TrimSpace(content)
	if inner, ok := strings.CutPrefix(text, "<tool_call>"); ok {
		if inner, ok = strings.CutSuffix(inner, "</tool_call>"); !ok {
			return agent.ToolCall{}, false
		}
		text = strings.TrimSpace(inner)
	}
	if !strings.HasPrefix(text, "{") {
		return agent.ToolCall{}, false
	}
	var t textCall
	if strictjson.Unmarshal([]byte(text), MaxReplyBytes, &t) != nil || t.Name == nil || (t.Arguments == nil) == (t.Parameters == nil) {
		return agent.ToolCall{}, false
	}
	if !slices.ContainsFunc(q.Tools, func(s agent.ToolSpec) bool { return s.Name == *t.Name }) {
		return agent.ToolCall{}, false
	}
	args := t.Arguments
	if args == nil {
		args = t.Parameters
	}
	call := agent.ToolCall{ID: newCallID(), Name: *t.Name, Arguments: normalArguments(args), Source: agent.SourceContent}
	if q.Validate(call) != nil {
		return agent.ToolCall{}, false
	}
	return call, true
}
