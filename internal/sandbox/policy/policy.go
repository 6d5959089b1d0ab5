// Package policy compiles what a person declared, as it was resolved on this machine, into the one EffectivePolicy that
// show, enforcement and audit read, and decides single requests against it (A-POL).
//
// Everything here is pure: no file is opened, no name resolved, no clock read. Callers hand in resolved objects and act on
// the same objects afterwards. Default is deny: what no grant covers is refused.
package policy

import "sekisho/internal/sandbox"

// Profiles of sandbox.profile.
const (
	ProfileReadonly    = "readonly"
	ProfileDevelopment = "development"
)

// Access of a mount.
const (
	AccessReadOnly        = "read_only"
	AccessReadWrite       = "read_write"
	AccessReadWriteDelete = "read_write_delete"
)

// SandboxPolicy is what the configuration declares, with every path resolved.
type SandboxPolicy struct {
	Profile    string
	Workspaces []Directory
	Mounts     []Mount
	Entries    []Entry
	// OSRuntime is the system's own programs and libraries (resolve.OSRuntime).
	OSRuntime   []Directory
	Network     sandbox.NetworkPolicy
	Resources   Resources
	Environment map[string]string
	Protected   []Protected
	// ToolConfigWrites lifts A-POL-13.
	ToolConfigWrites bool
	// Machine names the servers that no endpoint may be.
	Machine Machine
	// TempMB and HomeMB are the caps of A-SBX-08 in MiB.
	TempMB, HomeMB int
}

// Directory is one declared directory: as declared and as resolved.
type Directory struct {
	// Declared is absolute and clean. It may lead to Path through links; "" means that it is Path.
	Declared string
	// Path is canonical: absolute and free of links, "." and "..".
	Path       string
	ID         sandbox.FileID
	Filesystem string // type name as resolve tells it
}

// Mount is one declared mount.
type Mount struct {
	Directory
	Access string
}

// Entry is one declared execution entry.
type Entry struct {
	Alias    string
	Declared string // as Directory's
	Path     string // resolved
	ID       sandbox.FileID
	SHA256   string
	// Interpreters are what a script needs (A-POL-11); none for a native program.
	Interpreters []Interpreter
	Filesystem   string
	// RuntimeRoot is nil when absent.
	RuntimeRoot *Directory
	// Environment are literal variables of this entry.
	Environment map[string]string
}

// Interpreter is one resolved interpreter of a script.
type Interpreter struct {
	sandbox.Interpreter
	ID         sandbox.FileID
	Filesystem string
}

// Resources is a resource profile with overrides; zero means not overridden.
type Resources struct {
	Profile        string
	MemoryMB       int
	ProcessLimit   int
	TimeoutSeconds int
	Cgroup         string
}

// Protected is a path that no workspace or mount may expose (A-POL-09).
type Protected struct {
	// Kind names it in the error: "configuration", "prompt", "header_value_file", "executable", "state_root", "logs",
	// "skills", "locales".
	Kind string
	// Path is resolved as far as it exists.
	Path string
	// Directory is true when also a root inside it is refused.
	Directory bool
	// Above are the identities of Path and of the directories that contain it, as far as they exist: a bind mount shows
	// the same object under another path.
	Above []sandbox.FileID
}

// profileResources are the values of A-POL-07.
var profileResources = map[string]sandbox.ResourcePolicy{
	"constrained": {MemoryMB: 1024, ProcessLimit: 4, TimeoutSeconds: 300},
	"normal":      {MemoryMB: 4096, ProcessLimit: 16, TimeoutSeconds: 1800},
	"extended":    {MemoryMB: 8192, ProcessLimit: 32, TimeoutSeconds: 3600},
}
