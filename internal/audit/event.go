// Package audit writes audit.jsonl: append-only, one JSON object a line, never rotated or rewritten (A-AUD-01).
//
// A line is one append, so several servers may share the file. Process arguments are never written, only their number.
// Whoever writes an event before an effect must not perform the effect when Write fails.
package audit

import "time"

// Names of events.
const (
	TaskStart         = "task.start"
	TaskEnd           = "task.end"
	SandboxOpen       = "sandbox.open"
	ToolCall          = "tool.call"
	ProcessStart      = "process.start"
	ProcessExit       = "process.exit"
	FileWrite         = "file.write"
	FileDelete        = "file.delete"
	FileQuarantine    = "file.quarantine"
	PolicyDeny        = "policy.deny"
	NetworkRuleApply  = "network.rule.apply"
	NetworkRuleRemove = "network.rule.remove"
	RecoveryStart     = "recovery.start"
	RecoveryEnd       = "recovery.end"
)

// Values of Decision.
const (
	Allow = "allow"
	Deny  = "deny"
)

// Values of Sandbox: a spare that was ready, or one that was built for the task.
const (
	FromSpare = "spare"
	Cold      = "cold"
)

// Values of Kind of a policy.deny.
const (
	KindFilesystem = "filesystem"
	KindProcess    = "process"
	KindNetwork    = "network"
)

// Redacted is the only value that Arguments ever has.
const Redacted = "redacted"

// Event is one line: the members of A-AUD-01's table, of which each event sets its own. Write fills Time when zero,
// and Arguments of a process.start.
type Event struct {
	Time        time.Time `json:"ts"`
	Event       string    `json:"event"`
	SessionID   string    `json:"session_id,omitzero"`
	TaskID      string    `json:"task_id,omitzero"`
	PlannerTask string    `json:"planner_task,omitzero"`
	CallID      string    `json:"call_id,omitzero"`
	ErrorCode   string    `json:"error_code,omitzero"`

	// Capabilities and ReadOnlyDirectories belong to task.start, FinalState to task.end.
	Capabilities        []Capability `json:"capabilities,omitempty"`
	Grants              []Grant      `json:"grants,omitempty"`
	ReadOnlyDirectories []string     `json:"read_only_directories,omitempty"`
	FinalState          string       `json:"final_state,omitzero"`
	// Sandbox belongs to sandbox.open: FromSpare or Cold.
	Sandbox string `json:"sandbox,omitzero"`

	// Tool and Source belong to tool.call, Decision also to process.start.
	Tool     string `json:"tool,omitzero"`
	Decision string `json:"decision,omitzero"`
	Source   string `json:"source,omitzero"`

	// Exe to ArgumentCount belong to process.start, Exe, ExitCode, Signal and Limit to process.exit. Limit is the code of
	// the limit that ended the tree.
	Exe    string `json:"exe,omitzero"`
	Alias  string `json:"alias,omitzero"`
	SHA256 string `json:"sha256,omitzero"`
	// Hash tells how the digest of what starts was proven: "full" or "unchanged" (A-POL-04). A start that failed has none.
	Hash          string `json:"hash,omitzero"`
	Arguments     string `json:"arguments,omitzero"`
	ArgumentCount *int   `json:"argument_count,omitzero"`
	ExitCode      *int   `json:"exit_code,omitzero"`
	Signal        string `json:"signal,omitzero"`
	// Interpreter and its digest are the other part of a script's pair (A-POL-11).
	Interpreter       string `json:"interpreter,omitzero"`
	InterpreterSHA256 string `json:"interpreter_sha256,omitzero"`
	Limit             string `json:"limit,omitzero"`

	// Path and the digests belong to file.write and file.delete. A digest is lower-case hex; a file that did not exist
	// before (or does not after) has none. Destination is the new name of a rename, and where a file.quarantine put Path.
	Path         string `json:"path,omitzero"`
	Destination  string `json:"destination,omitzero"`
	Operation    string `json:"operation,omitzero"`
	BeforeSHA256 string `json:"before_sha256,omitzero"`
	AfterSHA256  string `json:"after_sha256,omitzero"`

	// Kind, Target and Reason belong to policy.deny; Target, Port and RuleID to the network rules.
	Kind   string `json:"kind,omitzero"`
	Target string `json:"target,omitzero"`
	Reason string `json:"reason,omitzero"`
	Port   int    `json:"port,omitzero"`
	RuleID string `json:"rule_id,omitzero"`

	// Instance to Verified belong to recovery.start and recovery.end.
	Instance string   `json:"instance,omitzero"`
	Undone   []Undone `json:"undone,omitempty"`
	Verified *bool    `json:"verified,omitzero"`
}

// Capability is an OS capability granted to a task's sandbox (A-SBX-07).
type Capability struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"`
	Origin     string `json:"origin"`
	Condition  string `json:"condition,omitzero"`
}

// Grant is one root of the Effective Sandbox Policy with its rights and origins (A-POL-08).
type Grant struct {
	Path string `json:"path"`
	// DeclaredAs are the paths of the configuration that lead to Path through links.
	DeclaredAs []string `json:"declared_as,omitempty"`
	Rights     string   `json:"rights"`
	Origins    []string `json:"origins"`
}

// Undone is one effect that recovery reverted. Verified is true when its absence, or the restoration, was proven.
type Undone struct {
	Effect   string `json:"effect"`
	Target   string `json:"target"`
	Verified bool   `json:"verified"`
}

// Int returns a pointer for the optional numbers, for which zero means something.
func Int(n int) *int { return &n }

// Bool returns a pointer for Verified.
func Bool(b bool) *bool { return &b }
