package ollama

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sekisho/internal/agent"
	"sekisho/internal/strictjson"
)

// chatRequest is the body of /api/chat. Members without omitzero or omitempty are always sent: stream, truncate and shift default to
// true at the server, and an omitted think turns thinking on (A-OLL-01, A-OLL-08).
type chatRequest struct {
	Model       string          `json:"model"`
	Messages    []wireMessage   `json:"messages"`
	Tools       []wireTool      `json:"tools,omitempty"`
	Format      json.RawMessage `json:"format,omitzero"`
	Stream      bool            `json:"stream"`
	Think       json.RawMessage `json:"think"`
	Truncate    bool            `json:"truncate"`
	Shift       bool            `json:"shift"`
	KeepAlive   json.RawMessage `json:"keep_alive,omitzero"`
	Options     json.RawMessage `json:"options,omitzero"`
	Logprobs    bool            `json:"logprobs,omitzero"`
	TopLogprobs *int            `json:"top_logprobs,omitempty"`
}

type wireMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Thinking   string     `json:"thinking,omitempty"`
	Images     []string   `json:"images,omitempty"`
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolName   string     `json:"tool_name,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string       `json:"id,omitempty"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Index     int             `json:"index"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type wireTool struct {
	Type     string       `json:"type"`
	Function wireToolSpec `json:"function"`
}

type wireToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// encode builds the request; an error is a mistake of the caller.
func (c *Client) encode(r Request) (chatRequest, error) {
	if len(r.Messages) == 0 {
		return chatRequest{}, errors.New("a call without messages would only load the model")
	}
	if len(r.Format) > 0 && len(r.Tools) > 0 {
		return chatRequest{}, errors.New("format and tools exclude each other: with both, the model cannot call")
	}
	if err := ValidateConversation(r.Messages); err != nil {
		return chatRequest{}, err
	}
	options, err := c.options(r)
	if err != nil {
		return chatRequest{}, fmt.Errorf("options: %w", err)
	}
	q := chatRequest{Model: c.cfg.Model, Think: c.cfg.Think, Options: options,
		Logprobs: c.cfg.Logprobs, TopLogprobs: c.cfg.TopLogprobs}
	if len(r.Format) > 0 { // "" and an absent member differ here: an empty raw value is no JSON
		q.Format = r.Format
	}
	if len(c.cfg.KeepAlive) > 0 {
		q.KeepAlive = c.cfg.KeepAlive
	}
	for _, t := range r.Tools {
		params, err := parameters(t.Parameters)
		if err != nil {
			return chatRequest{}, fmt.Errorf("parameters of %s: %w", t.Name, err)
		}
		q.Tools = append(q.Tools, wireTool{"function", wireToolSpec{t.Name, t.Description, params}})
	}
	from := exchangeStart(r.Messages)
	for i, m := range r.Messages {
		q.Messages = append(q.Messages, wire(m, i >= from))
	}
	return q, nil
}

// wire converts one message. Reasoning goes back only inside the tool-call exchange that is being continued (A-OLL-04).
func wire(m agent.Message, continued bool) wireMessage {
	w := wireMessage{Role: m.Role, Content: utf8Text(m.Content), ToolName: m.ToolName, ToolCallID: m.ToolCallID}
	if continued && len(m.ToolCalls) > 0 {
		w.Thinking = utf8Text(m.Thinking)
	}
	for _, img := range m.Images {
		w.Images = append(w.Images, img.Data)
	}
	for i, call := range m.ToolCalls {
		w.ToolCalls = append(w.ToolCalls, wireCall{call.ID, wireFunction{i, call.Name, call.Arguments}})
	}
	return w
}

// utf8Text keeps a stray byte of a tool's output from making the whole request unencodable.
func utf8Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// parameters makes sure that a tool's schema is an object with properties: some servers fail on a tool without them.
func parameters(schema json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(schema)) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	var members map[string]json.RawMessage
	if err := strictjson.Unmarshal(schema, MaxReplyBytes, &members); err != nil {
		return nil, err
	}
	if kind, ok := members["type"]; ok && string(kind) != `"object"` {
		return nil, fmt.Errorf("type is %s, not object", kind)
	}
	_, typed := members["type"]
	_, listed := members["properties"]
	if typed && listed {
		return schema, nil
	}
	if members == nil {
		return nil, errors.New("the schema is null")
	}
	members["type"] = json.RawMessage(`"object"`)
	if !listed {
		members["properties"] = json.RawMessage(`{}`)
	}
	return strictjson.Marshal(members)
}
