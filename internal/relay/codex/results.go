package codex

import "sekisho/internal/relay"

// Results of the calls that this client makes.

// InitializeResult is the server's metadata; there is no list of capabilities (R-CON-04).
type InitializeResult struct {
	UserAgent      string `json:"userAgent"`
	CodexHome      string `json:"codexHome"`
	PlatformFamily string `json:"platformFamily"`
	PlatformOS     string `json:"platformOs"`
}

// ThreadOpened is the result of thread/start and thread/fork: the thread with its effective settings.
type ThreadOpened struct {
	Thread            Thread        `json:"thread"`
	Cwd               string        `json:"cwd"`
	Model             string        `json:"model"`
	ModelProvider     string        `json:"modelProvider"`
	ApprovalPolicy    Raw           `json:"approvalPolicy"`
	ApprovalsReviewer string        `json:"approvalsReviewer"`
	Sandbox           SandboxPolicy `json:"sandbox"`
	ReasoningEffort   string        `json:"reasoningEffort,omitzero"`
	ServiceTier       string        `json:"serviceTier,omitzero"`
}

// ThreadResumed is the result of thread/resume.
type ThreadResumed struct {
	ThreadOpened
	TurnsBackwardsCursor string `json:"turnsBackwardsCursor,omitzero"`
	ItemsBackwardsCursor string `json:"itemsBackwardsCursor,omitzero"`
}

// ThreadReadResult is thread/read.
type ThreadReadResult struct {
	Thread Thread `json:"thread"`
}

// ThreadListResult is one page of threads.
type ThreadListResult struct {
	Data            []Thread `json:"data"`
	NextCursor      string   `json:"nextCursor,omitzero"`
	BackwardsCursor string   `json:"backwardsCursor,omitzero"`
}

// LoadedListResult is one page of loaded thread ids.
type LoadedListResult struct {
	Data       []relay.ThreadID `json:"data"`
	NextCursor string           `json:"nextCursor,omitzero"`
}

// TurnsListResult is one page of turns.
type TurnsListResult struct {
	Data            []Turn `json:"data"`
	NextCursor      string `json:"nextCursor,omitzero"`
	BackwardsCursor string `json:"backwardsCursor,omitzero"`
}

// ItemsListResult is one page of items.
type ItemsListResult struct {
	Data            []ItemEntry `json:"data"`
	NextCursor      string      `json:"nextCursor,omitzero"`
	BackwardsCursor string      `json:"backwardsCursor,omitzero"`
}

// UnsubscribeResult is thread/unsubscribe.
type UnsubscribeResult struct {
	Status string `json:"status"`
}

// AttachmentListResult is one page of attachments. Entries are raw, so that a malformed one can be shown as such
// (R-REC-06); DecodeAttachment reads one.
type AttachmentListResult struct {
	Data       []Raw  `json:"data"`
	NextCursor string `json:"nextCursor,omitzero"`
}

// DecodeAttachment decodes one entry of a list.
func DecodeAttachment(data []byte) (*Attachment, error) { return Decode[Attachment](data) }

// AttachmentAddResult tells whether it was created or existed with its old payload.
type AttachmentAddResult struct {
	Attachment Attachment `json:"attachment"`
	Outcome    string     `json:"outcome"` // created, existing
}

// TurnStartResult is turn/start: the turn that the message went to, which may be one that was running.
type TurnStartResult struct {
	Turn Turn `json:"turn"`
}

// TurnSteerResult is turn/steer.
type TurnSteerResult struct {
	TurnID relay.TurnID `json:"turnId"`
}

// ModelListResult is one page of models.
type ModelListResult struct {
	Data       []Model `json:"data"`
	NextCursor string  `json:"nextCursor,omitzero"`
}

// Model is one model of the catalogue. Absent modalities mean text and image.
type Model struct {
	ID                string         `json:"id"`
	Model             string         `json:"model"`
	DisplayName       string         `json:"displayName"`
	Description       string         `json:"description"`
	Hidden            bool           `json:"hidden"`
	IsDefault         bool           `json:"isDefault"`
	DefaultEffort     string         `json:"defaultReasoningEffort"`
	Efforts           []EffortOption `json:"supportedReasoningEfforts"`
	InputModalities   []string       `json:"inputModalities,omitzero"`
	ServiceTiers      []ServiceTier  `json:"serviceTiers,omitzero"`
	DefaultTier       string         `json:"defaultServiceTier,omitzero"`
	Personality       bool           `json:"supportsPersonality,omitzero"`
	AvailablePrograms Raw            `json:"availableAccessPrograms,omitzero"`
}

