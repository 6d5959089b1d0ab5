package sandbox

import (
	"context"
	"errors"
)

// Sparer is a Backend that can build a confinement before the task is known that will use it (A-SBX-11).
type Sparer interface {
	Backend
	// Spare is Open for nobody yet: p.Task names the spare, its own empty private directories, and the guards of the moment.
	// ErrNoSpare tells that this policy has none, or this machine no room for one.
	Spare(ctx context.Context, p EffectivePolicy, applied []Undo) (Spare, error)
}

// Spare is a confinement in which nothing has run. Before Take it starts nothing; its Lost and Close are a Job's.
type Spare interface {
	Job
	// Take makes it the Job of the task in p, once. It succeeds only when the confinement is, at this moment, the one that
	// Open would build for p: the same view of the same objects, with the same owners, mounts and limits. Every error means
	// that it is not, or that this could not be proven: the caller closes it and opens a new one.
	Take(ctx context.Context, p EffectivePolicy) error
}

// ErrNoSpare reports that a backend keeps no spare now. ErrStale is why a spare is not taken: something is another than when
// it was built.
var (
	ErrNoSpare = errors.New("no spare sandbox")
	ErrStale   = errors.New("the spare sandbox is not what a new one would be")
)
