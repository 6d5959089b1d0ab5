package codex

import (
	"sekisho/internal/relay"
)

// Notification is a decoded notification: one of the pointer types below, or *Other.
type Notification interface {
	// Method is the exact name on the wire.
	Method() string
	// Scope says what it belongs to; members that it does not have are empty.
	Scope() Scope
}

// Other is a notification that this client does not use. Known says whether a pinned contract lists it; both are logged
// by name and ignored (R-CON-07).
type Other struct {
	Name  string
	Known bool
}

// Method implements Notification. The name is server text.
func (o *Other) Method() string { return o.Name }

// Scope implements Notification: never of a thread, so that it can reach no state.
func (*Other) Scope() Scope { return Scope{} }

// DecodeNotification decodes the params of one notification. A name that is not used yields *Other without looking at the
// params; the error of a malformed known one wraps ErrBadParams.
func DecodeNotification(method string, params []byte) (Notification, error) {
	decode, ok := notifications[method]
	if !ok {
		return &Other{method, knownNotifications[method]}, nil
	}
	return decode(params)
}

// ThreadStarted announces a thread, also one of another client (R-CONN-08).
type ThreadStarted struct {
	Thread Thread `json:"thread"`
}

// ThreadStatusChanged is thread/status/changed.
type ThreadStatusChanged struct {
	ThreadID relay.ThreadID `json:"threadId"`
	Status   ThreadStatus   `json:"status"`
}

// ThreadNote is a notification that names a thread and says no more than its method does: thread/closed, archived,
// unarchived, deleted, reverted, queue/changed, goal/cleared.
type ThreadNote struct {
	Name     string         `json:"-"`
	ThreadID relay.ThreadID `json:"threadId"`
}

// ThreadNameUpdated is thread/name/updated.
type ThreadNameUpdated struct {
	ThreadID   relay.ThreadID `json:"threadId"`
	ThreadName string         `json:"threadName,omitzero"`
}

// ThreadCompacted is thread/compacted.
type ThreadCompacted struct {
	ThreadID relay.ThreadID `json:"threadId"`
	TurnID   relay.TurnID   `json:"turnId"`
}

// ThreadSettingsUpdated is thread/settings/updated.
type ThreadSettingsUpdated struct {
	ThreadID relay.ThreadID `json:"threadId"`
	Settings ThreadSettings `json:"threadSettings"`
}

// ThreadSettings are the effective settings of a thread.
type ThreadSettings struct {
	Cwd            string        `json:"cwd"`
	ApprovalPolicy Raw           `json:"approvalPolicy"`
	SandboxPolicy  SandboxPolicy `json:"sandboxPolicy"`
	Model          string        `json:"model"`
	ModelProvider  string        `json:"modelProvider"`
	Effort         string        `json:"effort,omitzero"`
	Summary        string        `json:"summary,omitzero"`
	ServiceTier    string        `json:"serviceTier,omitzero"`
	Personality    string        `json:"personality,omitzero"`
}

// TokenUsageUpdated is thread/tokenUsage/updated.
type TokenUsageUpdated struct {
	ThreadID   relay.ThreadID `json:"threadId"`
	TurnID     relay.TurnID   `json:"turnId"`
	TokenUsage TokenUsage     `json:"tokenUsage"`
}

// AttachmentUpdated only says that the list is out of date: a created one has no payload (R-REC-06).
type AttachmentUpdated struct {
	ThreadID       relay.ThreadID `json:"threadId"`
	AttachmentID   string         `json:"attachmentId"`
	AttachmentType string         `json:"attachmentType"`
	IdentityKey    string         `json:"identityKey"`
	Operation      string         `json:"operation"` // created, deleted
}

// TurnStarted is turn/started.
type TurnStarted struct {
	ThreadID relay.ThreadID `json:"threadId"`
	Turn     Turn           `json:"turn"`
}

// TurnDone is turn/completed: over, whatever its status.
type TurnDone struct {
	ThreadID relay.ThreadID `json:"threadId"`
	Turn     Turn           `json:"turn"`
}

