//go:build linux

package initproc

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/wire"
)

// namespaces are those that PID 1 is born in; the cgroup namespace follows from inside.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// Group is the control group that PID 1 is born in.
type Group struct {
	// Unified is the directory of one of version 2; negative without one.
	Unified int
	// Tasks are the tasks files of version 1.
	Tasks []int
}

// None is no control group.
func None() Group { return Group{Unified: -1} }

// MostTasks is how many tasks files there may be.
const MostTasks = 16

// Fork makes PID 1 from the block, which has everything it needs, in new namespaces. The calling goroutine is locked to its
// thread. The result is its id and a descriptor of it.
//
// Version 2 has a flag of clone for its control group. With version 1 a child inherits the groups of the thread that makes it,
// and a thread may move itself without the kernel waiting for all processors, as it does when it moves somebody else (15 ms and more).
// But moving back may not be allowed. So a process between enters the groups, makes PID 1 as a child of this process, and
// has ended when Fork returns. Where a group does not let it in, the server finds PID 1 missing there.
func Fork(block *opcode.Block, group Group) (pid, pidfd int, err error) {
	return fork(block, namespaces, group)
}

func fork(block *opcode.Block, flags uint64, group Group) (pid, pidfd int, err error) {
	if len(group.Tasks) > MostTasks {
		return 0, -1, syscall.E2BIG
	}
	page, sh := uintptr(os.Getpagesize()), rawShared(block.Base())
	for i, fd := range group.Tasks {
		sh.tasks[i] = int32(fd)
	}
	sh.entered = uint32(len(group.Tasks))
	// In memory that the collector never moves, for only its address is in the arguments.
	args := cloneArgs{flags: flags | unix.CLONE_PIDFD, pidfd: uint64(uintptr(unsafe.Pointer(&sh.pidfd))), exitSignal: uint64(unix.SIGCHLD)}
	if group.Unified >= 0 {
		args.flags |= unix.CLONE_INTO_CGROUP
		args.cgroup = uint64(group.Unified)
	}
	// No signal may arrive in the child: its handlers are the runtime's.
	all, before := ^uint64(0), uint64(0)
	if _, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&before)), 8, 0, 0); errno != 0 {
		return 0, -1, errno
	}
	n, errno := uintptr(0), rawKeep(page) // nothing between this and the clone moves the stack
	switch {
	case errno != 0:
	case sh.entered > 0:
		n, errno = rawBetween(block.Base(), &args)
	default:
		n, errno = rawClone(block.Base(), &args)
	}
	if _, _, restored := syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&before)), 0, 8, 0, 0); errno == 0 {
		errno = restored
	}
	if errno != 0 {
		return 0, -1, errno
	}
	return int(n), int(sh.pidfd), nil
}

// cloneArgs is struct clone_args.
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// rawKeep has the part of the stack copied on which PID 1 begins, whatever Lean left out: what is above its caller is not used, and
// the linker bounds what lies below.
//
//go:nosplit
//go:norace
func rawKeep(page uintptr) syscall.Errno {
	mark := uintptr(0)
	at := uintptr(unsafe.Pointer(&mark))
	from := (at - deepest) &^ (page - 1)
	_, _, errno := syscall.RawSyscall6(unix.SYS_MADVISE, from, at+highest-from, unix.MADV_DOFORK, 0, 0, 0)
	return errno
}

const (
	deepest = 1024 // more than the linker lets such functions use together
	highest = 256  // more than they use of the frame above them
)

// rawBetween makes PID 1 by a process between, which is in its control groups.
//
//go:nosplit
//go:noinline
//go:norace
func rawBetween(base unsafe.Pointer, args *cloneArgs) (pid uintptr, errno syscall.Errno) {
	sh := rawShared(base)
	sh.born, sh.errno = 0, 0
	// The descriptor of PID 1 is opened in the process that makes it, so both have one table.
	c := &sh.last
	c.number, c.a, c.b, c.c, c.d, c.e = unix.SYS_CLONE, borrowing|unix.CLONE_FILES|uintptr(unix.SIGCHLD), 0, 0, 0, 0
	between := uintptr(0)
	for between == 0 {
		between, _, errno = syscall.RawSyscall6(c.number, c.a, c.b, c.c, c.d, c.e, 0) // the process between ends here, too: see lastCall
		if errno != 0 {
			return 0, errno
		}
		if between == 0 {
			rawEnter(sh)
			args.flags |= unix.CLONE_PARENT
			pid, errno = rawClone(base, args)
			sh.born, sh.errno = int32(pid), uint32(errno)
			c.number, c.a = unix.SYS_EXIT_GROUP, 0
		}
	}
	// Where nobody wants to know of dead children, the answer is that there is none, but it comes as late.
	for errno = syscall.EINTR; errno == syscall.EINTR; {
		_, _, errno = syscall.RawSyscall6(unix.SYS_WAIT4, between, 0, unix.WALL, 0, 0, 0)
	}
	switch {
	case errno != 0 && errno != syscall.ECHILD:
		return 0, errno
	case sh.errno != 0:
		return 0, syscall.Errno(sh.errno)
	case sh.born <= 0:
		return 0, syscall.ESRCH // it was ended before it could make anything
	}
	return uintptr(sh.born), 0
}

// borrowing are the flags of vfork: the child has its parent's memory, stack and all, and the parent waits until it gives that back.
const borrowing = unix.CLONE_VM | unix.CLONE_VFORK

// rawEnter moves the calling process into the control groups.
//
//go:nosplit
//go:norace
func rawEnter(sh *shared) {
	self := uint64('0') // for the one who writes it
	for i := uintptr(0); i < uintptr(sh.entered) && i < MostTasks; i++ {
		fd := *(*int32)(unsafe.Add(unsafe.Pointer(&sh.tasks), 4*i))
		syscall.RawSyscall6(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&self)), 1, 0, 0, 0)
	}
}

// rawClone returns in the parent only. Without a control group the older call is enough, which more machines allow and whose flags
// every filter sees.
//
//go:nosplit
//go:norace
func rawClone(base unsafe.Pointer, args *cloneArgs) (pid uintptr, errno syscall.Errno) {
	if args.flags&unix.CLONE_INTO_CGROUP != 0 {
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
