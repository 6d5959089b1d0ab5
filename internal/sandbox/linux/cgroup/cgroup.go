//go:build linux

// Package cgroup holds a task's process tree to its memory and process limits with control groups, version 2 or 1.
package cgroup

import (
	"context"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
)

// Driver makes the groups of tasks below one place of this machine. Safe for concurrent use.
type Driver interface {
	// Plan lists the directories of a task in the order of making. It is pure. Ids are letters, digits, '-' and '_'.
	Plan(instance, task string) ([]sandbox.Step, error)
	// Group opens the applied directories of a task.
	Group(undos []sandbox.Undo) (Group, error)
	// String names version and place for people.
	String() string
}

// Group is the live control group of one task.
type Group interface {
	// SetLimits bounds memory (MiB; swap included where the controller can) and processes; threads get 64 times as many.
	// It proves both by read-back.
	SetLimits(memoryMB, processLimit int) error
	// Add moves one process (an id of this PID namespace) into the group; its later children are born there.
	Add(pid int) error
	// Procs lists the processes inside, PID 1 of the sandbox included.
	Procs() ([]int, error)
	// OOM is closed when the kernel found the group out of memory; the tree must then be ended.
	OOM() <-chan struct{}
	// Kill ends every process inside but those named and returns when they are gone from the group.
	Kill(ctx context.Context, except ...int) error
	// Close stops watching; the directories stay until Revert.
	Close() error
}

// Select chooses the place. setting is "auto" or an absolute cgroup directory that this user may write. Without a usable
// place the error is fault.ResourceMemoryUnenforceable and names the command that helps.
func Select(setting string, files fileop.FS) (Driver, error) { panic("skeleton") }

// Steps performs and undoes planned directories, also those of another driver or an earlier run.
type Steps struct{ files fileop.FS }

// NewSteps returns the performer of steps.
func NewSteps(files fileop.FS) *Steps { return &Steps{files: files} }

// Kind is the kind of every step and undo of this package.
const Kind = "cgroup.directory"

// Observe reads what Revert needs (see sandbox.Backend).
func (s *Steps) Observe(ctx context.Context, step sandbox.Step) (sandbox.Undo, error) {
	panic("skeleton")
}

// Apply makes the directory and proves it (see sandbox.Backend).
func (s *Steps) Apply(ctx context.Context, step sandbox.Step, u sandbox.Undo) error {
	panic("skeleton")
}

// Revert kills what is left inside, removes the directory and verifies its absence (see sandbox.Backend).
func (s *Steps) Revert(ctx context.Context, u sandbox.Undo) error { panic("skeleton") }
