package uicontract

import "sekisho/internal/relay"

// Card is a request of the server that waits for a person. Its id is opaque and names one request of one connection: a
// card of an ended connection never becomes answerable again (R-REC-08). All text in it is shown literally (R-INT-08).
type Card struct {
	ID      string         `json:"id"`
	Kind    CardKind       `json:"kind"`
	State   CardState      `json:"state"`
	Ended   CardEnd        `json:"ended,omitzero"`
	Thread  relay.ThreadID `json:"thread"`
	Title   string         `json:"shownThread"` // the thread's title
	Turn    relay.TurnID   `json:"turn,omitzero"`
	Item    string         `json:"item,omitzero"`
	Profile string         `json:"profile"`
	Host    string         `json:"host"`
	AtMs    int64          `json:"atMs"`
	// Choices are exactly the server's, in its order; questions and permissions have none.
	Choices     []Choice          `json:"choices,omitzero"`
	Command     *CommandCard      `json:"command,omitzero"`
	Files       *FilesCard        `json:"files,omitzero"`
	Permissions *PermissionsCard  `json:"permissions,omitzero"`
	Questions   *QuestionsCard    `json:"questions,omitzero"`
	Form        *FormCard         `json:"form,omitzero"`
	Tool        *ToolApprovalCard `json:"tool,omitzero"`
	// Problem is why the last answer was not accepted; the card stays open.
	Problem *Problem `json:"problem,omitzero"`
}

// CardKind selects the member of Card that is set.
type CardKind string

// The kinds.
const (
	CardCommand     CardKind = "command"
	CardFiles       CardKind = "files"
	CardPermissions CardKind = "permissions"
	CardQuestions   CardKind = "questions"
	CardForm        CardKind = "form"
	CardTool        CardKind = "tool"
)

// Values implements Enum.
func (CardKind) Values() []string {
	return []string{"command", "files", "permissions", "questions", "form", "tool"}
}

// CardState tells whether a card can be answered.
type CardState string

// The states.
const (
	CardOpen      CardState = "open"
	CardAnswering CardState = "answering" // an answer is on its way
	CardEnded     CardState = "ended"
)

// Values implements Enum.
func (CardState) Values() []string { return []string{"open", "answering", "ended"} }

// CardEnd is why a card ended.
type CardEnd string

// The reasons.
const (
	EndAnswered     CardEnd = "answered"     // by this worker
	EndElsewhere    CardEnd = "elsewhere"    // resolved without our answer: another client, or the server's own end
	EndDisconnected CardEnd = "disconnected" // its connection ended
	EndUnknown      CardEnd = "unknown"      // an answer was sent and nobody can tell whether it arrived
	EndRefused      CardEnd = "refused"      // declined by the worker itself, see the notice
)

// Values implements Enum.
func (CardEnd) Values() []string {
	return []string{"answered", "elsewhere", "disconnected", "unknown", "refused"}
}

// Choice is one of the server's decisions. Name is its exact word. Argv or Host is the rule that ChangesRules makes.
type Choice struct {
	Name         string   `json:"name"`
	ChangesRules bool     `json:"changesRules,omitzero"`
	Argv         []string `json:"shownArgv,omitzero"`
	Host         string   `json:"shownHost,omitzero"`
	Action       string   `json:"action,omitzero"` // allow or deny, with Host
	Persist      string   `json:"persist,omitzero"`
}

// CommandCard is a command that wants to run, or input to a running one.
type CommandCard struct {
	WritesStdin bool              `json:"writesStdin,omitzero"`
	Command     string            `json:"shownCommand"`
	Cwd         string            `json:"shownCwd"`
	Reason      string            `json:"shownReason,omitzero"`
	Actions     []string          `json:"shownActions,omitzero"`
	NetworkHost string            `json:"shownNetworkHost,omitzero"`
	Network     string            `json:"network,omitzero"` // protocol of NetworkHost
	Extra       []PermissionEntry `json:"extra,omitzero"`   // permissions that come with it
}

// FilesCard is a patch; its changes as far as the item is known.
type FilesCard struct {
	Reason    string     `json:"shownReason,omitzero"`
	GrantRoot string     `json:"shownGrantRoot,omitzero"`
	Changes   []FileItem `json:"changes"`
}

// PermissionsCard asks for permissions; nothing is selected to begin with.
type PermissionsCard struct {
	Reason  string            `json:"shownReason,omitzero"`
	Cwd     string            `json:"shownCwd"`
	Entries []PermissionEntry `json:"entries"`
}

// PermissionEntry is one thing that is asked for; ID is what Answer.Grant lists.
type PermissionEntry struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`   // file, network
	Access string `json:"access"` // read, write, deny, network
	Shown  string `json:"shown"`  // the path, pattern or place
}

// QuestionsCard asks questions. Blocking is the server's word; neither kind blocks the composer (R-INT-02).
type QuestionsCard struct {
	Blocking  bool       `json:"blocking"`
	Questions []Question `json:"questions"`
}

// Question is one question; without options it is free text. Label is what an answer contains.
type Question struct {
	ID      string   `json:"id"`
	Header  string   `json:"shownHeader"`
	Text    string   `json:"shownText"`
	Other   bool     `json:"other,omitzero"`
	Options []Option `json:"options,omitzero"`
}

// Option is one answer that can be chosen.
type Option struct {
	Label string `json:"label"`
	Shown string `json:"shown"`
	About string `json:"shownAbout"`
}

// FormCard is a form of an MCP server.
type FormCard struct {
	Server  string  `json:"shownServer"`
	Message string  `json:"shownMessage"`
	Fields  []Field `json:"fields"`
}

// Field is one field of a form; limits that are absent do not apply. Default is a suggestion, never an answer by itself.
type Field struct {
	Name      string   `json:"name"`
	Label     string   `json:"shownLabel"`
	About     string   `json:"shownAbout,omitzero"`
	Kind      string   `json:"kind"` // string, number, integer, boolean, select, multiselect
	Required  bool     `json:"required,omitzero"`
	Options   []Option `json:"options,omitzero"`
	Default   any      `json:"default,omitzero"`
	Format    string   `json:"format,omitzero"`
	MinLength *int64   `json:"minLength,omitzero"`
	MaxLength *int64   `json:"maxLength,omitzero"`
	Minimum   *float64 `json:"minimum,omitzero"`
	Maximum   *float64 `json:"maximum,omitzero"`
	MinItems  *int64   `json:"minItems,omitzero"`
	MaxItems  *int64   `json:"maxItems,omitzero"`
}

// ToolApprovalCard asks whether a tool of an MCP server may be called. It is an approval, never a harmless form (R-INT-04).
type ToolApprovalCard struct {
	Server    string `json:"shownServer"`
	Message   string `json:"shownMessage"`
	About     string `json:"shownAbout,omitzero"`
	Kind      string `json:"shownKind"`
	Arguments string `json:"shownArguments,omitzero"`
}
