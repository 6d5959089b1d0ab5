package codex

import (
	"reflect"
	"time"
)

// Effect is what a call can change.
type Effect int

// The effects. A Mutating method is never called to find out something and never sent twice (R-PRI-03, R-PRI-04).
const (
	Mutating Effect = iota
	ReadOnly
	Handshake
)

// Limit is the class of a call's time limit.
type Limit int

// The classes; see Limit.Duration.
const (
	LimitShort Limit = iota
	LimitPage
	LimitStart
	LimitLogin
)

// Duration is how long a call of this class may stay unanswered.
func (l Limit) Duration() time.Duration {
	switch l {
	case LimitPage:
		return 60 * time.Second
	case LimitStart:
		return 90 * time.Second // starting or joining a thread waits for its MCP servers
	case LimitLogin:
		return 10 * time.Minute // a person signs in meanwhile (R-INT-06)
	}
	return 30 * time.Second
}

// Method is one client request that this client sends.
type Method struct {
	Name    string
	Surface Surface
	// Since155 reports whether the regression version has it too.
	Since155 bool
	Effect   Effect
	// Retry marks the explicit list of R-CONN-07: confirmed read-only, and sent again when the server is overloaded.
	Retry bool
	Limit Limit
	// Params and Result are the Go types; ParamsName and ResultName the type names in the generated contract ("" for
	// parameters that are null).
	Params, Result         reflect.Type
	ParamsName, ResultName string
}

// Support tells what is known about m on a version without asking its server.
func (m Method) Support(version string) Support {
	switch {
	case version == Target, version == Regression && m.Since155:
		return Supported
	case version == Regression:
		return Unsupported
	}
	return SupportUnknown
}

// Lookup finds a method of the table by its exact name.
func Lookup(name string) (Method, bool) {
	m, ok := methodsByName[name]
	return m, ok
}

// Methods returns the table in a fixed order.
func Methods() []Method { return append([]Method(nil), methods...) }

var methodsByName = func() map[string]Method {
	byName := make(map[string]Method, len(methods))
	for _, m := range methods {
		byName[m.Name] = m
	}
	return byName
}()

// none is the Go type of parameters that are null and of results that are empty objects.
type none = struct{}

// Names of the methods in use.
const (
	Initialize         = "initialize"
	Initialized        = "initialized" // a notification
	ThreadStart        = "thread/start"
	ThreadResume       = "thread/resume"
	ThreadFork         = "thread/fork"
	ThreadRead         = "thread/read"
	ThreadList         = "thread/list"
	ThreadLoadedList   = "thread/loaded/list"
	ThreadTurnsList    = "thread/turns/list"
	ThreadItemsList    = "thread/items/list"
	ThreadUnsubscribe  = "thread/unsubscribe"
	ThreadShellCommand = "thread/shellCommand"
	AttachmentList     = "thread/attachment/list"
	AttachmentAdd      = "thread/attachment/add"
	AttachmentRemove   = "thread/attachment/remove"
	TurnStart          = "turn/start"
	TurnSteer          = "turn/steer"
	TurnInterrupt      = "turn/interrupt"
	ModelList          = "model/list"
	SkillsList         = "skills/list"
	ConfigRead         = "config/read"
	AccountRead        = "account/read"
	AccountLoginStart  = "account/login/start"
	AccountLoginCancel = "account/login/cancel"
	AccountLogout      = "account/logout"
	RateLimitsRead     = "account/rateLimits/read"
	GatewayOAuthRead   = "account/gatewayOAuth/read"
	GatewayOAuthLogin  = "account/gatewayOAuth/login"
	GatewayOAuthCancel = "account/gatewayOAuth/cancel"
	McpStatusList      = "mcpServerStatus/list"
	McpOAuthLogin      = "mcpServer/oauth/login"
	WindowsReadiness   = "windowsSandbox/readiness"
	WindowsSetupStart  = "windowsSandbox/setupStart"
)

