package codex

import "sekisho/internal/relay"

// PermissionsApproval is item/permissions/requestApproval.
type PermissionsApproval struct {
	ThreadID      relay.ThreadID `json:"threadId"`
	TurnID        relay.TurnID   `json:"turnId"`
	ItemID        relay.ItemID   `json:"itemId"`
	StartedAtMs   int64          `json:"startedAtMs"`
	Cwd           string         `json:"cwd"`
	Permissions   Permissions    `json:"permissions"`
	Reason        string         `json:"reason,omitzero"`
	EnvironmentID string         `json:"environmentId,omitzero"`
}

// Permissions is what is asked for, what comes with a command, and what is granted. Absent parts are not asked for.
type Permissions struct {
	FileSystem *FilePermissions    `json:"fileSystem,omitzero"`
	Network    *NetworkPermissions `json:"network,omitzero"`
}

// FilePermissions lists server paths. The server may say the same thing in Read/Write and in Entries.
type FilePermissions struct {
	Read             []string    `json:"read,omitzero"`
	Write            []string    `json:"write,omitzero"`
	Entries          []FileEntry `json:"entries,omitzero"`
	GlobScanMaxDepth *int64      `json:"globScanMaxDepth,omitzero"`
}

// NetworkPermissions asks for network access when Enabled is true.
type NetworkPermissions struct {
	Enabled *bool `json:"enabled,omitzero"`
}

// FileEntry is one path with an access.
type FileEntry struct {
	Path   FilePath   `json:"path"`
	Access FileAccess `json:"access"`
}

// FileAccess is read, write or deny.
type FileAccess string

func (FileAccess) values() []string { return []string{"read", "write", "deny"} }

// FilePath is a server path, a glob pattern or a special place; Type says which member is set.
type FilePath struct {
	Type    string       `json:"type"`
	Path    string       `json:"path,omitzero"`
	Pattern string       `json:"pattern,omitzero"`
	Value   *SpecialPath `json:"value,omitzero"`
}

func (FilePath) variants() Variants {
	return Variants{Tag: "type", Required: map[string][]string{"path": {"path"}, "glob_pattern": {"pattern"}, "special": {"value"}}}
}

// SpecialPath is a place that the server names, such as its temporary directory.
type SpecialPath struct {
	Kind    string `json:"kind"`
	Path    string `json:"path,omitzero"`
	Subpath string `json:"subpath,omitzero"`
}

func (SpecialPath) variants() Variants {
	return Variants{Tag: "kind", Required: map[string][]string{
		"root": nil, "minimal": nil, "project_roots": nil, "tmpdir": nil, "slash_tmp": nil, "unknown": {"path"}}}
}

// GrantScope is how long a grant lasts.
type GrantScope string

// The scopes. Turn is the default (R-INT-03).
const (
	ScopeTurn    GrantScope = "turn"
	ScopeSession GrantScope = "session"
)

func (GrantScope) values() []string { return []string{string(ScopeTurn), string(ScopeSession)} }

// PermissionsReply grants a subset of what was asked; empty Permissions deny all. The server intersects over-grants away,
// which is no reason to send one.
type PermissionsReply struct {
	Permissions Permissions `json:"permissions"`
	Scope       GrantScope  `json:"scope"`
}
