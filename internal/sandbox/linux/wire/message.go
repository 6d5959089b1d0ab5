//go:build linux

package wire

import (
	"errors"
	"syscall"

	"sekisho/internal/sandbox"
)

// Request is what the broker sends; exactly one member is set, in this order over a connection: Files (any number of
// times), Setup, then per run Start and, when the reply was Stopped, Release.
type Request struct {
	// Files hands over descriptors that Setup's indexes count, because one packet holds only MaxFiles.
	Files   bool
	Setup   *Setup
	Start   *Start
	Release *Release
}

// Setup is everything PID 1 builds before the first run. It is sent only after PID 1 is in its cgroup.
type Setup struct {
	Layout Layout
	// Rules are the Landlock rules, by path in the new root.
	Rules []Rule
	// Filter is the assembled seccomp program.
	Filter []byte
	// UID and GID are the ids inside; with Become, PID 1 takes them on and drops all other groups.
	UID, GID int
	Become   bool
	// Hostname is the name of the UTS namespace.
	Hostname string
	// Network is nil when there is no network.
	Network *Network
}

// Network is what PID 1 makes of its network namespace.
type Network struct {
	// Listen are the addresses where it listens, at most MaxFiles less one.
	Listen []Listen
	// OwnFirst and OwnLast are the ports that programs may use among themselves.
	OwnFirst, OwnLast uint32
}

// Listen is one TCP address: IP has 4 or 16 bytes.
type Listen struct {
	IP   []byte
	Port uint32
}

// Rule grants rights below one visible path.
type Rule struct {
	Path   string
	Rights sandbox.Rights
	File   bool
}

// Layout is the visible file system. Binds are mounted in order, so that a parent precedes what lies below it; then the
// Guards, likewise.
type Layout struct {
	Binds  []Bind
	Links  []Link
	Files  []File
	Guards []Guard
}

// Guard binds what is visible at Target over itself. As a mount point it can be neither renamed, removed nor replaced; with
// ReadOnly it cannot be changed either. File tells that it is no directory; it may be a symbolic link.
type Guard struct {
	Target         string
	File, ReadOnly bool
}

// Bind is one mount.
type Bind struct {
	Target string
	// Source is the host path, opened by PID 1 in its own mount namespace and compared with ID; File tells its kind. When FD
	// is not -1, the broker made the (idmapped) mount already and FD counts the descriptors handed over.
	Source string
	FD     int
	ID     sandbox.FileID
	File   bool
	// Attr are MOUNT_ATTR_ flags.
	Attr uint64
	// Tmpfs is the size in bytes of a fresh tmpfs mounted instead of a source; 0 means none.
	Tmpfs int64
	// Make tells that the mount point may be created: it lies in the private root or in a directory of the task.
	Make bool
	// Proc mounts a procfs of the sandbox's own pid namespace.
	Proc bool
	// Copy mounts a private read-only copy of the bytes of the file that FD counts.
	Copy bool
}

// Link is a symbolic link in the private root.
type Link struct{ Path, To string }

// File is a generated read-only file in the private root.
type File struct{ Path, Text string }

// Start asks for an entry process, stopped at its exec. Three descriptors come with it: stdin, stdout, stderr.
type Start struct {
	Path string
	Argv []string
	Env  []string
	Dir  string
	// Scripts are paths at which the process must find private copies, or it is not released.
	Scripts []string
	// Expect, when it is not nil, lets PID 1 release a process whose executable is exactly that; it then answers Started.
	Expect *Expect
}

// Release answers Stopped: let the process run, or kill it.
type Release struct{ Run bool }

// Reply is what PID 1 sends; exactly one member is set.
type Reply struct {
	// Ready follows Setup; the seccomp notification descriptor comes with it, then the listeners.
	Ready bool
	// Listening tells which of Setup's addresses the listeners beside Ready have: those of a family that this system does not
	// have are left out.
	Listening []uint32
	// Failed follows Setup or Start.
	Failed *Failed
	// Stopped follows Start: the process stands before its first instruction; its executable comes with it, opened.
	Stopped bool
	// Started follows a Start with an Expect that was met: the process was released without a question.
	Started bool
	// Ended follows Release or Started: the entry process and every descendant are gone.
	Ended *Ended
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

// Ended is the wait status of the entry process.
type Ended struct{ Status uint32 }

// Stage is a step of building a sandbox or starting a process, the key of preflight's explanations.
type Stage string

// The stages in the order in which they happen.
const (
	StageClone     Stage = "clone"
	StageCgroup    Stage = "cgroup"
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
