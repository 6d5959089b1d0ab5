// Package ask holds what the server asks people: the Pending Request Registry (R-INT-01). It projects each request into
// a Card that can be shown whole and literally, validates the answer against what was asked, and lets at most one answer
// per request reach the wire.
//
// Threats: a request may try to look harmless, to ask for more than it shows, or to be answered twice; a page may answer
// for another owner, or too late. So text is escaped here and split from labels; anything that is not understood is
// refused with a reason, never granted; the owner is checked before anything else; and an answer is claimed under the
// registry's lock before it goes to rpc, which claims it once more.
//
// Nothing answers by itself but refusals: without a person a request stays pending. A card outlives its turn and ends
// when it is answered, resolved, closed here, or its generation ends.
package ask

import (
	"context"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/ledger"
)

// Wire is the part of rpc.Client that answers.
type Wire interface {
	Reply(ctx context.Context, key relay.Key, result any) (ledger.State, error)
	ReplyError(ctx context.Context, key relay.Key, e codex.RPCError) (ledger.State, error)
}

// Origin is what every card names (R-INT-08), and who may answer it.
type Origin struct {
	Owner   relay.Owner
	Profile string // name of the profile
	Host    string // "local" or the host of the endpoint, from the profile and not from the server
}

// State is how far a card is.
type State string

// The states. All but Pending and Answering are final, except that Answering returns to Pending when it is proven that
// nothing was sent and the request is still open.
const (
	Pending   State = "pending"
	Answering State = "answering"
	Answered  State = "answered"        // the reply was handed over
	Unknown   State = "outcome_unknown" // the reply may have been handed over; it is never sent again
	Resolved  State = "resolved"        // settled elsewhere or withdrawn
	Closed    State = "closed"          // closed here without an answer; the server may still wait
	Expired   State = "expired"         // its time ended without an answer
	Ended     State = "generation_ended"
	Refused   State = "refused" // answered by a refusal without asking a person; Refusal says why
)

// Open reports whether the card may still be answered.
func (s State) Open() bool { return s == Pending || s == Answering }

// Kind selects how a card is shown and which member of it is set.
type Kind string

// The kinds.
const (
	CommandCard     Kind = "command"
	FileCard        Kind = "file_change"
	PermissionsCard Kind = "permissions"
	QuestionCard    Kind = "question"
	FormCard        Kind = "form"
	ToolCard        Kind = "mcp_tool" // an elicitation that is in truth an approval (R-INT-04)
	RefusedCard     Kind = "refused"
)

// Card is one request as people see it. It is data: server text only in values of type Text, Host and Field.
type Card struct {
	Key     relay.Key      `json:"key"`
	Order   uint64         `json:"order"` // of arrival, growing
	Kind    Kind           `json:"kind"`
	State   State          `json:"state"`
	Owner   relay.Owner    `json:"-"`
	Profile string         `json:"profile"`
	Host    string         `json:"host"`
	Thread  relay.ThreadID `json:"thread"`
	Turn    relay.TurnID   `json:"turn,omitzero"`
	Item    relay.ItemID   `json:"item,omitzero"`
	// Long: some text of the card is above 8 KiB, or it replaces a text that was shown, and accepting needs Answer.SeenEnd
	// (R-INT-08).
	Long        bool             `json:"long,omitzero"`
	Choices     []Choice         `json:"choices,omitzero"` // of the kinds command, file change and tool
	Command     *CommandView     `json:"command,omitzero"`
	File        *FileView        `json:"file,omitzero"`
	Permissions *PermissionsView `json:"permissions,omitzero"`
	Questions   *QuestionsView   `json:"questions,omitzero"`
	Form        *FormView        `json:"form,omitzero"`
	Tool        *ToolView        `json:"tool,omitzero"`
	// Refusal is why a request was refused; its arguments are safe to show.
	Refusal *fault.Error `json:"-"`
}

// Choice is one decision that the server offers, or, for a tool, one action of the protocol.
type Choice struct {
	ID      string `json:"id"`   // goes back in Answer.Choice
	Kind    string `json:"kind"` // accept, acceptForSession, acceptWithExecpolicyAmendment, applyNetworkPolicyAmendment, decline, cancel; tool: accept, acceptSession, acceptAlways, decline, cancel
	Accepts bool   `json:"accepts"`
	// ChangesRules: the choice lasts beyond this session (R-INT-03). Rule or RuleHost says what is changed.
	ChangesRules bool   `json:"changesRules,omitzero"`
	Rule         []Text `json:"rule,omitzero"` // first arguments of commands that will not be asked about any more
	RuleHost     *Host  `json:"ruleHost,omitzero"`
	RuleAction   string `json:"ruleAction,omitzero"` // allow, deny
}
