package uicontract

import "sekisho/internal/relay"

// Item is one thing in a thread. Texts are cut to PreviewBytes; item.read has more.
type Item struct {
	ID   string       `json:"id"`
	Turn relay.TurnID `json:"turn"`
	// TurnAt is when the turn started, in Unix seconds, if the server told.
	TurnAt int64      `json:"turnAt,omitzero"`
	Type   string     `json:"type"` // the server's word, such as agentMessage
	Status ItemStatus `json:"status"`
	// Text: of messages, plans, reviews, reasoning; output of a command.
	Text *Excerpt `json:"text,omitzero"`
	// Operation of the message, when this worker sent it.
	Operation relay.OperationID `json:"operation,omitzero"`
	Reasoning []Excerpt         `json:"reasoning,omitzero"` // summary paragraphs
	Content   []Excerpt         `json:"content,omitzero"`   // raw reasoning, by part
	Command   *CommandItem      `json:"command,omitzero"`
	Files     []FileItem        `json:"files,omitzero"`
	Mcp       *McpItem          `json:"mcp,omitzero"`
	// Note says something about other types: a query, a path, a tool's name.
	Note string `json:"shownNote,omitzero"`
	// Malformed: the server's item has not the known shape; only its type is shown.
	Malformed bool `json:"malformed,omitzero"`
	// Partial: the beginning or a middle of the text was never received. Cut is how many bytes the worker does not keep.
	Partial bool `json:"partial,omitzero"`
	Cut     int  `json:"cut,omitzero"`
}

// PreviewBytes caps a text in items and snapshots.
const PreviewBytes = 8 << 10

// ItemStatus tells whether an item can still change.
type ItemStatus string

// The statuses.
const (
	ItemRunning   ItemStatus = "running"
	ItemDone      ItemStatus = "done"
	ItemFailed    ItemStatus = "failed"
	ItemDeclined  ItemStatus = "declined"
	ItemAbandoned ItemStatus = "abandoned" // its turn ended without its completion
)

// Values implements Enum.
func (ItemStatus) Values() []string {
	return []string{"running", "done", "failed", "declined", "abandoned"}
}

// Excerpt is bounded text. Left is how many bytes this worker left out; at the end, or with Tail at the beginning.
type Excerpt struct {
	Text string `json:"text"`
	Left int    `json:"left,omitzero"`
	Tail bool   `json:"tail,omitzero"`
}

// CommandItem is a command with its result; ExitCode is absent while it runs.
type CommandItem struct {
	Shown    string `json:"shown"`
	ShownCwd string `json:"shownCwd"`
	Source   string `json:"source,omitzero"`
	ExitCode *int64 `json:"exitCode,omitzero"`
}

// FileItem is the change of one file.
type FileItem struct {
	ShownPath string  `json:"shownPath"`
	Kind      string  `json:"kind"` // add, delete, update
	ShownMove string  `json:"shownMove,omitzero"`
	Diff      Excerpt `json:"diff"`
}

// McpItem is a call of an MCP tool.
type McpItem struct {
	Server    string   `json:"shownServer"`
	Tool      string   `json:"shownTool"`
	Arguments Excerpt  `json:"arguments"`
	Result    *Excerpt `json:"result,omitzero"`
	Error     string   `json:"shownError,omitzero"`
}
