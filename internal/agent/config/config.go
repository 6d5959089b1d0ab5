// Package config reads agent.yaml and its overlay, resolves what it declares on this machine, and keeps the Applied
// Configuration Store (A-CFG).
//
// The walk is Load (YAML → typed Config, every problem at once), Resolve (paths, hashes and compiled policy → Snapshot),
// then either Store.Compare at start or Apply and Show for people. Nothing here changes anything but the store's one file,
// and only Apply does.
//
// To add a key: add its field below, its line in sections.go (or ollama.go, sandbox.go), its line with a comment in
// config/agent.yaml, and its row in the specification's section 14.
package config

import (
	"encoding/json"
	"net/netip"

	"sekisho/internal/agent"
	"sekisho/internal/sandbox"
)

// SchemaVersion is the only accepted schema_version.
const SchemaVersion = 2

// Profiles of sandbox.profile.
const (
	ProfileReadonly    = "readonly"
	ProfileDevelopment = "development"
)

// Transports of mcp.transport.
const (
	TransportStdio = "stdio"
	TransportHTTP  = "http"
)

// Config is the validated content of agent.yaml with every default filled in. Paths are absolute. When Load reported errors,
// a mount without Access or an entry without Alias or Path is a declaration of which only the rest is known.
type Config struct {
	Language     string
	MCP          MCP
	Agent        Agent
	Ollama       Ollama
	Planner      Planner
	Sandbox      Sandbox
	FileEdit     FileEdit
	Limits       Limits
	Localization Localization
	Skills       Skills
	Logging      Logging
}

// MCP configures the server's outside.
type MCP struct {
	Transport string
	HTTPHost  string // 127.0.0.1 or ::1
	HTTPPort  int
	// Images bounds the images of one request: count and bytes.
	ImagesMaxCount      int
	ImagesMaxBytesEach  int64
	ImagesMaxBytesTotal int64
	TaskTTLHours        int
	TaskPollMillis      int
}

// HTTPAddr is the address that this server listens on; false when it listens on none (mcp.transport is stdio). A-POL-06
// refuses it as an endpoint of the sandbox.
func (m MCP) HTTPAddr() (netip.AddrPort, bool) {
	addr, err := netip.ParseAddr(m.HTTPHost)
	if m.Transport != TransportHTTP || err != nil {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(addr, uint16(m.HTTPPort)), true
}

// Agent bounds an agent task.
type Agent struct {
	// UserSystemPrompt is the file, or "" when there is none; UserSystemPromptText is its content as read by Load.
	UserSystemPrompt     string
	UserSystemPromptText string
	MaxIterations        int
	SameFailureLimit     int
	TaskTimeoutSeconds   int // 0 = none
}

// Ollama configures the chat client (A-OLL-02, A-OLL-09).
type Ollama struct {
	Endpoint string
	// HeaderName is the header whose value is read from HeaderValueFile at each call; "" as file means no such header.
	HeaderName      string
	HeaderValueFile string
	Model           string
	Think           json.RawMessage // true, false, "low", "medium", "high" or "max"
	KeepAlive       json.RawMessage // "5m" or a number of seconds
	Options         agent.OllamaOptions
	// Extra passes further options through; it holds no name of a typed option.
	Extra map[string]json.RawMessage
}

// Planner bounds a TaskGraph.
type Planner struct{ MaxTasks int }

// Sandbox is what the user declares; Resolve turns it into an EffectivePolicy.
type Sandbox struct {
	Profile     string
	Workspaces  []Path
	Mounts      []Mount
	Entries     []Entry
	Network     sandbox.NetworkPolicy
	Resources   Resources
	Environment map[string]string
	TempMB      int
	HomeMB      int
	// AllowToolConfigWrites lifts A-POL-13.
	AllowToolConfigWrites bool
}

// Path is a declared path: as written, made absolute against the base file's directory, and the key it was written at.
type Path struct {
	Logical string
	Abs     string
	Key     string
}

// Mount is one of sandbox.mounts.
type Mount struct {
	Path
	Item   string // key of the list item
	Access string // read_only, read_write, read_write_delete
}

// Entry is one of sandbox.execution.entries. RuntimeRoot.Logical is "" when there is none.
type Entry struct {
	Alias       string
	Key         string
	Path        Path
	RuntimeRoot Path
	Environment map[string]string
}

// Resources are the declared resource values; 0 means that the profile's value holds.
type Resources struct {
	Profile        string
	MemoryMB       int
	ProcessLimit   int
	TimeoutSeconds int
	Cgroup         string
}

// FileEdit configures file transactions.
type FileEdit struct{ MemoryBackupLimitMB int }

// Limits bounds tools and context.
type Limits struct {
	WholeReadBytes      int64
	SearchMaxResults    int
	TailMaxLines        int
	ContextSummaryRatio float64
}

// Localization names the languages' directory; Directory is "" when the compiled-in texts are used.
type Localization struct{ Directory string }

// Skills names the skill directory, or "".
type Skills struct{ Directory string }

// Logging configures the logs of A-LOG-01.
type Logging struct {
	Directory     string
	Level         string // debug, info, warn, error
	HTTPRequests  bool
	MaxFileBytes  int64
	RetainedFiles int
}
