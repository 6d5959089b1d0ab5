package codex

import (
	"slices"

	"sekisho/internal/relay"
)

// Item is one thing in a turn. Type and ID are always set; Body is nil for a type that this client does not know and for
// one whose payload has not the known shape (Malformed then says so): neither ends a page of history, both can be shown
// as "something of type T".
type Item struct {
	ID        relay.ItemID
	Type      string
	Body      ItemBody
	Malformed bool
	// Raw is the item as it came.
	Raw Raw
}

// ItemBody is one of the pointer types below.
type ItemBody interface{ itemType() string }

type itemHead struct {
	ID   relay.ItemID `json:"id"`
	Type string       `json:"type"`
}

// MarshalJSON implements json.Marshaler.
func (i Item) MarshalJSON() ([]byte, error) {
	if i.Raw != nil {
		return i.Raw, nil
	}
	return Encode(itemHead{i.ID, i.Type})
}

// UnmarshalJSON implements json.Unmarshaler. Only an item without a short id and type is an error.
func (i *Item) UnmarshalJSON(data []byte) error {
	tree, err := parse(data)
	if err != nil {
		return err
	}
	object, _ := tree.(map[string]any)
	id, _ := object["id"].(string)
	kind, _ := object["type"].(string)
	if id == "" || kind == "" || len(id) > relay.MaxID || len(kind) > relay.MaxID {
		return bad("item", "has no id or type, or a long one")
	}
	*i = Item{ID: relay.ItemID(id), Type: kind, Raw: slices.Clone(data)}
	if newBody, ok := itemBodies[kind]; ok {
		body := newBody()
		if err := decodeTree(tree, data, body); err != nil {
			i.Malformed = true
		} else {
			i.Body = body
		}
	}
	return nil
}

// itemBodies makes an empty body per item type.
var itemBodies = map[string]func() ItemBody{
	"userMessage":         func() ItemBody { return new(UserMessage) },
	"agentMessage":        func() ItemBody { return new(AgentMessage) },
	"reasoning":           func() ItemBody { return new(Reasoning) },
	"plan":                func() ItemBody { return new(Plan) },
	"commandExecution":    func() ItemBody { return new(CommandExecution) },
	"fileChange":          func() ItemBody { return new(FileChange) },
	"mcpToolCall":         func() ItemBody { return new(McpToolCall) },
	"webSearch":           func() ItemBody { return new(WebSearch) },
	"imageView":           func() ItemBody { return new(ImageView) },
	"imageGeneration":     func() ItemBody { return new(ImageGeneration) },
	"enteredReviewMode":   func() ItemBody { return new(EnteredReview) },
	"exitedReviewMode":    func() ItemBody { return new(ExitedReview) },
	"contextCompaction":   func() ItemBody { return new(ContextCompaction) },
	"hookPrompt":          func() ItemBody { return new(HookPrompt) },
	"dynamicToolCall":     func() ItemBody { return new(DynamicToolCall) },
	"collabAgentToolCall": func() ItemBody { return new(CollabCall) },
	"subAgentActivity":    func() ItemBody { return new(SubAgentActivity) },
	"functionCallOutput":  func() ItemBody { return new(FunctionCallOutput) },
	"sleep":               func() ItemBody { return new(SleepItem) },
}

// UserMessage is what a person sent. ClientID is the clientUserMessageId of the turn/start that carried it: found in
// history it proves delivery, its absence proves nothing (R-REC-07).
type UserMessage struct {
	ClientID string      `json:"clientId,omitzero"`
	Content  []UserInput `json:"content"`
}

// AgentMessage is what the model said.
type AgentMessage struct {
	Text  string `json:"text"`
	Phase string `json:"phase,omitzero"`
	// Questions are asynchronous questions inside the message, carried as they came.
	Questions Raw `json:"questions,omitzero"`
}

// Reasoning holds the paragraphs of summary and content.
type Reasoning struct {
	Summary []string `json:"summary,omitzero"`
	Content []string `json:"content,omitzero"`
}

// Plan is a proposed plan; the completed one replaces its deltas (R-DAY-01).
type Plan struct {
	Text string `json:"text"`
}

// CommandExecution is one command. Source userShell is thread/shellCommand; agent may become unifiedExecStartup between
// start and completion.
type CommandExecution struct {
	Command          string          `json:"command"`
	Cwd              string          `json:"cwd"`
	Status           string          `json:"status"` // inProgress, completed, failed, declined
	CommandActions   []CommandAction `json:"commandActions"`
	Source           string          `json:"source,omitzero"`
	ProcessID        string          `json:"processId,omitzero"`
	AggregatedOutput *string         `json:"aggregatedOutput,omitzero"`
	ExitCode         *int64          `json:"exitCode,omitzero"`
	DurationMs       *int64          `json:"durationMs,omitzero"`
}

// FileChange is a patch.
type FileChange struct {
	Status  string       `json:"status"` // inProgress, completed, failed, declined
	Changes []FileUpdate `json:"changes"`
}

