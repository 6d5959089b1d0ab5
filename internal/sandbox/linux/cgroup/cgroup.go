//go:build linux

package cgroup

import (
	"context"
	"os"
	"runtime"

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
	// SetLimits bounds memory (MiB; swap included where the controller can) and tasks (Tasks of processLimit; processes are
	// counted by filter.Forks). It proves both by read-back.
	SetLimits(memoryMB, processLimit int) error
	// Add moves one process (an id of this PID namespace) into the group; its later children are born there.
	Add(pid int) error
	// Birth returns what a process is born inside by: with version 2 (unified) the directory, for CLONE_INTO_CGROUP, with
	// version 1 its tasks files, to which whoever makes the process writes "0" first. The caller closes them.
	Birth() (unified bool, files []*os.File, err error)
	// Born proves that a process that was just made is inside, and adds it where its maker was not let in. ended asks a
	// descriptor of the process: when it has ended, its number may be somebody else's.
	Born(pid int, ended func() bool) error
	// Procs lists the living processes inside, PID 1 of the sandbox included.
	Procs() ([]int, error)
	// OOM is closed when the kernel found the group out of memory; the tree must then be ended, because version 1 kills
	// only one process. It is also closed when the watch itself fails.
	OOM() <-chan struct{}
	// Starved reports whether a process or thread could not be made since the group was opened, because the limit of
	// tasks was reached.
	Starved() (bool, error)
	// Kill ends every process inside and returns when they are gone from the group. A process that is born meanwhile is ended
	// too.
	Kill(ctx context.Context) error
	// Close stops watching; the directories stay until Revert. It is repeatable.
	Close() error
}

// Names of the controllers in use.
const (
	memory  = "memory"
	pids    = "pids"
	freezer = "freezer"
)

// pidsEvents counts in its line "max" the tasks that pids.max has prevented, in both versions.
const pidsEvents = "pids.events"

// Tasks is the ceiling on tasks (processes and threads together) under a limit on processes. It leaves every process as
// many threads as runtimes make, some of their own and one for each processor (node makes 11, a JVM about 25), and 64
// more for the one process that has a pool of them.
func Tasks(processLimit int) int { return processLimit*(ownThreads+runtime.NumCPU()) + pooledThreads }

const (
	ownThreads    = 16
	pooledThreads = 64
)
