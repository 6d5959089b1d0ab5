package sandbox

import "context"

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
