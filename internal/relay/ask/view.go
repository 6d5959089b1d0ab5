package ask

import "encoding/json"

// CommandView is a command approval. Line is what would run; Argv is the same, element by element, when the line is one
// that splits without doubt.
type CommandView struct {
	Stdin       bool             `json:"stdin,omitzero"` // text for a running command instead of a command
	Line        Text             `json:"line"`
	Argv        []Text           `json:"argv,omitzero"`
	Cwd         Text             `json:"cwd"`
	Reason      *Text            `json:"reason,omitzero"` // the model's words
	Environment *Text            `json:"environment,omitzero"`
	Network     *NetworkView     `json:"network,omitzero"`
	Extra       *PermissionsView `json:"extra,omitzero"` // permissions that come with accepting, all of them
}

// NetworkView is the host that a command wants to reach.
type NetworkView struct {
	Host     Host   `json:"host"`
	Protocol string `json:"protocol"`
}

// FileView is a file-change approval.
type FileView struct {
	// Known: the changes are those of the item. Without them nobody can accept.
	Known     bool         `json:"known"`
	Changes   []ChangeView `json:"changes,omitzero"`
	Reason    *Text        `json:"reason,omitzero"`
	GrantRoot *Text        `json:"grantRoot,omitzero"` // accepting grants write access below it for the session
}

// ChangeView is the change of one file.
type ChangeView struct {
	Path  Text   `json:"path"`
	Kind  string `json:"kind"` // add, delete, update; other: one that this version does not know
	Moved *Text  `json:"moved,omitzero"`
	Diff  Text   `json:"diff"`
}

// PermissionsView lists what is asked for, one Grant for each thing that can be granted alone.
type PermissionsView struct {
	Cwd         *Text   `json:"cwd,omitzero"`
	Reason      *Text   `json:"reason,omitzero"`
	Environment *Text   `json:"environment,omitzero"`
	Grants      []Grant `json:"grants"`
}

// Grant is one permission. Fixed ones restrict the others and come with any of them.
type Grant struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`            // network, path, pattern, special
	Access  string `json:"access,omitzero"` // read, write, deny
	Value   Text   `json:"value,omitzero"`
	Subpath *Text  `json:"subpath,omitzero"`
	Fixed   bool   `json:"fixed,omitzero"`
}

// QuestionsView is a set of questions, answered together. One that is not Blocking leaves the model at work.
type QuestionsView struct {
	Blocking  bool           `json:"blocking"`
	Questions []QuestionView `json:"questions"`
}

// QuestionView is one question: one of Options, free text (FreeText), or a text of one's own beside the options (Other).
type QuestionView struct {
	ID       string       `json:"id"`
	Header   Text         `json:"header"`
	Question Text         `json:"question"`
	Options  []OptionView `json:"options,omitzero"`
	Other    bool         `json:"other,omitzero"`
	FreeText bool         `json:"freeText,omitzero"`
}

// OptionView is one choice.
type OptionView struct {
	ID          string `json:"id"`
	Label       Text   `json:"label"`
	Description Text   `json:"description"`
}

// FormView is an MCP form.
type FormView struct {
	Server  Text        `json:"server"`
	Message Text        `json:"message"`
	Fields  []FieldView `json:"fields"`
}

// FieldView is one field. Limits that are absent do not apply; lengths are in characters.
type FieldView struct {
	ID          string       `json:"id"`
	Name        Text         `json:"name"`
	Title       *Text        `json:"title,omitzero"`
	Description *Text        `json:"description,omitzero"`
	Kind        string       `json:"kind"` // string, number, integer, boolean, select, multiselect
	Required    bool         `json:"required,omitzero"`
	Options     []OptionView `json:"options,omitzero"`
	MinLength   *int64       `json:"minLength,omitzero"`
	MaxLength   *int64       `json:"maxLength,omitzero"`
	Minimum     *float64     `json:"minimum,omitzero"`
	Maximum     *float64     `json:"maximum,omitzero"`
	MinItems    *int64       `json:"minItems,omitzero"`
	MaxItems    *int64       `json:"maxItems,omitzero"`
	Format      string       `json:"format,omitzero"` // email, uri, date, date-time
	// Default is a suggestion for the control, as a value that Answer.Content takes; never an answer by itself. A string
	// in it is not escaped: it belongs into an input, nowhere else.
	Default json.RawMessage `json:"default,omitzero"`
}

// ToolView is the approval of an MCP tool call.
type ToolView struct {
	Server      Text  `json:"server"`
	Message     Text  `json:"message"`
	Approval    Text  `json:"approval"` // the server's name for this kind of approval
	Description *Text `json:"description,omitzero"`
	Params      *Text `json:"params,omitzero"` // the arguments, as JSON
}
