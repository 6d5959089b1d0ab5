//go:build linux

package initproc

import (
	"unsafe"

	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/wire"
)

// The descriptors of PID 1 when it serves.
const (
	socket = 3 // to the broker
	deaths = 4 // a signalfd for SIGCHLD
)

// shared is the beginning of the shared memory: between the launcher and PID 1 until that is started, then between PID 1 and the
// child that was forked ahead. What the child received follows at received.
type shared struct {
	gate  uint32 // 1 when the launcher has written the id maps
	phase uint32
	stage uint32 // of the child's failure, as in wire.Reply
	errno uint32
	// For the launcher: a descriptor of PID 1, its id, and the tasks files of the control groups that it is born in.
	pidfd   int32
	born    int32
	entered uint32 // how many tasks files
	tasks   [MostTasks]int32
	last    lastCall
}

// lastCall is the last system call of a process that has borrowed its parent's stack, by vfork. What it leaves there is what its parent
// finds when it goes on: in the frames below the function that forked, which the parent has not left yet. So the child's last
// call is made at the very place of the fork, in the same loop, and puts the same return addresses there. Nothing
// else of these frames is used after a system call, and variables of the function that forked are not changed by the child.
type lastCall struct{ number, a, b, c, d, e uintptr }

const received = 4096

// The phases of the child that was forked ahead.
const (
	idle  = iota // waits for a Start
	begun        // got a packet
	gone         // learned that the broker is gone
)

// state is what PID 1 works with, at the beginning of its image.
type state struct {
	notify uint32 // where the number of the filter's listener is
	copies uint32 // where the private copies are listed, copied each
	count  uint32 // how many
	status int32  // of wait4
	tid    uint32 // where clone puts the id of the child
	signal uint32 // what stopped a traced process

	reply   wire.Reply
	packet  [2]uint64
	iov     [2]uint64
	msg     message
	last    lastCall
	control [8]uint64
	poll    [2]pollFd
	now     [2]uint64 // a time that is over
	soon    [2]uint64 // what is left of soon
	mask    uint64
	info    [16]uint64 // struct signalfd_siginfo
	stat    [32]uint64 // struct stat
	path    [4]uint64  // of an executable below /proc
}

// copied is a private copy: where its path and where the device and inode of the file are.
type copied struct{ path, identity uint32 }

// message is struct msghdr.
type message struct {
	name       uint64
	nameLength uint64
	iov        uint64
	iovs       uint64
	control    uint64
	controls   uint64
	flags      uint64
}

type pollFd struct {
	fd              int32
	events, revents int16
}

const stateSize = int(unsafe.Sizeof(state{}))

//go:nosplit
//go:norace
func rawState(base unsafe.Pointer) *state { return (*state)(unsafe.Add(base, opcode.Begin)) }

//go:nosplit
//go:norace
func rawShared(base unsafe.Pointer) *shared { return (*shared)(base) }
