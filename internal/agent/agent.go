// Package agent is the vocabulary of agent-mcp: ids, messages, tool calls and results, usage, and the status snapshot that
// agent_status tells. It holds types only.
package agent

import (
	"encoding/json"
	"time"

	"sekisho/internal/fault"
)

// Status is the state of an agent task and of a planner task (A-RUN-01).
type Status string

// The states of A-RUN-01; the last three are terminal.
const (
	Queued    Status = "queued"
	Planning  Status = "planning"
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Terminal reports whether s is never left.
func (s Status) Terminal() bool { return s == Completed || s == Failed || s == Cancelled }

// Phase names what a model call is for (A-LOG-02).
type Phase string

// The phases of A-LOG-02.
const (
	PhasePlanning       Phase = "planning"
	PhaseSkillSelection Phase = "skill_selection"
	PhaseReplanning     Phase = "replanning"
	PhaseExecution      Phase = "execution"
	PhaseContextSummary Phase = "context_summary"
)

// Names of the internal tools (section 5).
const (
	ToolFileSearch = "file_search"
	ToolFileRead   = "file_read"
	ToolFileEdit   = "file_edit"
	ToolProcessRun = "process_run"
	ToolTaskUpdate = "task_update"
	ToolDir        = "dir"
)

// Image is one validated input image; Data is the standard Base64 text as it goes to the model.
type Image struct {
	MIMEType string
	Data     string
}

// Message is one chat message. Thinking is carried only inside a tool-call exchange and never stored (A-OLL-04).
type Message struct {
	Role       string // system, user, assistant, tool
	Content    string
	Thinking   string
	Images     []Image
	ToolCalls  []ToolCall // of an assistant message
	ToolName   string     // of a tool message
	ToolCallID string     // of a tool message
}

// Call sources for the audit (A-OLL-07).
const (
	SourceNative  = "tool_calls"
	SourceContent = "content"
)

// ToolCall is one call as the model made it: untrusted. Arguments is always one JSON object ("{}" when the model gave
// none), not yet validated against the tool's schema.
type ToolCall struct {
	ID        string
	Name      string
	Arguments json.RawMessage
	Source    string // SourceNative or SourceContent
}

// ToolSpec describes one internal tool to the model.
type ToolSpec struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments
}

// ToolResult is the outcome of one call (A-TOOL-07). Content is the internal text for the model; UserText is localized and
// names no internal tool.
type ToolResult struct {
	CallID  string
	Name    string
	OK      bool
	Content string
	// SideEffect is true when a call that counts as evidence of A-PLAN-09 succeeded: file_edit, process_run, dir with
	// mkdir or rmdir.
	SideEffect bool

	ErrorCode          fault.Code
	ErrorCategory      fault.Category
	TargetPath         string
	RequiredPermission string
	RetryAllowed       bool
	Resolution         string
	UserText           string
	// Happened is the part of UserText that says what happened, without what to do.
	Happened string
	// Fatal is set when the failure ends the agent task whatever the model does next (recovery_failure, sandbox.lost).
	Fatal *fault.Error
	// Changed lists files that the call changed, for deterministic summaries.
	Changed []string
}

// Usage counts tokens of one or several model calls.
type Usage struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}

// Add returns the sum.
func (u Usage) Add(v Usage) Usage { return Usage{u.Input + v.Input, u.Output + v.Output} }

// Total is input plus output.
func (u Usage) Total() int64 { return u.Input + u.Output }

// OllamaOptions are the typed options of A-OLL-02. A nil pointer (or nil Stop) is not sent.
type OllamaOptions struct {
	NumCtx           *int     `json:"num_ctx,omitempty"`
	NumKeep          *int     `json:"num_keep,omitempty"`
	NumPredict       *int     `json:"num_predict,omitempty"`
	Temperature      *float64 `json:"temperature,omitempty"`
	Seed             *int     `json:"seed,omitempty"`
	TopK             *int     `json:"top_k,omitempty"`
	TopP             *float64 `json:"top_p,omitempty"`
	MinP             *float64 `json:"min_p,omitempty"`
	TypicalP         *float64 `json:"typical_p,omitempty"`
	TfsZ             *float64 `json:"tfs_z,omitempty"`
	RepeatLastN      *int     `json:"repeat_last_n,omitempty"`
	RepeatPenalty    *float64 `json:"repeat_penalty,omitempty"`
	PresencePenalty  *float64 `json:"presence_penalty,omitempty"`
	FrequencyPenalty *float64 `json:"frequency_penalty,omitempty"`
	Mirostat         *int     `json:"mirostat,omitempty"`
	MirostatTau      *float64 `json:"mirostat_tau,omitempty"`
	MirostatEta      *float64 `json:"mirostat_eta,omitempty"`
	Stop             []string `json:"stop,omitempty"`
	NumBatch         *int     `json:"num_batch,omitempty"`
	NumGPU           *int     `json:"num_gpu,omitempty"`
	MainGPU          *int     `json:"main_gpu,omitempty"`
	NumThread        *int     `json:"num_thread,omitempty"`
	UseMmap          *bool    `json:"use_mmap,omitempty"`
}

// TaskStatus is the snapshot behind agent_status (A-MCP-03). Texts are localized: values inside them are escaped,
// but they may be longer than a line, and Result is the model's text as it is.
type TaskStatus struct {
	TaskID             string
	SessionID          string
	Status             Status
	CompletedTasks     int
	TotalTasks         int
	CurrentTask        string
	Usage              Usage
	CriticalPathTokens int64
	Iterations         int
	Replans            int
	LastErrorCode      fault.Code
	LastError          string
	Message            string
	Result             string    // only when Status is Completed
	Updated            time.Time // when any of it changed last
}