// FileUpdate is the change of one file, with its server path.
type FileUpdate struct {
	Path string     `json:"path"`
	Kind ChangeKind `json:"kind"`
	Diff string     `json:"diff"`
}

// ChangeKind is add, delete or update; an update may move the file.
type ChangeKind struct {
	Type     string `json:"type"`
	MovePath string `json:"move_path,omitzero"`
}

func (ChangeKind) variants() Variants {
	return Variants{Tag: "type", Open: true, Required: map[string][]string{"add": nil, "delete": nil, "update": nil}}
}

// McpToolCall is a call of an MCP tool.
type McpToolCall struct {
	Server       string     `json:"server"`
	Tool         string     `json:"tool"`
	Status       string     `json:"status"` // inProgress, completed, failed
	Arguments    Raw        `json:"arguments"`
	Result       *McpResult `json:"result,omitzero"`
	Error        *McpError  `json:"error,omitzero"`
	DurationMs   *int64     `json:"durationMs,omitzero"`
	ReadOnlyHint *bool      `json:"readOnlyHint,omitzero"`
}

// McpResult is what the tool returned.
type McpResult struct {
	Content           []Raw `json:"content"`
	StructuredContent Raw   `json:"structuredContent,omitzero"`
}

// McpError is why the tool failed.
type McpError struct {
	Message string `json:"message"`
}

// WebSearch is a search or a page that was opened.
type WebSearch struct {
	Query  string `json:"query"`
	Action Raw    `json:"action,omitzero"`
}

// ImageView is an image of the server that the model looked at.
type ImageView struct {
	Path string `json:"path"`
}

// ImageGeneration is a made image; Result is base64 or empty.
type ImageGeneration struct {
	Status        string `json:"status"`
	Result        string `json:"result,omitzero"`
	RevisedPrompt string `json:"revisedPrompt,omitzero"`
	SavedPath     string `json:"savedPath,omitzero"`
}

// EnteredReview and ExitedReview frame a review.
type EnteredReview struct {
	Review string `json:"review"`
}

// ExitedReview ends a review with its text.
type ExitedReview struct {
	Review string `json:"review"`
}

// ContextCompaction marks where the server shortened the context.
type ContextCompaction struct{}

// HookPrompt is text that a hook put in.
type HookPrompt struct {
	Fragments []HookFragment `json:"fragments"`
}

// HookFragment is one text of a hook's run.
type HookFragment struct {
	HookRunID string `json:"hookRunId"`
	Text      string `json:"text"`
}

// DynamicToolCall is a call of a tool of some client; this one offers none.
type DynamicToolCall struct {
	Tool      string `json:"tool"`
	Status    string `json:"status"`
	Arguments Raw    `json:"arguments"`
}

// CollabCall is one agent's call to others.
type CollabCall struct {
	Tool     string         `json:"tool"`
	Status   string         `json:"status"`
	Sender   relay.ThreadID `json:"senderThreadId"`
	Receiver []string       `json:"receiverThreadIds"`
	Prompt   string         `json:"prompt,omitzero"`
}

// SubAgentActivity is a note about another agent's thread.
type SubAgentActivity struct {
	Kind   string         `json:"kind"`
	Thread relay.ThreadID `json:"agentThreadId"`
	Path   string         `json:"agentPath"`
}

// FunctionCallOutput is a raw tool output.
type FunctionCallOutput struct {
	Name   string `json:"name"`
	Output Raw    `json:"output"`
}

// SleepItem is a pause of the agent.
type SleepItem struct {
	DurationMs int64 `json:"durationMs"`
}

func (*UserMessage) itemType() string        { return "userMessage" }
func (*AgentMessage) itemType() string       { return "agentMessage" }
func (*Reasoning) itemType() string          { return "reasoning" }
func (*Plan) itemType() string               { return "plan" }
func (*CommandExecution) itemType() string   { return "commandExecution" }
func (*FileChange) itemType() string         { return "fileChange" }
func (*McpToolCall) itemType() string        { return "mcpToolCall" }
func (*WebSearch) itemType() string          { return "webSearch" }
func (*ImageView) itemType() string          { return "imageView" }
func (*ImageGeneration) itemType() string    { return "imageGeneration" }
func (*EnteredReview) itemType() string      { return "enteredReviewMode" }
func (*ExitedReview) itemType() string       { return "exitedReviewMode" }
func (*ContextCompaction) itemType() string  { return "contextCompaction" }
func (*HookPrompt) itemType() string         { return "hookPrompt" }
func (*DynamicToolCall) itemType() string    { return "dynamicToolCall" }
func (*CollabCall) itemType() string         { return "collabAgentToolCall" }
func (*SubAgentActivity) itemType() string   { return "subAgentActivity" }
func (*FunctionCallOutput) itemType() string { return "functionCallOutput" }
func (*SleepItem) itemType() string          { return "sleep" }
