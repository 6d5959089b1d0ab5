//go:build linux

package wire

import (
	"errors"
	"syscall"
)

// Request is what the broker sends to PID 1: Start, and Release when the answer was Stopped. PID 1 has neither a heap nor a
// decoder, so both are laid out in memory for it; see StartHeader and ReleasePacket.

// Start asks for an entry process, stopped at its exec. Three descriptors come with it: stdin, stdout, stderr.
type Start struct {
	Path string
	Argv []string
	Env  []string
	Dir  string
	// Scripts are the private copies that the process must find at their paths, or it is not released: their places in the
	// order in which the program of PID 1 made them.
	Scripts []int
	// Expect, when it is not nil, lets PID 1 release a process whose executable is exactly that; it then answers Started.
	Expect *Expect
}

// Release answers Stopped: let the process run, or kill it.
type Release struct{ Run bool }

// Kind tells what a reply of PID 1 says.
type Kind uint32

// The kinds of replies.
const (
	// Ready: PID 1 serves. The seccomp notification descriptor comes with it.
	Ready Kind = iota + 1
	// Listening: A is the place of the address in Network.Listen; the listener comes with it. They precede Ready, and those of a
	// family that this system does not have are left out.
	Listening
	// Root: the root that PID 1 made comes with it, as a place to look from. It precedes Ready.
	Root
	// Broken: operation A of the program failed with the error number B, and PID 1 has ended.
	Broken
	// Refused follows Start: no process was left. A is the place of the stage in startStages, B the error number, and C the
	// place of the script in Start.Scripts, or for StageStop the wait status.
	Refused
	// Stopped follows Start: the process stands before its first instruction; its executable comes with it, opened.
	Stopped
	// Started follows a Start with an Expect that was met: the process was released without a question and has run for some
	// milliseconds. Of one that has ended by then only Ended tells.
	Started
	// Ended follows Release or Started, or a Start whose Expect was met: the entry process and every descendant are gone. A is the entry's wait status. B is an
	// error number when a script was not in its place afterwards, and C its place in Start.Scripts.
	Ended
)

// Reply is what PID 1 sends, in memory as here, in the byte order of the machine.
type Reply struct {
	Kind    Kind
	A, B, C uint32
}

// Descriptors is how many come with a reply.
func (r Reply) Descriptors() int {
	switch r.Kind {
	case Ready, Listening, Root, Stopped:
		return 1
	}
	return 0
}

// Launch asks the launcher for a PID 1. Its descriptors are, in this order: the image of its program, its end of the socket to the
// broker, those of its control group, and those that its program counts. More than MaxFiles come ahead, in messages of
// their own.
type Launch struct {
	// Ahead tells that this message only brings descriptors.
	Ahead bool
	// Unified tells that the process is born in the version 2 control group of one descriptor; otherwise Tasks files of version
	// 1 groups are written by the process that makes it.
	Unified bool
	Tasks   int
	// Maps are the id maps of its user namespace. DenySetgroups comes before them.
	UIDMap, GIDMap string
	DenySetgroups  bool
}

// Launched answers it: the id in the launcher's pid namespace, with a descriptor of the process, or what failed.
type Launched struct {
	PID    int
	Failed *Failed
}

// Failed names the stage that failed, the system's error number (0 if there is none) and what it was about.
type Failed struct {
	Stage  Stage
	Errno  int
	Target string
	Detail string
}

// Fail describes a failure so that it can cross to the broker and be explained there.
func Fail(stage Stage, target string, err error) *Failed {
	f := &Failed{Stage: stage, Target: target, Detail: err.Error()}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		f.Errno = int(errno)
	}
	return f
}

// Error makes a Failed the error of the function that met it.
func (f *Failed) Error() string {
	return string(f.Stage) + ": " + f.Target + ": " + f.Detail
}

// Stage is a step of building a sandbox or starting a process, the key of preflight's explanations.
type Stage string

// The stages in the order in which they happen.
const (
	StageClone     Stage = "clone"
	StageMap       Stage = "id_map"
	StageIDMap     Stage = "idmap"
	StageNamespace Stage = "namespace"
	StageProc      Stage = "proc"
	StageSysctl    Stage = "sysctl"
	StageSource    Stage = "source"
	StageMount     Stage = "mount"
	StagePivot     Stage = "pivot"
	StageNetwork   Stage = "network"
	StageDrop      Stage = "capabilities"
	StageLandlock  Stage = "landlock"
	StageSeccomp   Stage = "seccomp"
	StageFork      Stage = "fork"
	StageExec      Stage = "exec"
	StageStop      Stage = "exec_stop"
	StageScript    Stage = "script"
)
