// Package sandbox is the vocabulary of the trust boundary: what a task may do (EffectivePolicy) and the seam behind which
// an operating system enforces it (Backend, Job, Process).
//
// The package holds types only. Decisions are in policy, path resolution in resolve, descriptor-based file access in
// rootio, effects in broker and in the one backend of this GOOS.
package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// Rights is the set of capabilities on a root (A-POL-01).
type Rights uint8

// The four rights. Delete covers removing and renaming names; Write alone allows neither inside a process tree.
const (
	Read Rights = 1 << iota
	Write
	Delete
	Execute
)

// Has reports whether r contains all of want.
func (r Rights) Has(want Rights) bool { return r&want == want }

// String lists the rights in fixed order, such as "read, write".
func (r Rights) String() string {
	var names []string
	for i, n := range [...]string{"read", "write", "delete", "execute"} {
		if r&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, ", ")
}

// Origin tells why a root is granted (A-POL-01).
type Origin string

// The origins of A-POL-01.
const (
	OriginWorkspace     Origin = "workspace"
	OriginMount         Origin = "mount"
	OriginRuntimeRoot   Origin = "runtime_root"
	OriginOSRuntimeRoot Origin = "os_runtime_root"
	OriginApprovedEntry Origin = "approved_entry_executable"
	OriginApprovedShell Origin = "approved_shell_executable"
)

// FileID identifies a file system object while it exists: device and inode.
type FileID struct {
	Dev uint64 `json:"dev"`
	Ino uint64 `json:"ino"`
}

// Root is one Resolved Root: an existing directory (or, for entries, one regular file) and what may be done below it.
type Root struct {
	// Path is absolute, free of links, "." and "..".
	Path string `json:"path"`
	// File is true when the root is a single regular file.
	File    bool     `json:"file,omitempty"`
	Rights  Rights   `json:"rights"`
	Origins []Origin `json:"origins"`
	// ID is the object that was resolved at apply; another object under the same path is refused.
	ID FileID `json:"id"`
}

// Link is a declared spelling of a root: Path, as the configuration names it, leads through symbolic links to Target, the
// root's path, as they led when the configuration was applied. It is data from then on; the host's links are not read
// again.
type Link struct {
	// Path is absolute and clean, and lies in no root.
	Path   string `json:"path"`
	Target string `json:"target"`
}

// Class of an execution entry, fixed by its resolved file name (A-POL-04).
type Class string

// The two classes.
const (
	ClassEntry Class = "approved_entry"
	ClassShell Class = "approved_shell"
)

// Entry is one ExecutableApproval.
type Entry struct {
	Alias string `json:"alias"`
	Class Class  `json:"class"`
	// Path is the resolved path, SHA256 the lower-case hex digest of the file's bytes at apply.
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	// RuntimeRoot is the resolved runtime root, or "".
	RuntimeRoot string `json:"runtime_root,omitempty"`
	// Interpreters are what runs the entry when it is a script: first the one of its own line, then that one's when it is a
	// script itself. The last one is native. None for a native entry (A-POL-11).
	Interpreters []Interpreter `json:"interpreters,omitempty"`
	// Environment are literal variables of this entry's processes, on top of the policy's (A-SBX-08).
	Environment map[string]string `json:"environment,omitempty"`
}

// Interpreter is one step of a script's interpreter line, resolved: what /usr/bin/env would have found is named itself.
type Interpreter struct {
	// Name is what the line says: an absolute path, or for env a name that was looked up in PATH. It becomes argv[0].
	Name string `json:"name"`
	// Args are the arguments of the line, which come before the script's path.
	Args []string `json:"args,omitempty"`
	// Path is the resolved path, SHA256 the lower-case hex digest of the file's bytes at apply.
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	// Found is the path that Name led to before links were followed: Name itself when that is a path.
	Found string `json:"found"`
}

// Launch is how the script at path starts: the native program and what follows its argv[0] before the script's own
// arguments. It is what the kernel makes of the interpreter lines, outermost first. Interpreters is not empty.
func Launch(path string, interpreters []Interpreter) (native Interpreter, args []string) {
	args = []string{path}
	for i, in := range interpreters {
		if i > 0 {
			args = append([]string{interpreters[i-1].Path}, args...)
		}
		args = append(append([]string{}, in.Args...), args...)
	}
	return interpreters[len(interpreters)-1], args
}

