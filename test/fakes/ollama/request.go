package scriptmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sekisho/internal/strictjson"
)

// ChatRequest is the body of /api/chat. Its name and encoding/json give decoding errors the words of Ollama's own.
type ChatRequest struct {
	Model       string          `json:"model"`
	Messages    []Message       `json:"messages"`
	Tools       Tools           `json:"tools"`
	Format      json.RawMessage `json:"format"`
	Stream      *bool           `json:"stream"`
	Think       json.RawMessage `json:"think"`
	Truncate    *bool           `json:"truncate"`
	Shift       *bool           `json:"shift"`
	KeepAlive   json.RawMessage `json:"keep_alive"`
	Options     map[string]any  `json:"options"`
	Logprobs    bool            `json:"logprobs"`
	TopLogprobs int             `json:"top_logprobs"`

	raw []byte
}

// Message is one message of a request.
type Message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Thinking   string     `json:"thinking"`
	Images     []string   `json:"images"`
	ToolCalls  []ToolCall `json:"tool_calls"`
	ToolName   string     `json:"tool_name"`
	ToolCallID string     `json:"tool_call_id"`
}

// ToolCall is an echoed call.
type ToolCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// Tools are the tools of a request.
type Tools []struct {
	Type     string `json:"type"`
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// names lists the tools' names.
func (t Tools) names() []string {
	var out []string
	for _, tool := range t {
		out = append(out, tool.Function.Name)
	}
	return out
}

func decode(body []byte) (*ChatRequest, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, errors.New("missing request body")
	}
	q := ChatRequest{raw: body}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&q); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("unexpected EOF")
		}
		// The path is Ollama's; which struct it starts at differs between versions of encoding/json.
		return nil, errors.New(strings.Replace(err.Error(), "Go struct field Message.", "Go struct field ChatRequest.", 1))
	}
	for _, m := range q.Messages {
		for _, c := range m.ToolCalls {
			if args := bytes.TrimSpace(c.Function.Arguments); len(args) > 0 && args[0] != '{' {
				//lint:ignore ST1005 Ollama's words
				return nil, errors.New("Value looks like object, but can't find closing '}' symbol")
			}
		}
	}
	return &q, nil
}

// int returns a whole-number option.
func (q *ChatRequest) int(name string) (int64, bool) {
	f, ok := q.Options[name].(float64)
	return int64(f), ok
}

// repeats reports a repeated member anywhere in the body: two values of one option would make the sent one a guess.
func repeats(body []byte) error {
	if _, err := strictjson.Canonical(body); err != nil {
		return fmt.Errorf("the body is no strict JSON: %w", err)
	}
	return nil
}
