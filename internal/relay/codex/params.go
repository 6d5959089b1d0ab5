package codex

import (
	"encoding/json"

	"sekisho/internal/relay"
)

// Parameters of the calls that this client makes. A zero optional member is not sent, which the server reads as "keep".

// ClientInfo names the client. Version is Target: the model catalogue depends on it (R-CON-04).
type ClientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Title   string `json:"title,omitzero"`
}

// Capabilities declares what is implemented end to end, nothing else. User verification, OpenAI forms and attestation are
// not members here, so they cannot be declared (R-INT-07, R-INT-04).
type Capabilities struct {
	ExperimentalAPI bool `json:"experimentalApi,omitzero"`
	// ExplicitGatewayOAuth: only where Support of account/gatewayOAuth/read is Supported and the transport is local stdio.
	ExplicitGatewayOAuth bool     `json:"explicitGatewayOauth,omitzero"`
	OptOut               []string `json:"optOutNotificationMethods,omitzero"`
}

// InitializeParams is the handshake.
type InitializeParams struct {
	ClientInfo   ClientInfo    `json:"clientInfo"`
	Capabilities *Capabilities `json:"capabilities,omitzero"`
}

// ThreadParams names a thread.
type ThreadParams struct {
	ThreadID relay.ThreadID `json:"threadId"`
}

// ThreadStartParams starts a thread. ApprovalPolicy is untrusted, on-request or never; Sandbox is read-only,
// workspace-write or danger-full-access.
type ThreadStartParams struct {
	Cwd            string `json:"cwd,omitzero"`
	Model          string `json:"model,omitzero"`
	ModelProvider  string `json:"modelProvider,omitzero"`
	ApprovalPolicy string `json:"approvalPolicy,omitzero"`
	Sandbox        string `json:"sandbox,omitzero"`
	ServiceTier    string `json:"serviceTier,omitzero"`
	Personality    string `json:"personality,omitzero"`
	Ephemeral      bool   `json:"ephemeral,omitzero"`
}

// ThreadResumeParams joins a thread. ExcludeTurns is true always: history is read by pages (R-REC-05).
type ThreadResumeParams struct {
	ThreadID       relay.ThreadID `json:"threadId"`
	ExcludeTurns   bool           `json:"excludeTurns"`
	Cwd            string         `json:"cwd,omitzero"`
	Model          string         `json:"model,omitzero"`
	ApprovalPolicy string         `json:"approvalPolicy,omitzero"`
	Sandbox        string         `json:"sandbox,omitzero"`
}

// ThreadForkParams copies a thread.
type ThreadForkParams struct {
	ThreadID     relay.ThreadID `json:"threadId"`
	ExcludeTurns bool           `json:"excludeTurns"`
	Ephemeral    bool           `json:"ephemeral,omitzero"`
	LastTurnID   relay.TurnID   `json:"lastTurnId,omitzero"`
	Cwd          string         `json:"cwd,omitzero"`
}

// ThreadReadParams reads metadata; IncludeTurns stays false (R-REC-04).
type ThreadReadParams struct {
	ThreadID     relay.ThreadID `json:"threadId"`
	IncludeTurns bool           `json:"includeTurns"`
}

// ThreadListParams lists stored threads.
type ThreadListParams struct {
	Cursor        string `json:"cursor,omitzero"`
	Limit         int    `json:"limit,omitzero"`
	Cwd           string `json:"cwd,omitzero"`
	SortDirection string `json:"sortDirection,omitzero"`
	SortKey       string `json:"sortKey,omitzero"`
	SearchTerm    string `json:"searchTerm,omitzero"`
	Archived      *bool  `json:"archived,omitzero"`
}

// PageParams is a cursor and a limit.
type PageParams struct {
	Cursor string `json:"cursor,omitzero"`
	Limit  int    `json:"limit,omitzero"`
}

// Directions and views of pages.
const (
	Descending  = "desc"
	Ascending   = "asc"
	ViewSummary = "summary"
	ViewFull    = "full"
)

// TurnsListParams reads turns.
type TurnsListParams struct {
	ThreadID      relay.ThreadID `json:"threadId"`
	Cursor        string         `json:"cursor,omitzero"`
	Limit         int            `json:"limit,omitzero"`
	SortDirection string         `json:"sortDirection,omitzero"`
	ItemsView     string         `json:"itemsView,omitzero"`
}

// ItemsListParams reads items. An anchor cursor needs TurnID, and the target version (R-REC-04).
type ItemsListParams struct {
	ThreadID      relay.ThreadID `json:"threadId"`
	TurnID        relay.TurnID   `json:"turnId,omitzero"`
	Cursor        ItemsCursor    `json:"cursor,omitzero"`
	Limit         int            `json:"limit,omitzero"`
	SortDirection string         `json:"sortDirection,omitzero"`
}

// ItemsCursor is a string that a page returned, or the exclusive anchor at an item that we hold; zero is the start.
type ItemsCursor struct {
	Page   string
	Anchor relay.ItemID
}

type anchorWire struct {
	Type string       `json:"type"`
	Item relay.ItemID `json:"itemId"`
}