// ResourcePolicy bounds the process tree of a task (A-POL-07): MiB, processes (not threads), seconds.
type ResourcePolicy struct {
	Profile        string `json:"profile"`
	MemoryMB       int    `json:"memory_mb"`
	ProcessLimit   int    `json:"process_limit"`
	TimeoutSeconds int    `json:"execution_timeout_seconds"`
	// Cgroup is "auto" or the absolute path of a cgroup directory that this user may write.
	Cgroup string `json:"cgroup"`
}

// BaselineGrant is an OS capability that every sandbox has, reported by show and audit (A-SBX-07).
type BaselineGrant struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"`
	Origin     string `json:"origin"`
	Condition  string `json:"condition"`
}

// EffectivePolicy is what show prints, enforcement enforces and audit records (A-POL-08). It is compiled by
// policy.Compile and never edited afterwards; broker fills Task in a copy.
type EffectivePolicy struct {
	Profile     string            `json:"profile"`         // readonly or development
	Roots       []Root            `json:"roots"`           // sorted by Path; each path once
	Links       []Link            `json:"links,omitempty"` // sorted by Path; each path once, none below another
	Entries     []Entry           `json:"entries"`
	Network     NetworkPolicy     `json:"network"`
	Resources   ResourcePolicy    `json:"resources"`
	Baseline    []BaselineGrant   `json:"baseline"`
	Environment map[string]string `json:"environment,omitempty"`
	// TempMB and HomeMB cap the task's temporary directory and home, in MiB; 0 means no cap (A-SBX-08).
	TempMB int `json:"temp_mb,omitempty"`
	HomeMB int `json:"home_mb,omitempty"`
	// ToolConfigWrites lifts A-POL-13 (sandbox.allow_tool_config_writes).
	ToolConfigWrites bool        `json:"allow_tool_config_writes,omitempty"`
	Task             TaskBinding `json:"task,omitzero"`
}

// HomeIdentity tells whose HOME a task has: under development that of its workspaces, by a path for people and by
// everything that makes them other ones. "" means that HOME is the task's own (A-SBX-08).
func (p *EffectivePolicy) HomeIdentity() (label, identity string) {
	if p.Profile != "development" {
		return "", ""
	}
	for _, r := range p.Roots {
		if slices.Contains(r.Origins, OriginWorkspace) {
			if label == "" {
				label = r.Path
			}
			identity += fmt.Sprintf("%s\x00%d:%d\x00", r.Path, r.ID.Dev, r.ID.Ino)
		}
	}
	return label, identity
}

// DeclaredAs lists the paths of the configuration that lead to the root at path through links.
func (p *EffectivePolicy) DeclaredAs(path string) []string {
	var paths []string
	for _, l := range p.Links {
		if l.Target == path {
			paths = append(paths, l.Path)
		}
	}
	return paths
}

// TaskBinding ties a policy to one agent task. Names of OS resources carry both ids (A-TX-05, A-TX-06).
type TaskBinding struct {
	Instance string `json:"instance"`
	Task     string `json:"task"`
	// Temp and Home are existing private host directories; inside they are /tmp and the home directory. Temp is the task's,
	// Home under development the workspace's (A-SBX-08).
	Temp string `json:"temp"`
	Home string `json:"home"`
	// Guards are what a survey of the writable roots found, outermost first; each path once.
	Guards []Guard `json:"guards,omitempty"`
	// Network is the snapshot of a policy whose network access is not none; Forward serves it.
	Network NetworkSnapshot `json:"network,omitzero"`
	Forward Forwarder       `json:"-"`
}

// GuardReason tells why an object of a writable root is guarded.
type GuardReason string

// The reasons.
const (
	// GuardToolConfig is what the host or its tools run later (A-POL-13): read-only.
	GuardToolConfig GuardReason = "tool_config"
	// GuardHardLinks is a directory whose files are also linked outside the writable roots (A-POL-10): read-only.
	GuardHardLinks GuardReason = "hard_links"
	// GuardPassage is a directory or link on the way to a GuardToolConfig: what it holds stays writable, itself it can be
	// neither renamed nor removed.
	GuardPassage GuardReason = "passage"
)

// Guard is an object inside a writable root that a task's processes cannot replace or rename, and whose content, but for a
// GuardPassage, neither they nor the file tools can change.
type Guard struct {
	// Path is absolute and free of links but for its last element, which may be one.
	Path   string      `json:"path"`
	Reason GuardReason `json:"reason"`
	// Kind is "directory", or "file" for everything else.
	Kind string `json:"kind"`
}
