//go:build linux

package initproc

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/wire"
)

// namespaces are those that PID 1 is born in; the cgroup namespace follows from inside.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// Fork makes PID 1 from the block, which has everything it needs, in new namespaces. The calling goroutine is locked to its
// thread. group is a version 2 control group that it is born in, or -1. The result is its id and a descriptor of it.
func Fork(block *opcode.Block, group int) (pid, pidfd int, err error) {
	return fork(block, namespaces, group)
}

func fork(block *opcode.Block, flags uint64, group int) (pid, pidfd int, err error) {
	// In memory that the collector never moves, for only its address is in the arguments.
	fd := &rawShared(block.Base()).pidfd
	args := cloneArgs{flags: flags | unix.CLONE_PIDFD, pidfd: uint64(uintptr(unsafe.Pointer(fd))), exitSignal: uint64(unix.SIGCHLD)}
	if group >= 0 {
		args.flags |= unix.CLONE_INTO_CGROUP
		args.cgroup = uint64(group)
	}
	// No signal may arrive in the child: its handlers are the runtime's.
	all, before := ^uint64(0), uint64(0)
	if _, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&before)), 8, 0, 0); errno != 0 {
		return 0, -1, errno
	}
	n, errno := rawClone(block.Base(), &args, group >= 0)
	if _, _, restored := syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&before)), 0, 8, 0, 0); errno == 0 {
		errno = restored
	}
	if errno != 0 {
		return 0, -1, errno
	}
	return int(n), int(*fd), nil
}

// cloneArgs is struct clone_args.
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// rawClone returns in the parent only. Without a control group the older call is enough, which more machines allow and whose flags
// every filter sees.
//
//go:nosplit
//go:norace
func rawClone(base unsafe.Pointer, args *cloneArgs, into bool) (pid uintptr, errno syscall.Errno) {
	if into {
		pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE3, uintptr(unsafe.Pointer(args)), unsafe.Sizeof(*args), 0, 0, 0, 0)
	} else {
		pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(args.flags|args.exitSignal), 0, uintptr(args.pidfd), 0, 0, 0)
	}
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	rawFirst(base)
	return 0, 0
}

// rawFirst is the life of PID 1. It does not return.
//
//go:nosplit
//go:norace
func rawFirst(base unsafe.Pointer) {
	s := rawState(base)
	if at, errno := opcode.RawRun(base); errno != 0 {
		if at >= serving { // before, descriptor 3 is the launcher's
			rawSend(s, wire.Broken, uint32(at), uint32(errno), 0, -1)
		}
		rawExit(1)
	}
	if pid, _, _ := syscall.RawSyscall6(unix.SYS_GETPID, 0, 0, 0, 0, 0, 0); pid != 1 {
		rawExit(2) // it would end more than a sandbox
	}
	rawServe(base, s)
}

// Begin lets PID 1 begin: its id maps are written.
func Begin(block *opcode.Block) {
	gate := &rawShared(block.Base()).gate
	atomic.StoreUint32(gate, 1)
	syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(gate)), futexWake, 1, 0, 0, 0)
}

// futexWake is FUTEX_WAKE.
const futexWake = 1
