package ollama

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"sekisho/internal/agent"
	"sekisho/internal/strictjson"
)

// chatReply is what we use of a reply. Members that we do not know are the server's business; those that we know must
// have their type.
type chatReply struct {
	Message    *replyMessage   `json:"message"`
	Done       bool            `json:"done"`
	DoneReason string          `json:"done_reason"`
	PromptEval int64           `json:"prompt_eval_count"`
	Eval       int64           `json:"eval_count"`
	CacheN     int64           `json:"cache_n"` // newer servers: part of the prompt that was not evaluated again
	Logprobs   json.RawMessage `json:"logprobs"`
}

type replyMessage struct {
	Content   string      `json:"content"`
	Thinking  string      `json:"thinking"`
	ToolCalls []replyCall `json:"tool_calls"`
}

type replyCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// errTooManyCalls is the model's failure, not the protocol's.
var errTooManyCalls = errors.New("the reply holds too many tool calls")

const maxTokens = 1 << 40

// decodeReply accepts exactly one complete reply.
func decodeReply(data []byte) (chatReply, error) {
	var r chatReply
	if err := strictjson.UnmarshalOpen(data, MaxReplyBytes, &r); err != nil {
		return chatReply{}, fmt.Errorf("reading the reply: %w", err)
	}
	switch {
	case r.Message == nil:
		return chatReply{}, errors.New("the reply has no message")
	case !r.Done:
		return chatReply{}, errors.New("the reply is not complete (done is not true)")
	case r.PromptEval < 0 || r.Eval < 0 || r.PromptEval > maxTokens || r.Eval > maxTokens:
		return chatReply{}, errors.New("the reply's token counts are out of range")
	case len(r.Message.ToolCalls) > MaxCalls:
		return chatReply{}, fmt.Errorf("%w: %d, limit %d", errTooManyCalls, len(r.Message.ToolCalls), MaxCalls)
	}
	return r, nil
}

// interpret turns a decoded reply into the caller's form: reasoning apart, calls normalised or withheld, text recovered
// as a call where A-OLL-07 allows it.
func interpret(r chatReply, q Request, numCtx *int) Response {
	out := Response{
		Message:    agent.Message{Role: "assistant"},
		DoneReason: r.DoneReason,
		Usage:      agent.Usage{Input: r.PromptEval, Output: r.Eval},
		Truncated:  r.DoneReason == "length",
		Logprobs:   r.Logprobs,
	}
	content, leaked := splitThinking(r.Message.Content, out.Truncated)
	out.Message.Content = content
	out.Message.Thinking = strings.TrimSpace(r.Message.Thinking + "\n" + leaked)
	if out.Truncated {
		out.CutCalls = len(r.Message.ToolCalls)
	} else {
		out.Message.ToolCalls = nativeCalls(r.Message.ToolCalls)
	}
	if len(r.Message.ToolCalls) == 0 && !out.Truncated && len(q.Format) == 0 {
		if call, ok := recoverCall(content, q); ok {
			out.Message.Content = ""
			out.Message.ToolCalls = []agent.ToolCall{call}
		}
	}
	out.WindowExhausted = out.Truncated && numCtx != nil && r.PromptEval+r.Eval >= int64(*numCtx)
	out.Empty = strings.TrimSpace(out.Message.Content) == "" && len(out.Message.ToolCalls) == 0
	out.Dropped = out.Empty && !out.Truncated && r.Eval > 1
	return out
}

// nativeCalls keeps order and names as they came. Ids are made unique, so that each echoed result has one call.
func nativeCalls(calls []replyCall) []agent.ToolCall {
	var out []agent.ToolCall
	seen := map[string]bool{}
	for _, c := range calls {
		id := c.ID
		if id == "" || len(id) > 128 || !plainText(id) || seen[id] {
			id = newCallID()
		}
		seen[id] = true
		out = append(out, agent.ToolCall{ID: id, Name: c.Function.Name, Arguments: normalArguments(c.Function.Arguments), Source: agent.SourceNative})
	}
	return out
}

// notObject carries arguments that are no object to the validator, which refuses the unknown member by name: the model
// then reads what was wrong, and nothing runs with made-up arguments.
const notObject = "arguments_not_an_object"

// normalArguments returns one JSON object: absent, null and "" are {}, a string that holds an object is that object.
func normalArguments(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(`{}`)
	}
	if raw[0] == '"' {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			inner := strings.TrimSpace(text)
			if inner == "" {
				return json.RawMessage(`{}`)
			}
			if isObject([]byte(inner)) {
				return json.RawMessage(inner)
			}
		}
	}
	if isObject(raw) {
		return raw
	}
	wrapped, err := strictjson.Marshal(map[string]json.RawMessage{notObject: raw})
	if err != nil {
		return json.RawMessage(`{"` + notObject + `":null}`)
	}
	return wrapped
}

func isObject(data []byte) bool {
	if len(data) == 0 || data[0] != '{' {
		return false
	}
	_, err := strictjson.Canonical(data)
	return err == nil
}

func newCallID() string { return "call_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:12] }

func plainText(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }) < 0
}
