package sandbox

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

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
