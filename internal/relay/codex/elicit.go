package codex

import "sekisho/internal/relay"

// ElicitMode is the mode of an elicitation.
type ElicitMode string

// The modes. Only the first two are handled; the others get a protocol-valid decline with a reason for the person.
const (
	ModeForm             ElicitMode = "form"
	ModeURL              ElicitMode = "url"
	ModeOpenAIForm       ElicitMode = "openai/form"
	ModeOpenAIFormOld    ElicitMode = "openaiForm"
	ModeUserVerification ElicitMode = "openai/userVerification"
)

// Handled reports whether the mode has a flow in this client; the rest is declined (R-CON-05, R-INT-07).
func (m ElicitMode) Handled() bool { return m == ModeForm || m == ModeURL }

// Elicitation is mcpServer/elicitation/request. Which members are set depends on Mode. Of the modes that are declined
// only Mode, server and thread are kept: a challenge stops here.
type Elicitation struct {
	ThreadID   relay.ThreadID `json:"threadId"`
	ServerName string         `json:"serverName"`
	Mode       ElicitMode     `json:"mode"`
	// TurnID is empty when the server could not tell the turn.
	TurnID          relay.TurnID `json:"turnId,omitzero"`
	Message         string       `json:"message,omitzero"`
	RequestedSchema *FormSchema  `json:"-"`
	// Form is the wire form of RequestedSchema.
	Form          Raw    `json:"requestedSchema,omitzero"`
	URL           string `json:"url,omitzero"`
	ElicitationID string `json:"elicitationId,omitzero"`
	Meta          Raw    `json:"_meta,omitzero"`
	// Approval is set when the form is in truth an approval of a tool call; it is never a harmless form (R-INT-04).
	Approval *ToolApproval `json:"-"`
}

func (Elicitation) variants() Variants {
	return Variants{Tag: "mode", Required: map[string][]string{
		string(ModeForm):             {"message", "requestedSchema"},
		string(ModeURL):              {"message", "url", "elicitationId"},
		string(ModeOpenAIForm):       {"message"},
		string(ModeOpenAIFormOld):    {"message"},
		string(ModeUserVerification): {"challenge", "description", "title"},
	}}
}

// ToolApproval is `_meta` of an elicitation with codex_approval_kind.
type ToolApproval struct {
	// Kind is mcp_tool_call as far as known; another value is still an approval.
	Kind string
	// Persist lists how long an acceptance may last beyond this call: session, always. Empty: this call only.
	Persist     []string
	Description string
	// Params are the tool's arguments as the server shows them.
	Params  Raw
	Display Raw
}

type toolApprovalWire struct {
	Kind        string `json:"codex_approval_kind,omitzero"`
	Persist     Raw    `json:"persist,omitzero"`
	Description string `json:"tool_description,omitzero"`
	Params      Raw    `json:"tool_params,omitzero"`
	Display     Raw    `json:"tool_params_display,omitzero"`
}

// settle fills the members that are derived, and forgets what must not be kept.
func (r *Elicitation) settle() error {
	if !r.Mode.Handled() {
		*r = Elicitation{ThreadID: r.ThreadID, ServerName: r.ServerName, Mode: r.Mode, TurnID: r.TurnID}
		return nil
	}
	if r.Mode == ModeForm {
		form, err := decodeForm(r.Form)
		if err != nil {
			return err
		}
		r.RequestedSchema = form
	}
	if len(r.Meta) == 0 || string(r.Meta) == "null" {
		return nil
	}
	object, err := Decode[map[string]Raw](r.Meta)
	if err != nil {
		return nil // some other metadata; it means nothing to us
	}
	if _, ok := (*object)["codex_approval_kind"]; !ok {
		return nil
	}
	w, err := Decode[toolApprovalWire](r.Meta)
	if err != nil {
		return bad("_meta", "is an approval of an unknown shape")
	}
	r.Approval = &ToolApproval{Kind: w.Kind, Description: w.Description, Params: w.Params, Display: w.Display}
	if len(w.Persist) > 0 && string(w.Persist) != "null" {
		if one, err := Decode[string](w.Persist); err == nil {
			r.Approval.Persist = []string{*one}
		} else if many, err := Decode[[]string](w.Persist); err == nil {
			r.Approval.Persist = *many
		} else {
			return bad("_meta.persist", "has the wrong type")
		}
	}
	return nil
}

// ElicitAction is the outcome of an elicitation.
type ElicitAction string

// The actions.
const (
	ElicitAccept  ElicitAction = "accept"
	ElicitDecline ElicitAction = "decline"
	ElicitCancel  ElicitAction = "cancel"
)

func (ElicitAction) values() []string {
	return []string{string(ElicitAccept), string(ElicitDecline), string(ElicitCancel)}
}

// ElicitReply answers an elicitation. Content is null unless a form was accepted.
type ElicitReply struct {
	Action  ElicitAction `json:"action"`
	Content Raw          `json:"content"`
	Meta    Raw          `json:"_meta,omitzero"`
}

// Persisting is the `_meta` of an accepted tool approval that shall last for how, one of ToolApproval.Persist.
func Persisting(how string) (Raw, error) { return Encode(map[string]string{"persist": how}) }
