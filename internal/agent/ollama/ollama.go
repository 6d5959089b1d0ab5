// Package ollama is the chat client of the agent: one complete, non-streamed reply per logical model call (section 4 of
// the specification).
//
// What comes back is untrusted twice over: the model wrote it, and the endpoint may be a remote machine. The client
// bounds and decodes it strictly, keeps reasoning apart from content, repairs only what A-OLL-07 allows, and classifies
// failures by status and message; it never judges whether a call may run. What goes out is checked too: a conversation
// whose calls and results do not pair is not sent.
package ollama

import (
	"context"
	"encoding/json"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
)

// Limits of a reply (ours).
const (
	MaxReplyBytes = 32 << 20
	MaxCalls      = 128 // tool calls in one reply; more is the model running away
)

// Config says which model is asked and how. New checks all of it.
type Config struct {
	Endpoint string // http or https URL without user info, query and fragment; a path is a prefix
	Model    string
	// Think is true, false, "low", "medium", "high" or "max" as JSON; always sent (A-OLL-08).
	Think json.RawMessage
	// KeepAlive is a duration such as "5m" or whole seconds as JSON; negative = forever. Empty means not sent.
	KeepAlive   json.RawMessage
	Options     agent.OllamaOptions
	Extra       map[string]json.RawMessage // further options; a typed name in it is never sent (A-OLL-02)
	Logprobs    bool
	TopLogprobs *int // 0..20

	// HeaderName and HeaderValueFile add one request header (A-OLL-09). The file is read at each call and must be the
	// user's own and closed to others. HeaderName is Authorization when empty.
	HeaderName      string
	HeaderValueFile string

	// Log receives one record per logical call; nil means none.
	Log Logger
	// Wait sleeps between attempts and returns early with the context's error; nil means a real timer.
	Wait func(context.Context, time.Duration) error
}

// Request is one logical model call.
type Request struct {
	Phase       agent.Phase
	Messages    []agent.Message
	Tools       []agent.ToolSpec
	Format      json.RawMessage // "json" or a JSON Schema; a call with Format carries no tools (A-OLL-08)
	Temperature *float64        // wins over the configured one (A-OLL-03)
	NumPredict  *int            // wins over the configured one, for the one resend after a truncated answer
	// Validate accepts the arguments of a call of a known tool. Without it, calls written as text stay text (A-OLL-07).
	Validate func(agent.ToolCall) error
	Meta     Meta
}

// Meta correlates a call in the LLM log (A-LOG-02).
type Meta struct {
	Session     string
	Task        string // agent task
	PlannerTask string
	Iteration   int
	Replan      int
}

// Response is one complete reply.
type Response struct {
	// CallID names this logical call in the LLM log.
	CallID string
	// Message is the assistant's message, ready to be echoed: reasoning in Thinking and nowhere else, every call with an
	// id of its own and object arguments. A recovered call has Source agent.SourceContent and leaves Content empty.
	Message    agent.Message
	DoneReason string // stop, length, load, unload
	Usage      agent.Usage
	// Truncated: done_reason is length. No call of such an answer is in Message (A-OLL-08); CutCalls counts them.
	Truncated bool
	CutCalls  int
	// WindowExhausted: prompt and answer fill num_ctx exactly, so that resending the same conversation cannot help.
	WindowExhausted bool
	// Empty: no content and no call. It is no completion.
	Empty bool
	// Dropped: Empty although tokens were generated: the server discarded an invalid call (A-OLL-08).
	Dropped bool
	// Warnings need an answer by the caller but are no failure: ollama.context_truncated asks for a summary.
	Warnings []*fault.Error
	// Logprobs is the server's list, if asked for. It may repeat reasoning: it must not be stored, logged or shown.
	Logprobs json.RawMessage
	// LogError tells that the LLM log could not be written. The answer is valid all the same.
	LogError error
}

// Capabilities is what /api/show tells about the model.
type Capabilities struct {
	// Known is false when the server sent no list (old servers): then nothing is known to be there or absent.
	Known    bool
	Tools    bool
	Vision   bool
	Thinking bool
	// ContextLength is the trained window in tokens, 0 when unknown. The loaded window may be smaller.
	ContextLength int64
}
