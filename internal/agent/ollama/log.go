package ollama

import (
	"encoding/json"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
)

// Logger takes the records of the LLM log. LogCall is called once per logical call, after its last attempt.
type Logger interface {
	LogCall(CallRecord) error
}

// CallRecord is one logical call for the LLM log (A-LOG-02). It holds no reasoning, no image data and no credential.
type CallRecord struct {
	Time        time.Time       `json:"ts"`
	CallID      string          `json:"call_id"`
	Session     string          `json:"session_id,omitempty"`
	Task        string          `json:"task_id,omitempty"`
	PlannerTask string          `json:"planner_task,omitempty"`
	Phase       agent.Phase     `json:"phase"`
	Iteration   int             `json:"iteration"`
	Replan      int             `json:"replan"`
	Model       string          `json:"model"`
	Request     RequestRecord   `json:"request"`
	Prompt      []MessageRecord `json:"prompt"`
	Attempts    []AttemptRecord `json:"attempts"`
	DurationMS  int64           `json:"duration_ms"`
	Response    *ResponseRecord `json:"response,omitempty"` // absent when the call failed
	ErrorCode   fault.Code      `json:"error_code,omitempty"`
}

// RequestRecord is the request's metadata.
type RequestRecord struct {
	Endpoint  string          `json:"endpoint"`
	Think     json.RawMessage `json:"think"`
	KeepAlive json.RawMessage `json:"keep_alive,omitzero"`
	Options   json.RawMessage `json:"options,omitzero"`
	Format    bool            `json:"format"`
	Tools     []string        `json:"tools,omitempty"`
}

// MessageRecord is one message of the prompt. Of an image only type and size are kept.
type MessageRecord struct {
	Role       string      `json:"role"`
	Content    string      `json:"content"`
	Images     []string    `json:"images,omitempty"`
	ToolCalls  []CallEntry `json:"tool_calls,omitempty"`
	ToolName   string      `json:"tool_name,omitempty"`
	ToolCallID string      `json:"tool_call_id,omitempty"`
}

// CallEntry is one tool call.
type CallEntry struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Source    string          `json:"source,omitempty"`
}

// AttemptRecord is one HTTP exchange of the call. Code is empty for the one that succeeded; ollama.model_output sets
// the model's own failures apart from those of the network.
type AttemptRecord struct {
	Status int        `json:"status,omitzero"`
	Code   fault.Code `json:"code,omitempty"`
	Cause  string     `json:"cause,omitempty"`
	WaitMS int64      `json:"wait_ms,omitzero"` // before the next attempt
}

// ResponseRecord is the reply without reasoning.
type ResponseRecord struct {
	Content    string       `json:"content"`
	ToolCalls  []CallEntry  `json:"tool_calls,omitempty"`
	DoneReason string       `json:"done_reason"`
	Usage      agent.Usage  `json:"usage"`
	Dropped    bool         `json:"dropped,omitzero"`
	Warnings   []fault.Code `json:"warnings,omitempty"`
}
