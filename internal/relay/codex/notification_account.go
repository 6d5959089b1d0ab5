package codex

import "sekisho/internal/relay"

// AccountUpdated is account/updated: read the account again (R-OWN-02).
type AccountUpdated struct {
	AuthMode string `json:"authMode,omitzero"`
	PlanType string `json:"planType,omitzero"`
}

// LoginCompleted is account/login/completed.
type LoginCompleted struct {
	LoginID string `json:"loginId,omitzero"`
	Success bool   `json:"success"`
	Error   string `json:"error,omitzero"`
}

// GatewayOAuthChanged is account/gatewayOAuth/changed. `started` with a URL is followed at once by `started` without one,
// which does not take the URL back (R-INT-06).
type GatewayOAuthChanged struct {
	ProviderID string `json:"providerId"`
	Status     string `json:"status"` // notReady, started, succeeded, failed
	AuthURL    string `json:"authUrl,omitzero"`
	Error      string `json:"error,omitzero"`
}

// RateLimitsUpdated is account/rateLimits/updated, carried for display.
type RateLimitsUpdated struct {
	RateLimits Raw `json:"rateLimits"`
}

// McpStartup is mcpServer/startupStatus/updated.
type McpStartup struct {
	ThreadID      relay.ThreadID `json:"threadId,omitzero"`
	Name          string         `json:"name"`
	Status        string         `json:"status"` // starting, ready, failed, cancelled
	Error         string         `json:"error,omitzero"`
	FailureReason string         `json:"failureReason,omitzero"` // reauthenticationRequired
}

// McpOAuthCompleted is mcpServer/oauthLogin/completed.
type McpOAuthCompleted struct {
	ThreadID relay.ThreadID `json:"threadId,omitzero"`
	Name     string         `json:"name"`
	Success  bool           `json:"success"`
	Error    string         `json:"error,omitzero"`
}

// ModelRerouted is model/rerouted.
type ModelRerouted struct {
	ThreadID  relay.ThreadID `json:"threadId"`
	TurnID    relay.TurnID   `json:"turnId"`
	FromModel string         `json:"fromModel"`
	ToModel   string         `json:"toModel"`
	Reason    string         `json:"reason"`
}

// WindowsSetupCompleted is windowsSandbox/setupCompleted.
type WindowsSetupCompleted struct {
	Mode    string `json:"mode"`
	Success bool   `json:"success"`
	Error   string `json:"error,omitzero"`
}
