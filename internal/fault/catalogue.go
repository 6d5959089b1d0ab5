package fault

import (
	"maps"
	"slices"
)

// Code is a stable identifier of a failure; logs, audit and MCP texts carry it unchanged (A-ERR-01).
type Code string

// The codes of A-ERR-01 and those that this module adds (marked in the catalogue).
const (
	ConfigurationInvalid Code = "configuration.invalid"
	ConfigurationChanged Code = "configuration.changed"
	ConfigurationAbsent  Code = "configuration.not_applied"
	FeatureUnavailable   Code = "configuration.feature_unavailable"

	SandboxResolutionUnconfirmed Code = "sandbox.resolution_unconfirmed"
	SandboxResolutionChanged     Code = "sandbox.resolution_changed"
	SandboxLost                  Code = "sandbox.lost"
	SandboxFailed                Code = "sandbox.failed"

	ExecutableApprovalMissing   Code = "executable.approval_missing"
	ExecutableResolutionChanged Code = "executable.resolution_changed"
	ExecutableHashChanged       Code = "executable.hash_changed"
	ExecutableShellUnsupported  Code = "executable.shell_unsupported"
	ExecutableStartFailed       Code = "executable.start_failed"
	ExecutableScriptInvalid     Code = "executable.script_invalid"

	ConfinementUnsupported Code = "process.confinement_unsupported"

	PolicyDenied Code = "policy.denied"

	ToolUnknown          Code = "tool.unknown"
	ToolArgumentsInvalid Code = "tool.arguments_invalid"
	ToolOutOfScope       Code = "tool.out_of_scope"
	ToolFailed           Code = "tool.failed"
	ToolNotExecuted      Code = "tool.not_executed"

	AgentSameFailureLimit Code = "agent.same_failure_limit"
	AgentMaxIterations    Code = "agent.max_iterations"
	AgentInternal         Code = "agent.internal"
	AgentCancelled        Code = "agent.cancelled"

	PlannerFailed Code = "planner.failed"

	OllamaContextOverflow    Code = "ollama.context_overflow"
	OllamaContextTruncated   Code = "ollama.context_truncated"
	OllamaOutputTruncated    Code = "ollama.output_truncated"
	OllamaModelOutput        Code = "ollama.model_output"
	OllamaProtocol           Code = "ollama.protocol"
	OllamaToolsUnsupported   Code = "ollama.tools_unsupported"
	OllamaVisionUnsupported  Code = "ollama.vision_unsupported"
	OllamaQuotaExceeded      Code = "ollama.quota_exceeded"
	OllamaUnavailable        Code = "ollama.unavailable"
	OllamaModelNotFound      Code = "ollama.model_not_found"
	OllamaRequestRejected    Code = "ollama.request_rejected"
	OllamaEmptyResponse      Code = "ollama.empty_response"
	OllamaCredentialRejected Code = "ollama.credential_rejected"

	ResourceMemoryUnenforceable Code = "resource.memory_unenforceable"
	ResourceTimeLimit           Code = "resource.time_limit"
	ResourceMemoryLimit         Code = "resource.memory_limit"
	ResourceProcessLimit        Code = "resource.process_limit"
	ResourceStorageLimit        Code = "resource.storage_limit"

	PreflightUnsupportedOS    Code = "preflight.unsupported_os"
	PreflightMissingPrimitive Code = "preflight.missing_primitive"

	RecoveryFailed  Code = "recovery.failed"
	RestartedServer Code = "server_restarted"

	TaskNotFound    Code = "task.not_found"
	SessionNotFound Code = "session.not_found"
	RequestInvalid  Code = "request.invalid"
	ServerStopping  Code = "server.stopping"
	ServerBusy      Code = "server.busy"

	ServerAddressUnusable Code = "server.address_unusable"

	StateUnusable Code = "state.unusable"
)

// Info is the catalogue's entry of a code.
type Info struct {
	Category Category
	// Retry tells whether the model may try the same thing again after changing its arguments.
	Retry bool
	// Variants are the more exact sentences that exist for the code besides the plain one.
	Variants []string
}

func (i Info) has(v string) bool { return slices.Contains(i.Variants, v) }

