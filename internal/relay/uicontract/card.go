package uicontract

import (
	"encoding/json"

	"sekisho/internal/relay"
	"sekisho/internal/relay/ask"
	"sekisho/internal/relay/codex"
)

// Card is a request of the server that waits for a person, or did. Its id is opaque and names one request of one
// connection: a card of an ended connection never becomes answerable again (R-REC-08). What is to be judged is literal
// (R-INT-08); the member that Kind selects is set.
type Card struct {
	ID     string         `json:"id"`
	Order  uint64         `json:"order"` // of arrival, growing
	Kind   CardKind       `json:"kind"`
	State  CardState      `json:"state"`
	Title  string         `json:"shownThread"` // the thread's title
	Place  Place          `json:"place"`
	Turn   relay.TurnID   `json:"turn,omitzero"`
	Item   string         `json:"item,omitzero"`
	Thread relay.ThreadID `json:"thread"`
	AtMs   int64          `json:"atMs"` // when this worker got it
	// Long: accepting needs Answer.SeenEnd.
	Long        bool                 `json:"long,omitzero"`
	Choices     []ask.Choice         `json:"choices,omitzero"`
	Command     *ask.CommandView     `json:"command,omitzero"`
	File        *ask.FileView        `json:"file,omitzero"`
	Permissions *ask.PermissionsView `json:"permissions,omitzero"`
	Questions   *ask.QuestionsView   `json:"questions,omitzero"`
	Form        *ask.FormView        `json:"form,omitzero"`
	Tool        *ask.ToolView        `json:"tool,omitzero"`
	// Refusal is why nobody was asked.
	Refusal *Problem `json:"refusal,omitzero"`
}

// Place says where a request comes from: both are this worker's words, not the server's.
type Place struct {
	Profile string `json:"profile"`
	Host    string `json:"host"`
}

// CardKind selects how a card is shown.
type CardKind string

// Values implements Enum.
func (CardKind) Values() []string {
	return names(ask.CommandCard, ask.FileCard, ask.PermissionsCard, ask.QuestionCard, ask.FormCard, ask.ToolCard, ask.RefusedCard)
}

// CardState tells whether a card can be answered, and how it ended. Only pending can be answered.
type CardState string

// Values implements Enum.
func (CardState) Values() []string {
	return names(ask.Pending, ask.Answering, ask.Answered, ask.Unknown, ask.Resolved, ask.Closed, ask.Expired, ask.Ended, ask.Refused)
}

func names[T ~string](values ...T) []string {
	list := make([]string, 0, len(values))
	for _, v := range values {
		list = append(list, string(v))
	}
	return list
}

// Answer answers one card, in terms of the card: ids, never text of the server. Which members count depends on the kind;
// any other member makes it invalid (ask.Answer).
type Answer struct {
	Card    string                     `json:"card"`
	Choice  string                     `json:"choice,omitzero"`
	Grants  []string                   `json:"grants,omitzero"`
	Scope   codex.GrantScope           `json:"scope,omitzero"`
	Replies map[string]ask.Reply       `json:"replies,omitzero"`
	Content map[string]json.RawMessage `json:"content,omitzero"`
	SeenEnd bool                       `json:"seenEnd,omitzero"`
}
