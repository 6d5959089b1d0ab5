//go:build linux

// Package cgroup holds a task's process tree to its memory and process limits with control groups, version 2 or 1.
//
// A task has one directory per hierarchy in use, named after instance and task, so that servers side by side never touch
// each other's. Making and removing them is journalled (Steps); everything else about a group lives as long as this
// process. Writes go through fileop.FS.
//
// What is known from a real kernel: the version 1 driver, and of version 2 everything that needs no controller (membership,
// freezing, killing). memory.max, memory.events and pids.max of version 2 are tested on a directory tree that only
// looks like one, which proves what is written and read, not what a kernel does with it.
package cgroup

import (
	"context"
	"syscall"

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

// Group is the live control group of one task. Its methods may be called from several goroutines.
type Group interface {
	// SetLimits bounds memory (MiB; swap included where the controller can) and tasks (64 times processLimit, the ceiling on
	// threads; processes are counted by filter.ServeForks). It proves both by read-back.
	SetLimits(memoryMB, processLimit int) error
	// Add moves one process (an id of this PID namespace) into the group; its later children are born there.
	Add(pid int) error
	// Start lets fork make a process that is born inside the group, with attr changed as that needs, and proves it. fork
	// runs at most once. After an error it may have made the process nevertheless: the caller ends it.
	Start(ctx context.Context, attr *syscall.SysProcAttr, fork func(*syscall.SysProcAttr) (pid int, err error)) error
	// Procs lists the living processes inside, PID 1 of the sandbox included.
	Procs() ([]int, error)
	// OOM is closed when the kernel found the group out of memory; the tree must then be ended, because version 1 kills
	// only one process. It is also closed when the watch itself fails.
	OOM() <-chan struct{}
	// Kill ends every process inside but those named and returns when they are gone from the group. A process that is
	// born meanwhile is ended too.
	Kill(ctx context.Context, except ...int) error
	// Close stops watching; the directories stay until Revert. It is repeatable.
	Close() error
}

// Names of the controllers in use.
const (
	memory  = "memory"
	pids    = "pids"
	freezer = "freezer"
)

// threadsPerProcess makes pids.max, which counts threads, out of a limit on processes.
const threadsPerProcess = 64
