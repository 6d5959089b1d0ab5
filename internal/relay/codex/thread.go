package codex

import "sekisho/internal/relay"

// Thread is the metadata of one conversation. Turns are filled only where the method says so.
type Thread struct {
	ID            relay.ThreadID `json:"id"`
	SessionID     string         `json:"sessionId"`
	Preview       string         `json:"preview"`
	Ephemeral     bool           `json:"ephemeral"`
	ModelProvider string         `json:"modelProvider"`
	Status        ThreadStatus   `json:"status"`
	Cwd           string         `json:"cwd"`
	CLIVersion    string         `json:"cliVersion"`
	Source        Raw            `json:"source"`
	CreatedAt     int64          `json:"createdAt"` // Unix seconds, like UpdatedAt and RecencyAt
	UpdatedAt     int64          `json:"updatedAt"`
	Turns         []Turn         `json:"turns"`
	RecencyAt     int64          `json:"recencyAt,omitzero"`
	Name          string         `json:"name,omitzero"`
	Model         string         `json:"model,omitzero"`
	Originator    string         `json:"originator,omitzero"`
	ForkedFromID  relay.ThreadID `json:"forkedFromId,omitzero"`
	ParentID      relay.ThreadID `json:"parentThreadId,omitzero"`
	HistoryMode   string         `json:"historyMode,omitzero"`
	Effort        string         `json:"reasoningEffort,omitzero"`
}

// ThreadStatus is notLoaded, idle, systemError or active; another value is kept, and may be cut. Of the flags only known
// ones are kept, each once.
type ThreadStatus struct {
	Type        string   `json:"type"`
	ActiveFlags []string `json:"activeFlags,omitzero"` // waitingOnApproval, waitingOnUserInput
}

func (ThreadStatus) variants() Variants {
	return Variants{Tag: "type", Open: true, Required: map[string][]string{"notLoaded": nil, "idle": nil, "systemError": nil, "active": {"activeFlags"}}}
}

// Flags and types of a status.
const (
	StatusNotLoaded    = "notLoaded"
	StatusIdle         = "idle"
	StatusSystemError  = "systemError"
	StatusActive       = "active"
	FlagWaitApproval   = "waitingOnApproval"
	FlagWaitsUserInput = "waitingOnUserInput"
)

// Turn is one exchange.
type Turn struct {
	ID          relay.TurnID `json:"id"`
	Items       []Item       `json:"items"`
	Status      TurnStatus   `json:"status"`
	ItemsView   string       `json:"itemsView,omitzero"` // notLoaded, summary, full
	Error       *TurnError   `json:"error,omitzero"`
	StartedAt   int64        `json:"startedAt,omitzero"` // Unix seconds
	CompletedAt int64        `json:"completedAt,omitzero"`
	DurationMs  int64        `json:"durationMs,omitzero"`
}

// TurnStatus is one of the values below; another one is kept and is not an end.
type TurnStatus string

// The statuses.
const (
	TurnInProgress  TurnStatus = "inProgress"
	TurnCompleted   TurnStatus = "completed"
	TurnInterrupted TurnStatus = "interrupted"
	TurnFailed      TurnStatus = "failed"
)

// Ended reports whether a turn with this status is over.
func (s TurnStatus) Ended() bool {
	return s == TurnCompleted || s == TurnInterrupted || s == TurnFailed
}

// TurnError is why a turn failed, cut to MaxErrorText. Info is a string or an object with the kind as its only member.
type TurnError struct {
	Message           string `json:"message"`
	Info              Raw    `json:"codexErrorInfo,omitzero"`
	AdditionalDetails string `json:"additionalDetails,omitzero"`
}

// ItemEntry is an item of thread/items/list.
type ItemEntry struct {
	TurnID        relay.TurnID `json:"turnId"`
	Item          Item         `json:"item"`
	StartedAtMs   int64        `json:"startedAtMs,omitzero"`
	CompletedAtMs int64        `json:"completedAtMs,omitzero"`
}

// Attachment is a stored attachment; the payload is inert data (R-REC-06).
type Attachment struct {
	ID             string `json:"id"`
	AttachmentType string `json:"attachmentType"`
	IdentityKey    string `json:"identityKey"`
	CreatedAt      int64  `json:"createdAt"`
	Payload        Raw    `json:"payload"`
}

// TokenUsage counts tokens.
type TokenUsage struct {
	Total              TokenCounts `json:"total"`
	Last               TokenCounts `json:"last"`
	ModelContextWindow int64       `json:"modelContextWindow,omitzero"`
}

// TokenCounts is one row of TokenUsage.
type TokenCounts struct {
	TotalTokens           int64 `json:"totalTokens"`
	InputTokens           int64 `json:"inputTokens"`
	CachedInputTokens     int64 `json:"cachedInputTokens"`
	OutputTokens          int64 `json:"outputTokens"`
	ReasoningOutputTokens int64 `json:"reasoningOutputTokens"`
}

// SandboxPolicy is the server's own sandbox, shown and passed on, never enforced here (R-PRI-06).
type SandboxPolicy struct {
	Type          string   `json:"type"` // dangerFullAccess, readOnly, externalSandbox, workspaceWrite
	NetworkAccess Raw      `json:"networkAccess,omitzero"`
	WritableRoots []string `json:"writableRoots,omitzero"`
}

func (SandboxPolicy) variants() Variants {
	return Variants{Tag: "type", Open: true, Required: map[string][]string{"dangerFullAccess": nil, "readOnly": nil, "externalSandbox": nil, "workspaceWrite": nil}}
}
