package scriptmodel

import (
	"encoding/json"
	"strings"
)

// defaultWindow is Ollama's num_ctx on a machine without much video memory.
const defaultWindow = 4096

// tokens is the deterministic tokenizer: four bytes a token, rounded up.
func tokens(bytes int) int64 { return int64((bytes + 3) / 4) }

func promptTokens(q *ChatRequest) int64 {
	n := 0
	for _, m := range q.Messages {
		n += len(m.Role) + len(m.Content) + len(m.Thinking) + len(m.ToolName) + 8
		for _, c := range m.ToolCalls {
			n += len(c.Function.Name) + len(c.Function.Arguments)
		}
	}
	var members struct {
		Tools json.RawMessage `json:"tools"`
	}
	if json.Unmarshal(q.raw, &members) == nil && len(q.Tools) > 0 {
		n += len(members.Tools)
	}
	return tokens(n)
}

func outputTokens(m wireMessage) int64 {
	n := len(m.Content) + len(m.Thinking)
	for _, c := range m.ToolCalls {
		n += len(c.Function.Name) + len(c.Function.Arguments) + 16
	}
	return tokens(n) + 1 // the end token
}

// window is the loaded context: what the request asks for, clamped to what the model was trained for.
func (s *Script) window(q *ChatRequest) int64 {
	n, ok := q.int("num_ctx")
	switch {
	case !ok && s.NumCtx > 0:
		n = s.NumCtx
	case !ok:
		n = defaultWindow
	}
	if s.ContextLength > 0 {
		n = min(n, s.ContextLength)
	}
	return max(n, 4)
}

// cutTo keeps what the first n tokens hold: reasoning first, then content; calls come last and are lost.
func cutTo(m wireMessage, n int) wireMessage {
	left := n * 4
	m.ToolCalls = nil
	m.Thinking = strings.ToValidUTF8(m.Thinking[:min(len(m.Thinking), left)], "")
	left -= len(m.Thinking)
	m.Content = strings.ToValidUTF8(m.Content[:min(len(m.Content), left)], "")
	return m
}
