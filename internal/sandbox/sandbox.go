// Package sandbox is the vocabulary of the trust boundary: what a task may do (EffectivePolicy) and the seam behind which
// an operating system enforces it (Backend, Job, Process).
//
// The package holds types only. Decisions are in policy, path resolution in resolve, descriptor-based file access in
// rootio, effects in broker and in the one backend of this GOOS.
package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
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

// Step is one effect of a policy that outlives this process; Undo is what reverting it needs. Both are data with a
// schema version, so that any later release can undo an earlier one's journal.
type Step struct {
	Schema int             `json:"schema"`
	Kind   string          `json:"kind"`
	Data   json.RawMessage `json:"data"`
}

// Undo is the undo data of one Step; see Step.
type Undo struct {
	Schema int             `json:"schema"`
	Kind   string          `json:"kind"`
	Data   json.RawMessage `json:"data"`
	// Instance and Task say whose journal the data was read from: known from where it lay, never from what it says. Revert
	// refuses data about another task's objects. They are empty for data that never left this process.
	Instance string `json:"-"`
	Task     string `json:"-"`
}

// Backend turns an EffectivePolicy into enforcement by one operating system. An error means that nothing weaker was left
// in force. Implementations are safe for concurrent use.
type Backend interface {
	// Preflight builds and destroys a real throw-away sandbox. A coded error names cause and remedy.
	Preflight(ctx context.Context) error
	// Plan lists, in order, the effects that outlive this process. It is pure.
	Plan(p EffectivePolicy) ([]Step, error)
	// Observe reads what Revert will need before s is applied; it changes nothing.
	Observe(ctx context.Context, s Step) (Undo, error)
	// Apply performs one effect and proves it by reading back; repeating it is harmless.
	Apply(ctx context.Context, s Step, u Undo) error
	// Revert undoes one effect, applied or not. It is repeatable, leaves alone what is no longer the object observed, and
	// returns nil only when absence (or restoration) was verified.
	Revert(ctx context.Context, u Undo) error
	// Open builds the live confinement on the applied steps. It never outlives this process, however this process ends.
	Open(ctx context.Context, p EffectivePolicy, applied []Undo) (Job, error)
}

// Job is the one confined process tree of a task.
type Job interface {
	// Start creates the process stopped, verifies its identity, then releases it. At most one process runs at a time;
	// a second Start waits for nothing and fails. Errors are *fault.Error with an executable.*, policy, resource or
	// sandbox code. After a resource limit ended the tree, the next Start builds a new confinement under the same policy.
	Start(ctx context.Context, c Command) (Process, error)
	// Lost is one channel for the Job's life. It is closed when a confinement died by itself, during a run or between runs:
	// the task fails, it never completes. A resource limit, a cancel or Close, which end the tree on purpose, leave it open.
	Lost() <-chan struct{}
	// Close ends the tree and returns only when all of it is proven dead. It is repeatable.
	Close(ctx context.Context) error
}

// Unlinker is a Job that can tell how much room files take which its programs hold open and no name leads to any more
// (A-SBX-08): the allocated bytes on device dev. It may be called while a process runs.
type Unlinker interface {
	Unlinked(dev uint64) (int64, error)
}

// Command is one entry process.
type Command struct {
	// Path is the resolved path of the executable; ID and SHA256 (lower-case hex) are what it must be when its first
	// instruction runs. All three are checked at the exec stop.
	Path   string
	ID     FileID
	SHA256 string
	// Scripts are the resolved paths of the approved scripts that this command reads (A-POL-11): each must show the bytes of
	// its approval to the process, or nothing starts.
	Scripts []string
	// Args follow argv[0]; argv[0] is Argv0, or Path when empty.
	Argv0 string
	Args  []string
	// Dir is a resolved directory inside a readable root.
	Dir string
	// Env adds variables to those that the backend makes (PATH, HOME, TMPDIR, LANG ...); nothing is inherited.
	Env []string
	// Stdin is the whole input; nil means an empty one.
	Stdin []byte
	// Stdout and Stderr receive output as it arrives, each from one goroutine. A slow writer slows the process.
	Stdout, Stderr io.Writer
	// Timeout ends the whole tree with resource.time_limit; zero means the policy's.
	Timeout time.Duration
	// Admit, unless nil, is told how the program was proven, after that and before its first instruction; an error keeps it
	// from running and becomes Start's. It is told again when what it was told turned out to be too much: the last word holds.
	Admit func(Proof) error
}

// Proof tells how the bytes of a program were proven at its exec stop (A-POL-04).
type Proof string

// The proofs: all bytes were hashed, or the rule of ADR 23 says that they are those of the last full hash.
const (
	ProofFull      Proof = "full"
	ProofUnchanged Proof = "unchanged"
)

// Process is a running entry process.
type Process interface {
	// Wait returns when the entry process has ended, its descendants are dead and its output was delivered. A resource
	// limit, a lost sandbox or a cancelled ctx (which ends the whole tree first) is a *fault.Error; a non-zero exit is not
	// an error.
	Wait(ctx context.Context) (Exit, error)
}

// Exit tells how the entry process ended.
type Exit struct {
	Code    int    // exit status, or -1 when a signal ended it
	Signal  string // such as "SIGSEGV", or ""
	Elapsed time.Duration
}

// Opener gives an agent task its Job under the compiled policy, with every durable effect journalled first (A-TX-01).
// The broker implements it. Closing the returned Job also reverts the task's steps and removes its journal and temporary
// directories; an error of that Close is fatal to the server (A-TX-01).
type Opener interface {
	// Claim waits until no other agent task of this user, in whatever server, works in one of the policy's workspaces, or in
	// a directory around or inside one, and keeps them to this task until Release (A-TX-08). waiting is told the
	// root that is waited for, each time it becomes another one. Then the writable roots are surveyed (A-POL-10).
	// Errors are *fault.Error: policy.denied for what the survey refuses, state.unusable; ctx's cause when ctx ended.
	Claim(ctx context.Context, task string, waiting func(root string)) (Claim, error)
	Open(ctx context.Context, session, task string) (TaskJob, error)
}

// Claim is the use of the policy's workspaces by one agent task.
type Claim interface {
	// Guards is what the survey at the task's start found.
	Guards() []Guard
	// Release lets the next task in. It is repeatable.
	Release() error
}

// TaskJob is the Job of an agent task together with what guards its roots.
type TaskJob interface {
	Job
	// Guards is what is guarded in this task.
	Guards() []Guard
	// FromSpare tells whether the confinement was a spare (A-SBX-11); a later one, after a limit ended the first, is not.
	FromSpare() bool
	// Quarantined lists, after Close, what the task's processes left where the host's tools would run it (A-POL-13).
	Quarantined() []Quarantined
}

// Quarantined is one object that was moved away.
type Quarantined struct {
	Path string `json:"path"` // where the task left it
	// To is where it is now; "" for what existed before, was replaced on the host meanwhile and stayed.
	To string `json:"to,omitempty"`
}