// EffortOption is one reasoning effort.
type EffortOption struct {
	Effort      string `json:"reasoningEffort"`
	Description string `json:"description"`
}

// ServiceTier is one service tier.
type ServiceTier struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// SkillsListResult lists skills per working directory.
type SkillsListResult struct {
	Data []SkillsEntry `json:"data"`
}

// SkillsEntry is one working directory's skills; Errors are carried for display.
type SkillsEntry struct {
	Cwd    string  `json:"cwd"`
	Skills []Skill `json:"skills"`
	Errors []Raw   `json:"errors"`
}

// Skill is one skill. Path is the server's identifier (R-OWN-01).
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Path        string `json:"path"`
	Enabled     bool   `json:"enabled"`
	Scope       string `json:"scope"`
}

// ConfigReadResult carries the configuration as it is; it can hold more than a page needs and is never logged.
type ConfigReadResult struct {
	Config Raw `json:"config"`
}

// AccountReadResult is account/read; a nil Account is "not signed in".
type AccountReadResult struct {
	Account            *Account `json:"account,omitzero"`
	RequiresOpenAIAuth bool     `json:"requiresOpenaiAuth"`
}

// Account is who is signed in; Type is apiKey, chatgpt, amazonBedrock or a later one.
type Account struct {
	Type     string `json:"type"`
	Email    string `json:"email,omitzero"`
	PlanType string `json:"planType,omitzero"`
}

func (Account) variants() Variants {
	return Variants{Tag: "type", Open: true, Required: map[string][]string{"apiKey": nil, "chatgpt": {"planType"}, "amazonBedrock": nil}}
}

// LoginStartResult is account/login/start. The URL is validated and kept in the worker.
type LoginStartResult struct {
	Type            string `json:"type"`
	LoginID         string `json:"loginId,omitzero"`
	AuthURL         string `json:"authUrl,omitzero"`
	VerificationURL string `json:"verificationUrl,omitzero"`
	UserCode        string `json:"userCode,omitzero"`
}

func (LoginStartResult) variants() Variants {
	return Variants{Tag: "type", Open: true, Required: map[string][]string{
		"chatgpt": {"authUrl", "loginId"}, "chatgptDeviceCode": {"loginId", "userCode", "verificationUrl"}}}
}

// LoginCancelResult is account/login/cancel.
type LoginCancelResult struct {
	Status string `json:"status"` // canceled, notFound
}

// RateLimitsResult is account/rateLimits/read, carried for display.
type RateLimitsResult struct {
	RateLimits Raw `json:"rateLimits"`
}

// GatewayOAuthReadResult is account/gatewayOAuth/read.
type GatewayOAuthReadResult struct {
	Required     bool   `json:"required"`
	ProviderID   string `json:"providerId"`
	ProviderName string `json:"providerName"`
	Status       string `json:"status,omitzero"` // notReady, started, succeeded, failed; empty: no gateway
	Error        string `json:"error,omitzero"`
}

// McpStatusListResult is one page of MCP servers.
type McpStatusListResult struct {
	Data       []McpStatus `json:"data"`
	NextCursor string      `json:"nextCursor,omitzero"`
}

// McpStatus is one MCP server. Tools are carried as they came.
type McpStatus struct {
	Name          string         `json:"name"`
	AuthStatus    string         `json:"authStatus"`
	Tools         map[string]Raw `json:"tools"`
	RuntimeStatus string         `json:"runtimeStatus,omitzero"`
	ToolsError    string         `json:"toolsError,omitzero"`
}

// McpOAuthLoginResult is mcpServer/oauth/login.
type McpOAuthLoginResult struct {
	AuthorizationURL string `json:"authorizationUrl"`
}

// WindowsReadinessResult is windowsSandbox/readiness.
type WindowsReadinessResult struct {
	Status string `json:"status"` // ready, notConfigured, updateRequired
}

// WindowsSetupStartResult is windowsSandbox/setupStart.
type WindowsSetupStartResult struct {
	Started bool `json:"started"`
}