// TurnDiff is turn/diff/updated: the whole diff of the turn so far.
type TurnDiff struct {
	ThreadID relay.ThreadID `json:"threadId"`
	TurnID   relay.TurnID   `json:"turnId"`
	Diff     string         `json:"diff"`
}

// TurnPlan is turn/plan/updated: the steps of the turn, replacing earlier ones.
type TurnPlan struct {
	ThreadID    relay.ThreadID `json:"threadId"`
	TurnID      relay.TurnID   `json:"turnId"`
	Explanation string         `json:"explanation,omitzero"`
	Plan        []PlanStep     `json:"plan"`
}

// PlanStep is one step; status is pending, inProgress or completed.
type PlanStep struct {
	Step   string `json:"step"`
	Status string `json:"status"`
}

// ItemStarted is item/started. It can precede turn/started.
type ItemStarted struct {
	ThreadID    relay.ThreadID `json:"threadId"`
	TurnID      relay.TurnID   `json:"turnId"`
	Item        Item           `json:"item"`
	StartedAtMs int64          `json:"startedAtMs"`
}

// ItemCompleted is item/completed. It can come long after its turn has ended, with the old turn's id (R-CONN-08).
type ItemCompleted struct {
	ThreadID      relay.ThreadID `json:"threadId"`
	TurnID        relay.TurnID   `json:"turnId"`
	Item          Item           `json:"item"`
	CompletedAtMs int64          `json:"completedAtMs"`
}

// ItemDelta is one piece of text of an item: agentMessage/delta, plan/delta, commandExecution/outputDelta,
// fileChange/outputDelta, reasoning/textDelta and reasoning/summaryTextDelta; Index is the part of a reasoning item.
type ItemDelta struct {
	Name     string         `json:"-"`
	ThreadID relay.ThreadID `json:"threadId"`
	TurnID   relay.TurnID   `json:"turnId"`
	ItemID   relay.ItemID   `json:"itemId"`
	Delta    string         `json:"delta"`
	Index    int            `json:"-"`
}

// ReasoningPartAdded starts a new summary part.
type ReasoningPartAdded struct {
	ThreadID     relay.ThreadID `json:"threadId"`
	TurnID       relay.TurnID   `json:"turnId"`
	ItemID       relay.ItemID   `json:"itemId"`
	SummaryIndex int            `json:"summaryIndex"`
}

// PatchUpdated is item/fileChange/patchUpdated.
type PatchUpdated struct {
	ThreadID relay.ThreadID `json:"threadId"`
	TurnID   relay.TurnID   `json:"turnId"`
	ItemID   relay.ItemID   `json:"itemId"`
	Changes  []FileUpdate   `json:"changes"`
}

// McpProgress is item/mcpToolCall/progress.
type McpProgress struct {
	ThreadID relay.ThreadID `json:"threadId"`
	TurnID   relay.TurnID   `json:"turnId"`
	ItemID   relay.ItemID   `json:"itemId"`
	Text     string         `json:"message"`
}

// RequestResolved is serverRequest/resolved: somebody answered, or the request is no more.
type RequestResolved struct {
	ThreadID  relay.ThreadID  `json:"threadId"`
	RequestID relay.RequestID `json:"requestId"`
}

// ErrorNote is error: a failure of a turn, which the server may retry itself.
type ErrorNote struct {
	ThreadID  relay.ThreadID `json:"threadId"`
	TurnID    relay.TurnID   `json:"turnId"`
	Error     TurnError      `json:"error"`
	WillRetry bool           `json:"willRetry"`
}

// Warning is warning.
type Warning struct {
	ThreadID relay.ThreadID `json:"threadId,omitzero"`
	Text     string         `json:"message"`
}

// ConfigWarning is configWarning; Path is a file of the server.
type ConfigWarning struct {
	Summary string `json:"summary"`
	Details string `json:"details,omitzero"`
	Path    string `json:"path,omitzero"`
}

// DeprecationNotice is deprecationNotice.
type DeprecationNotice struct {
	Summary string `json:"summary"`
	Details string `json:"details,omitzero"`
}