var agentCatalogue = map[Code]Info{
	ConfigurationInvalid: {Category: Validation, Variants: []string{"path", "policy_profile", "policy_filesystem", "policy_nested", "policy_link", "policy_readonly_mount", "policy_access", "policy_protected", "policy_system_path", "policy_alias", "policy_alias_twice", "policy_network_access", "policy_network_mismatch", "policy_network_empty", "policy_network_many", "policy_network_model", "policy_network_own", "policy_network_relay", "policy_network_agent", "policy_host", "policy_host_localhost", "policy_host_address", "policy_port", "policy_resource", "policy_resource_profile", "policy_environment_name", "policy_environment_credential", "policy_environment_reserved", "policy_environment_value", "policy_environment_path"}},
	ConfigurationChanged: {Category: Validation},
	ConfigurationAbsent:  {Category: Validation, Variants: []string{"corrupt", "unconfirmed", "declined"}},
	FeatureUnavailable:   {Category: Validation, Variants: []string{"script"}},

	SandboxResolutionUnconfirmed: {Category: PolicyDeny, Variants: []string{"missing", "cycle", "not_directory", "not_file", "not_executable"}},
	SandboxResolutionChanged:     {Category: PolicyDeny},
	SandboxLost:                  {Category: ToolFailure},
	SandboxFailed:                {Category: ToolFailure},

	ExecutableApprovalMissing:   {Category: PolicyDeny},
	ExecutableResolutionChanged: {Category: PolicyDeny},
	ExecutableHashChanged:       {Category: PolicyDeny},
	ExecutableShellUnsupported:  {Category: PolicyDeny},
	ExecutableStartFailed:       {Category: ToolFailure, Retry: true},
	ExecutableScriptInvalid:     {Category: PolicyDeny, Variants: []string{"crlf", "bom", "too_long", "relative", "env", "missing", "outside", "too_deep", "too_large"}},

	ConfinementUnsupported: {Category: Validation},

	PolicyDenied: {Category: PolicyDeny, Variants: []string{"outside_roots", "missing_right", "alias_required", "link_cycle", "special_file", "mount_point", "magic_link", "permission", "tool_config", "hard_links", "hard_link", "hard_link_repository", "hard_link_protected", "hard_link_directories", "unreadable", "too_deep", "too_many_files", "too_many_guards", "quarantined", "replaced"}},

	ToolUnknown:          {Category: Validation, Retry: true},
	ToolArgumentsInvalid: {Category: Validation, Retry: true, Variants: []string{"directory_not_empty"}},
	ToolOutOfScope:       {Category: Validation, Retry: true},
	ToolFailed:           {Category: ToolFailure, Retry: true, Variants: []string{"patch_malformed", "patch_no_match", "patch_ambiguous", "hash_mismatch", "not_found", "is_directory", "not_directory", "target_exists", "cross_volume", "encoding", "too_large", "invalid_syntax", "access", "attributes", "swapped", "binary", "beyond_end", "whole_too_large", "exit_code"}},
	ToolNotExecuted:      {Category: ToolFailure, Retry: true},

	AgentSameFailureLimit: {Category: ToolFailure, Variants: []string{"claimed", "not_executed", "empty_response", "no_progress"}},
	AgentMaxIterations:    {Category: ResourceLimit},
	AgentInternal:         {Category: Internal},
	AgentCancelled:        {Category: Internal},

	PlannerFailed: {Category: Validation, Variants: []string{"no_ready_task"}},

	OllamaContextOverflow:    {Category: OllamaPermanent},
	OllamaContextTruncated:   {Category: OllamaPermanent},
	OllamaOutputTruncated:    {Category: OllamaPermanent},
	OllamaModelOutput:        {Category: OllamaTransient},
	OllamaProtocol:           {Category: OllamaPermanent},
	OllamaToolsUnsupported:   {Category: OllamaPermanent},
	OllamaVisionUnsupported:  {Category: OllamaPermanent, Variants: []string{"unknown"}},
	OllamaQuotaExceeded:      {Category: OllamaPermanent},
	OllamaUnavailable:        {Category: OllamaTransient, Variants: []string{"certificate", "retry_after"}},
	OllamaModelNotFound:      {Category: OllamaPermanent},
	OllamaRequestRejected:    {Category: OllamaPermanent, Variants: []string{"thinking", "endpoint", "redirect"}},
	OllamaEmptyResponse:      {Category: ToolFailure, Retry: true},
	OllamaCredentialRejected: {Category: OllamaPermanent, Variants: []string{"header_file"}},

	ResourceMemoryUnenforceable: {Category: ResourceLimit, Variants: []string{"version1", "group", "scope", "mount"}},
	ResourceTimeLimit:           {Category: ResourceLimit, Variants: []string{"task"}},
	ResourceMemoryLimit:         {Category: ResourceLimit},
	ResourceProcessLimit:        {Category: ResourceLimit},
	ResourceStorageLimit:        {Category: ResourceLimit, Variants: []string{"deep"}},

	PreflightUnsupportedOS:    {Category: Validation},
	PreflightMissingPrimitive: {Category: Validation, Variants: []string{"user_namespace", "userns_off", "namespace_limit", "apparmor", "proc", "proc_masked", "landlock", "landlock_absent", "landlock_network", "network_namespace", "seccomp", "idmapped_mount", "mount", "exec_stop", "core_socket", "text_busy", "wsl1", "program", "peer_owner"}},

	RecoveryFailed:  {Category: RecoveryFailure},
	RestartedServer: {Category: RecoveryFailure},

	TaskNotFound:    {Category: Validation},
	SessionNotFound: {Category: Validation},
	RequestInvalid:  {Category: Validation},
	ServerStopping:  {Category: Validation},
	ServerBusy:      {Category: ResourceLimit},

	ServerAddressUnusable: {Category: Validation, Variants: []string{"in_use", "in_use_process", "in_use_user", "privileged", "absent"}},

	StateUnusable: {Category: Validation, Variants: []string{"reason", "audit"}},
}

// Codes returns every code of the catalogue in order.
func Codes() []Code { return slices.Sorted(maps.Keys(catalogue)) }

// Lookup returns the catalogue's entry.
func Lookup(c Code) (Info, bool) {
	i, ok := catalogue[c]
	return i, ok
}