var methods = []Method{
	{Initialize, Standard, true, Handshake, false, LimitShort, typ[InitializeParams](), typ[InitializeResult](), "InitializeParams", "InitializeResponse"},

	{ThreadStart, Standard, true, Mutating, false, LimitStart, typ[ThreadStartParams](), typ[ThreadOpened](), "ThreadStartParams", "ThreadStartResponse"},
	{ThreadResume, Standard, true, Mutating, false, LimitStart, typ[ThreadResumeParams](), typ[ThreadResumed](), "ThreadResumeParams", "ThreadResumeResponse"},
	{ThreadFork, Standard, true, Mutating, false, LimitStart, typ[ThreadForkParams](), typ[ThreadOpened](), "ThreadForkParams", "ThreadForkResponse"},
	{ThreadRead, Standard, true, ReadOnly, true, LimitPage, typ[ThreadReadParams](), typ[ThreadReadResult](), "ThreadReadParams", "ThreadReadResponse"},
	{ThreadList, Standard, true, ReadOnly, true, LimitPage, typ[ThreadListParams](), typ[ThreadListResult](), "ThreadListParams", "ThreadListResponse"},
	{ThreadLoadedList, Standard, true, ReadOnly, true, LimitShort, typ[PageParams](), typ[LoadedListResult](), "ThreadLoadedListParams", "ThreadLoadedListResponse"},
	{ThreadTurnsList, Standard, true, ReadOnly, true, LimitPage, typ[TurnsListParams](), typ[TurnsListResult](), "ThreadTurnsListParams", "ThreadTurnsListResponse"},
	{ThreadItemsList, Standard, true, ReadOnly, true, LimitPage, typ[ItemsListParams](), typ[ItemsListResult](), "ThreadItemsListParams", "ThreadItemsListResponse"},
	{ThreadUnsubscribe, Standard, true, Mutating, false, LimitShort, typ[ThreadParams](), typ[UnsubscribeResult](), "ThreadUnsubscribeParams", "ThreadUnsubscribeResponse"},
	{ThreadShellCommand, Standard, true, Mutating, false, LimitShort, typ[ShellCommandParams](), typ[none](), "ThreadShellCommandParams", "ThreadShellCommandResponse"},
	{AttachmentList, Standard, true, ReadOnly, true, LimitPage, typ[AttachmentListParams](), typ[AttachmentListResult](), "ThreadAttachmentListParams", "ThreadAttachmentListResponse"},
	{AttachmentAdd, Standard, true, Mutating, false, LimitShort, typ[AttachmentAddParams](), typ[AttachmentAddResult](), "ThreadAttachmentAddParams", "ThreadAttachmentAddResponse"},
	{AttachmentRemove, Standard, true, Mutating, false, LimitShort, typ[AttachmentRemoveParams](), typ[none](), "ThreadAttachmentRemoveParams", "ThreadAttachmentRemoveResponse"},

	{TurnStart, Standard, true, Mutating, false, LimitStart, typ[TurnStartParams](), typ[TurnStartResult](), "TurnStartParams", "TurnStartResponse"},
	{TurnSteer, Standard, true, Mutating, false, LimitShort, typ[TurnSteerParams](), typ[TurnSteerResult](), "TurnSteerParams", "TurnSteerResponse"},
	{TurnInterrupt, Standard, true, Mutating, false, LimitShort, typ[TurnInterruptParams](), typ[none](), "TurnInterruptParams", "TurnInterruptResponse"},

	{ModelList, Standard, true, ReadOnly, true, LimitPage, typ[ModelListParams](), typ[ModelListResult](), "ModelListParams", "ModelListResponse"},
	{SkillsList, Standard, true, ReadOnly, false, LimitPage, typ[SkillsListParams](), typ[SkillsListResult](), "SkillsListParams", "SkillsListResponse"},
	{ConfigRead, Standard, true, ReadOnly, true, LimitShort, typ[ConfigReadParams](), typ[ConfigReadResult](), "ConfigReadParams", "ConfigReadResponse"},

	// With refreshToken it changes a token; and even without, nothing is gained by a second attempt at once.
	{AccountRead, Standard, true, ReadOnly, false, LimitShort, typ[AccountReadParams](), typ[AccountReadResult](), "GetAccountParams", "GetAccountResponse"},
	{AccountLoginStart, Standard, true, Mutating, false, LimitShort, typ[LoginStartParams](), typ[LoginStartResult](), "LoginAccountParams", "LoginAccountResponse"},
	{AccountLoginCancel, Standard, true, Mutating, false, LimitShort, typ[LoginCancelParams](), typ[LoginCancelResult](), "CancelLoginAccountParams", "CancelLoginAccountResponse"},
	{AccountLogout, Standard, true, Mutating, false, LimitShort, typ[none](), typ[none](), "", "LogoutAccountResponse"},
	{RateLimitsRead, Standard, true, ReadOnly, false, LimitShort, typ[none](), typ[RateLimitsResult](), "GetAccountRateLimitsParams", "GetAccountRateLimitsResponse"},
	{GatewayOAuthRead, Standard, false, ReadOnly, false, LimitShort, typ[none](), typ[GatewayOAuthReadResult](), "", "GatewayOAuthReadResponse"},
	{GatewayOAuthLogin, Standard, false, Mutating, false, LimitLogin, typ[none](), typ[none](), "", "GatewayOAuthLoginResponse"},
	{GatewayOAuthCancel, Standard, false, Mutating, false, LimitShort, typ[none](), typ[none](), "", "GatewayOAuthCancelResponse"},

	{McpStatusList, Standard, true, ReadOnly, false, LimitPage, typ[McpStatusListParams](), typ[McpStatusListResult](), "ListMcpServerStatusParams", "ListMcpServerStatusResponse"},
	{McpOAuthLogin, Standard, true, Mutating, false, LimitShort, typ[McpOAuthLoginParams](), typ[McpOAuthLoginResult](), "McpServerOauthLoginParams", "McpServerOauthLoginResponse"},
	{WindowsReadiness, Standard, true, ReadOnly, false, LimitShort, typ[none](), typ[WindowsReadinessResult](), "", "WindowsSandboxReadinessResponse"},
	{WindowsSetupStart, Standard, true, Mutating, false, LimitShort, typ[WindowsSetupStartParams](), typ[WindowsSetupStartResult](), "WindowsSandboxSetupStartParams", "WindowsSandboxSetupStartResponse"},
}

func typ[T any]() reflect.Type { return reflect.TypeFor[T]() }
