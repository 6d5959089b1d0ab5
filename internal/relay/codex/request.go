package codex

import "sekisho/internal/relay"

// ServerRequest is a decoded request of the server that this client handles: one of *CommandApproval, *FileApproval,
// *PermissionsApproval, *UserInputRequest and *Elicitation.
type ServerRequest interface {
	// Method is the exact name on the wire.
	Method() string
	// Scope says what the request belongs to. Turn and item may be empty.
	Scope() Scope
}

// Scope names the thread, turn and item of a message; a member that the message does not have is empty.
type Scope struct {
	Thread relay.ThreadID
	Turn   relay.TurnID
	Item   relay.ItemID
}

// Names of the server requests that are handled.
const (
	MethodCommandApproval     = "item/commandExecution/requestApproval"
	MethodFileApproval        = "item/fileChange/requestApproval"
	MethodPermissionsApproval = "item/permissions/requestApproval"
	MethodUserInput           = "item/tool/requestUserInput"
	MethodElicitation         = "mcpServer/elicitation/request"
)

// refused are known requests that are never served: dynamic tools, attestation and tokens of an account (R-CON-05).
var refused = map[string]bool{
	"item/tool/call": true, "attestation/generate": true, "account/chatgptAuthTokens/refresh": true,
}

// DecodeServerRequest decodes the params of one server request, dispatching on the exact method name. Errors wrap
// ErrUnknownMethod, ErrBadParams or ErrRefused; ReplyError makes the answer from them.
func DecodeServerRequest(method string, params []byte) (ServerRequest, error) {
	switch method {
	case MethodCommandApproval:
		r, err := Decode[CommandApproval](params)
		if err != nil {
			return nil, err
		}
		if r.empty() {
			return nil, bad("command", "is missing, and so is everything else that could be approved")
		}
		return r, nil
	case MethodFileApproval:
		return request(Decode[FileApproval](params))
	case MethodPermissionsApproval:
		return request(Decode[PermissionsApproval](params))
	case MethodUserInput:
		r, err := Decode[UserInputRequest](params)
		if err != nil {
			return nil, err
		}
		if len(r.Questions) == 0 || repeats(r.Questions) {
			return nil, bad("questions", "is empty or has an id twice")
		}
		r.withhold()
		return r, nil
	case MethodElicitation:
		r, err := Decode[Elicitation](params)
		if err != nil {
			return nil, err
		}
		if err := r.settle(); err != nil {
			return nil, err
		}
		return r, nil
	}
	if refused[method] {
		return nil, ErrRefused
	}
	return nil, ErrUnknownMethod
}

// request keeps a nil pointer from becoming a non-nil interface.
func request[T ServerRequest](r T, err error) (ServerRequest, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}

func repeats(questions []Question) bool {
	seen := map[string]bool{}
	for _, q := range questions {
		if seen[q.ID] {
			return true
		}
		seen[q.ID] = true
	}
	return false
}

// Method and Scope implement ServerRequest.

func (*CommandApproval) Method() string     { return MethodCommandApproval }
func (*FileApproval) Method() string        { return MethodFileApproval }
func (*PermissionsApproval) Method() string { return MethodPermissionsApproval }
func (*UserInputRequest) Method() string    { return MethodUserInput }
func (*Elicitation) Method() string         { return MethodElicitation }

func (r *CommandApproval) Scope() Scope     { return Scope{r.ThreadID, r.TurnID, r.ItemID} }
func (r *FileApproval) Scope() Scope        { return Scope{r.ThreadID, r.TurnID, r.ItemID} }
func (r *PermissionsApproval) Scope() Scope { return Scope{r.ThreadID, r.TurnID, r.ItemID} }
func (r *UserInputRequest) Scope() Scope    { return Scope{r.ThreadID, r.TurnID, r.ItemID} }
func (r *Elicitation) Scope() Scope         { return Scope{Thread: r.ThreadID, Turn: r.TurnID} }