// MarshalJSON implements json.Marshaler.
func (c ItemsCursor) MarshalJSON() ([]byte, error) {
	if c.Anchor != "" {
		return Encode(anchorWire{"item", c.Anchor})
	}
	return json.Marshal(c.Page)
}

// ShellCommandParams runs a command outside the server's sandbox (R-DAY-02). A nil TimeoutMs is the server's hour.
type ShellCommandParams struct {
	ThreadID  relay.ThreadID `json:"threadId"`
	Command   string         `json:"command"`
	TimeoutMs *uint64        `json:"timeoutMs,omitzero"`
}

// AttachmentListParams lists stored attachments.
type AttachmentListParams struct {
	ThreadID relay.ThreadID `json:"threadId"`
	Cursor   string         `json:"cursor,omitzero"`
	Limit    int            `json:"limit,omitzero"`
}

// AttachmentAddParams creates one; an existing identity keeps its old payload.
type AttachmentAddParams struct {
	ThreadID       relay.ThreadID `json:"threadId"`
	AttachmentType string         `json:"attachmentType"`
	IdentityKey    string         `json:"identityKey"`
	Payload        Raw            `json:"payload"`
}

// AttachmentRemoveParams removes one; a missing one is no error.
type AttachmentRemoveParams struct {
	ThreadID       relay.ThreadID `json:"threadId"`
	AttachmentType string         `json:"attachmentType"`
	IdentityKey    string         `json:"identityKey"`
}

// TurnStartParams sends a message. On a busy thread it steers the running turn (R-CONN-08). ClientUserMessageID is fresh
// for every call (R-REC-07).
type TurnStartParams struct {
	ThreadID            relay.ThreadID `json:"threadId"`
	Input               []UserInput    `json:"input"`
	ClientUserMessageID string         `json:"clientUserMessageId,omitzero"`
	Cwd                 string         `json:"cwd,omitzero"`
	Model               string         `json:"model,omitzero"`
	Effort              string         `json:"effort,omitzero"`
	Summary             string         `json:"summary,omitzero"`
	ServiceTier         string         `json:"serviceTier,omitzero"`
	Personality         string         `json:"personality,omitzero"`
	ApprovalPolicy      string         `json:"approvalPolicy,omitzero"`
	SandboxPolicy       *SandboxPolicy `json:"sandboxPolicy,omitzero"`
}

// TurnSteerParams adds to a running turn, only if it is still that one.
type TurnSteerParams struct {
	ThreadID            relay.ThreadID `json:"threadId"`
	ExpectedTurnID      relay.TurnID   `json:"expectedTurnId"`
	Input               []UserInput    `json:"input"`
	ClientUserMessageID string         `json:"clientUserMessageId,omitzero"`
}

// TurnInterruptParams ends a running turn.
type TurnInterruptParams struct {
	ThreadID relay.ThreadID `json:"threadId"`
	TurnID   relay.TurnID   `json:"turnId"`
}

// ModelListParams lists models.
type ModelListParams struct {
	Cursor        string `json:"cursor,omitzero"`
	Limit         int    `json:"limit,omitzero"`
	IncludeHidden bool   `json:"includeHidden,omitzero"`
}

// SkillsListParams lists skills for working directories of the server.
type SkillsListParams struct {
	Cwds        []string `json:"cwds,omitzero"`
	ForceReload bool     `json:"forceReload,omitzero"`
}

// ConfigReadParams reads the effective configuration.
type ConfigReadParams struct {
	Cwd           string `json:"cwd,omitzero"`
	IncludeLayers bool   `json:"includeLayers"`
}

// AccountReadParams reads the account. RefreshToken changes the stored token and stays false.
type AccountReadParams struct {
	RefreshToken bool `json:"refreshToken"`
}

// LoginStartParams starts a sign-in of the kind chatgpt or chatgptDeviceCode. Kinds that carry a secret are not offered.
type LoginStartParams struct {
	Type string `json:"type"`
}

func (LoginStartParams) variants() Variants {
	return Variants{Tag: "type", Required: map[string][]string{"chatgpt": nil, "chatgptDeviceCode": nil}}
}

// LoginCancelParams cancels one.
type LoginCancelParams struct {
	LoginID string `json:"loginId"`
}

// McpStatusListParams lists MCP servers.
type McpStatusListParams struct {
	ThreadID relay.ThreadID `json:"threadId,omitzero"`
	Cursor   string         `json:"cursor,omitzero"`
	Limit    int            `json:"limit,omitzero"`
	Detail   string         `json:"detail,omitzero"` // full, toolsAndAuthOnly
}

// McpOAuthLoginParams starts the sign-in at an MCP server.
type McpOAuthLoginParams struct {
	Name        string         `json:"name"`
	ThreadID    relay.ThreadID `json:"threadId,omitzero"`
	TimeoutSecs int            `json:"timeoutSecs,omitzero"`
}

// WindowsSetupStartParams starts the sandbox setup; Mode is elevated or unelevated. Gate on initialize.platformOs: the
// server itself does not refuse elsewhere (R-DAY-05).
type WindowsSetupStartParams struct {
	Mode string `json:"mode"`
	Cwd  string `json:"cwd,omitzero"`
}
