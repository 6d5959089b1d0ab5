package codex

// Method and Scope implement Notification.

func (*ThreadStarted) Method() string         { return "thread/started" }
func (*ThreadStatusChanged) Method() string   { return "thread/status/changed" }
func (n *ThreadNote) Method() string          { return n.Name }
func (*ThreadNameUpdated) Method() string     { return "thread/name/updated" }
func (*ThreadCompacted) Method() string       { return "thread/compacted" }
func (*ThreadSettingsUpdated) Method() string { return "thread/settings/updated" }
func (*TokenUsageUpdated) Method() string     { return "thread/tokenUsage/updated" }
func (*AttachmentUpdated) Method() string     { return "thread/attachment/updated" }
func (*TurnStarted) Method() string           { return "turn/started" }
func (*TurnDone) Method() string              { return "turn/completed" }
func (*TurnDiff) Method() string              { return "turn/diff/updated" }
func (*TurnPlan) Method() string              { return "turn/plan/updated" }
func (*ItemStarted) Method() string           { return "item/started" }
func (*ItemCompleted) Method() string         { return "item/completed" }
func (n *ItemDelta) Method() string           { return n.Name }
func (*ReasoningPartAdded) Method() string    { return "item/reasoning/summaryPartAdded" }
func (*PatchUpdated) Method() string          { return "item/fileChange/patchUpdated" }
func (*McpProgress) Method() string           { return "item/mcpToolCall/progress" }
func (*RequestResolved) Method() string       { return "serverRequest/resolved" }
func (*ErrorNote) Method() string             { return "error" }
func (*Warning) Method() string               { return "warning" }
func (*ConfigWarning) Method() string         { return "configWarning" }
func (*DeprecationNotice) Method() string     { return "deprecationNotice" }
func (*AccountUpdated) Method() string        { return "account/updated" }
func (*LoginCompleted) Method() string        { return "account/login/completed" }
func (*GatewayOAuthChanged) Method() string   { return "account/gatewayOAuth/changed" }
func (*RateLimitsUpdated) Method() string     { return "account/rateLimits/updated" }
func (*McpStartup) Method() string            { return "mcpServer/startupStatus/updated" }
func (*McpOAuthCompleted) Method() string     { return "mcpServer/oauthLogin/completed" }
func (*ModelRerouted) Method() string         { return "model/rerouted" }
func (*WindowsSetupCompleted) Method() string { return "windowsSandbox/setupCompleted" }

func (n *ThreadStarted) Scope() Scope         { return Scope{Thread: n.Thread.ID} }
func (n *ThreadStatusChanged) Scope() Scope   { return Scope{Thread: n.ThreadID} }
func (n *ThreadNote) Scope() Scope            { return Scope{Thread: n.ThreadID} }
func (n *ThreadNameUpdated) Scope() Scope     { return Scope{Thread: n.ThreadID} }
func (n *ThreadCompacted) Scope() Scope       { return Scope{Thread: n.ThreadID, Turn: n.TurnID} }
func (n *ThreadSettingsUpdated) Scope() Scope { return Scope{Thread: n.ThreadID} }
func (n *TokenUsageUpdated) Scope() Scope     { return Scope{Thread: n.ThreadID, Turn: n.TurnID} }
func (n *AttachmentUpdated) Scope() Scope     { return Scope{Thread: n.ThreadID} }
func (n *TurnStarted) Scope() Scope           { return Scope{Thread: n.ThreadID, Turn: n.Turn.ID} }
func (n *TurnDone) Scope() Scope              { return Scope{Thread: n.ThreadID, Turn: n.Turn.ID} }
func (n *TurnDiff) Scope() Scope              { return Scope{Thread: n.ThreadID, Turn: n.TurnID} }
func (n *TurnPlan) Scope() Scope              { return Scope{Thread: n.ThreadID, Turn: n.TurnID} }
func (n *ItemStarted) Scope() Scope           { return Scope{n.ThreadID, n.TurnID, n.Item.ID} }
func (n *ItemCompleted) Scope() Scope         { return Scope{n.ThreadID, n.TurnID, n.Item.ID} }
func (n *ItemDelta) Scope() Scope             { return Scope{n.ThreadID, n.TurnID, n.ItemID} }
func (n *ReasoningPartAdded) Scope() Scope    { return Scope{n.ThreadID, n.TurnID, n.ItemID} }
func (n *PatchUpdated) Scope() Scope          { return Scope{n.ThreadID, n.TurnID, n.ItemID} }
func (n *McpProgress) Scope() Scope           { return Scope{n.ThreadID, n.TurnID, n.ItemID} }
func (n *RequestResolved) Scope() Scope       { return Scope{Thread: n.ThreadID} }
func (n *ErrorNote) Scope() Scope             { return Scope{Thread: n.ThreadID, Turn: n.TurnID} }
func (n *Warning) Scope() Scope               { return Scope{Thread: n.ThreadID} }
func (*ConfigWarning) Scope() Scope           { return Scope{} }
func (*DeprecationNotice) Scope() Scope       { return Scope{} }
func (*AccountUpdated) Scope() Scope          { return Scope{} }
func (*LoginCompleted) Scope() Scope          { return Scope{} }
func (*GatewayOAuthChanged) Scope() Scope     { return Scope{} }
func (*RateLimitsUpdated) Scope() Scope       { return Scope{} }
func (n *McpStartup) Scope() Scope            { return Scope{Thread: n.ThreadID} }
func (n *McpOAuthCompleted) Scope() Scope     { return Scope{Thread: n.ThreadID} }
func (n *ModelRerouted) Scope() Scope         { return Scope{Thread: n.ThreadID, Turn: n.TurnID} }
func (*WindowsSetupCompleted) Scope() Scope   { return Scope{} }
