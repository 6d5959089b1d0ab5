package scriptmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sekisho/internal/strictjson"
)

// answer is a complete HTTP answer, before transport faults.
type answer struct {
	status      int
	contentType string
	headers     map[string]string
	body        []byte
}

const jsonType = "application/json; charset=utf-8"

func errorAnswer(status int, text string) answer {
	body, err := strictjson.Marshal(map[string]string{"error": strings.ToValidUTF8(text, "?")})
	if err != nil {
		panic(err)
	}
	return answer{status: status, contentType: jsonType, body: body}
}

type wireReply struct {
	Model              string           `json:"model"`
	CreatedAt          time.Time        `json:"created_at"`
	Message            *wireMessage     `json:"message,omitempty"`
	Done               bool             `json:"done"`
	DoneReason         string           `json:"done_reason,omitempty"`
	TotalDuration      int64            `json:"total_duration,omitzero"`
	LoadDuration       int64            `json:"load_duration,omitzero"`
	PromptEvalCount    int64            `json:"prompt_eval_count,omitzero"`
	PromptEvalDuration int64            `json:"prompt_eval_duration,omitzero"`
	EvalCount          int64            `json:"eval_count,omitzero"`
	EvalDuration       int64            `json:"eval_duration,omitzero"`
	Logprobs           []map[string]any `json:"logprobs,omitempty"`
}

type wireMessage struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	Thinking  string     `json:"thinking,omitempty"`
	ToolCalls []wireCall `json:"tool_calls,omitempty"`
}

type wireCall struct {
	ID       string `json:"id,omitempty"`
	Function struct {
		Index     int             `json:"index"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments,omitzero"`
	} `json:"function"`
}

// compose turns a rule's reply into an answer to q.
func (s *Script) compose(q *ChatRequest, r *Rule, values map[string]string) answer {
	p := r.Reply
	a := answer{status: max(p.Status, p.RawStatus), contentType: jsonType, headers: p.Headers}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	switch {
	case p.RawBody != nil || p.RawStatus != 0:
		a.contentType = "text/html"
		if p.RawBody != nil {
			a.body = []byte(*p.RawBody)
		}
	case len(p.Body) > 0:
		a.body = p.Body
	case p.Error != "":
		a.body = errorAnswer(a.status, fill(p.Error, values)).body
	default:
		a = s.speak(q, p, values, a)
	}
	if p.ContentType != "" {
		a.contentType = p.ContentType
	}
	if missing := p.PadTo - len(a.body); missing > 0 { // blanks behind a JSON value are still JSON
		a.body = append(a.body, strings.Repeat(" ", missing)...)
	}
	return a
}

// speak builds the model's reply with deterministic counts and the limits of num_predict and the window.
func (s *Script) speak(q *ChatRequest, p Reply, values map[string]string, a answer) answer {
	m := wireMessage{Role: "assistant", Content: contentText(fillJSON(p.Content, values)), Thinking: fill(p.Thinking, values)}
	for i, c := range p.ToolCalls {
		var w wireCall
		w.ID, w.Function.Index, w.Function.Name, w.Function.Arguments = c.ID, i, c.Name, fillJSON(c.Arguments, values)
		if w.ID == "" {
			w.ID = fmt.Sprintf("call_%d_%d", len(q.Messages), i)
		}
		m.ToolCalls = append(m.ToolCalls, w)
	}
	prompt, window := promptTokens(q), s.window(q)
	if prompt > window {
		if q.Truncate != nil && !*q.Truncate && p.PromptEvalCount == nil {
			return errorAnswer(http.StatusBadRequest, "the input length exceeds the context length")
		}
		prompt = window // cut in silence, as Ollama does
	}
	reason, eval := p.DoneReason, outputTokens(m)
	room := window - prompt
	if n, ok := q.int("num_predict"); ok && n > 0 {
		room = min(room, n)
	} else if q.Shift == nil || *q.Shift {
		room = eval
	}
	if reason == "" {
		if reason = "stop"; p.EvalCount == nil && eval > room {
			reason, eval = "length", max(room, 1)
			m = cutTo(m, int(eval))
		}
	}
	now := time.Now().UTC()
	w := wireReply{Model: q.Model, CreatedAt: now, Message: &m, Done: !p.NotDone, DoneReason: reason, TotalDuration: 2e6, LoadDuration: 1e6,
		PromptEvalCount: prompt, PromptEvalDuration: 5e5, EvalCount: eval, EvalDuration: 5e5}
	if p.PromptEvalCount != nil {
		w.PromptEvalCount = *p.PromptEvalCount
	}
	if p.EvalCount != nil {
		w.EvalCount = *p.EvalCount
	}
	if w.EvalCount <= 1 {
		w.EvalDuration = 0 // the first token comes with the prompt
	}
	if q.Logprobs {
		w.Logprobs = []map[string]any{{"token": m.Content, "logprob": -0.5, "bytes": []byte(nil), "top_logprobs": []any{}}}
	}
	if p.MissingMessage {
		w.Message = nil
	}
	if q.Stream == nil || *q.Stream {
		return ndjson(w, a)
	}
	a.body = mustJSON(w)
	return a
}

// ndjson is the answer to a client that did not say stream:false: the reply in two lines.
func ndjson(w wireReply, a answer) answer {
	chunk, end := w, w
	chunk.Done, chunk.DoneReason, chunk.PromptEvalCount, chunk.EvalCount = false, "", 0, 0
	chunk.TotalDuration, chunk.LoadDuration, chunk.PromptEvalDuration, chunk.EvalDuration = 0, 0, 0, 0
	end.Message = &wireMessage{Role: "assistant"}
	a.contentType = "application/x-ndjson"
	a.body = append(append(append(mustJSON(chunk), '\n'), mustJSON(end)...), '\n')
	return a
}

func mustJSON(v any) []byte {
	data, err := strictjson.Marshal(v)
	if err != nil {
		panic(err) // replies are made of decoded JSON
	}
	return data
}

// contentText is a string as it is, any other value as JSON text.
func contentText(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
