//go:build linux

package initproc

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// rawServe says that PID 1 is ready and serves runs until the broker is gone.
//
//go:nosplit
//go:norace
func rawServe(base unsafe.Pointer, s *state) {
	rawSend(s, wire.Ready, 0, 0, 0, *(*int32)(unsafe.Add(base, uintptr(s.notify))))
	// Nobody but the broker answers forks, and nobody else accepts.
	syscall.RawSyscall6(unix.SYS_CLOSE_RANGE, deaths+1, ^uintptr(0)>>32, 0, 0, 0, 0)
	for {
		if pid, errno := rawAhead(base, s); errno != 0 {
			rawRefuse(s, errno)
		} else {
			rawRun(base, s, pid)
		}
	}
}

// rawAhead forks the child that becomes the next entry process, by a call that the filter lets through without asking the broker.
// There is nothing to ask: when PID 1 forks, every other process of the sandbox is dead. Where that is vfork, PID 1 waits
// here until the child has executed a program or has ended.
//
//go:nosplit
//go:noinline
//go:norace
func rawAhead(base unsafe.Pointer, s *state) (pid uintptr, errno syscall.Errno) {
	rawShared(base).phase = idle
	c := &s.last
	// Where the id goes is the fourth argument on one architecture and the fifth on another.
	tid := uintptr(unsafe.Pointer(&s.tid))
	c.number, c.a, c.b, c.c, c.d, c.e = aheadCall, aheadFlags, 0, 0, tid, tid
	for {
		pid, _, errno = syscall.RawSyscall6(c.number, c.a, c.b, c.c, c.d, c.e, 0)
		switch {
		case errno == 0 && pid == 0:
			rawChild(base, s)
		case errno == 0 || rawShared(base).phase == idle:
			return pid, errno
		default: // the child's exec
			rawFailed(base, s, errno)
		}
	}
}

// rawRefuse answers the next Start when there is no child for it. Its descriptors find no room and are closed.
//
//go:nosplit
//go:norace
func rawRefuse(s *state, errno syscall.Errno) {
	rawMessage(s, uintptr(unsafe.Pointer(&s.packet)), unsafe.Sizeof(s.packet))
	if rawReceive(s) == 0 {
		rawExit(0)
	}
	rawSend(s, wire.Refused, wire.AtFork, uint32(errno), 0, -1)
}

// rawRun serves one Start to its end, with the child that was forked for it.
//
//go:nosplit
//go:norace
func rawRun(base unsafe.Pointer, s *state, pid uintptr) {
	// While nothing runs PID 1 waits here, or waited for the fork: the child sees it when the broker is gone.
	rawWait(s, pid)
	if rawShared(base).phase == gone {
		rawExit(0)
	}
	if rawShared(base).phase == idle {
		rawExit(1) // somebody outside killed it; what it was told is not known
	}
	exe, refused := rawStopped(base, s, pid)
	if refused {
		return
	}
	met := rawMeets(base, s, exe)
	if met {
		rawClose(exe)
		rawRelease(pid)
	} else {
		rawSend(s, wire.Stopped, 0, 0, 0, int32(exe))
		rawClose(exe) // an open executable of ours would keep its file busy for the whole run
		if !rawAllowed(s) {
			rawSend(s, wire.Ended, rawKillAll(s, pid), 0, 0, -1)
			return
		}
		rawRelease(pid)
	}
	status := rawEntry(s, pid, met)
	rawKillAll(s, pid)
	// Once more: the kernel tells a watcher of names only after it has put another file in the place, and a run can be over by then.
	which, errno := rawScripts(base, s)
	rawSend(s, wire.Ended, status, uint32(errno), which, -1)
}

// rawStopped proves that the child stands at its exec, opens its executable, and looks at the scripts it must find. Otherwise
// it kills it and says why.
//
//go:nosplit
//go:norace
func rawStopped(base unsafe.Pointer, s *state, pid uintptr) (exe uintptr, refused bool) {
	stage, errno, which := uint32(wire.AtStop), uint32(0), uint32(s.status)
	if uint32(s.status) == uint32(syscall.SIGTRAP)<<8|0x7f {
		var failed syscall.Errno
		if exe, failed = rawExecutable(s, pid); failed == 0 {
			if which, failed = rawScripts(base, s); failed == 0 {
				return exe, false
			}
			stage = wire.AtScript
			rawClose(exe)
		}
		errno = uint32(failed)
	} else if rawShared(base).errno != 0 {
		stage, errno = rawShared(base).stage, rawShared(base).errno
	}
	rawKillAll(s, pid)
	rawSend(s, wire.Refused, stage, errno, which, -1)
	return 0, true
}

// rawExecutable opens /proc/PID/exe.
//
//go:nosplit
//go:norace
func rawExecutable(s *state, pid uintptr) (fd uintptr, errno syscall.Errno) {
	at := unsafe.Add(unsafe.Pointer(&s.path), len(s.path)*8-16)
	// From its end: the number goes before "/exe".
	*(*[5]byte)(at) = [5]byte{'/', 'e', 'x', 'e', 0}
	for {
		at = unsafe.Add(at, -1)
		*(*byte)(at) = byte('0' + pid%10)
		if pid /= 10; pid == 0 {
			break
		}
	}
	at = unsafe.Add(at, -6)
	*(*[6]byte)(at) = [6]byte{'/', 'p', 'r', 'o', 'c', '/'}
	dir := unix.AT_FDCWD
	for {
		fd, _, errno = syscall.RawSyscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(at), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
		if errno != syscall.EINTR {
			return fd, errno
		}
	}
}

// rawScripts proves that each path that the Start names leads to its private copy. It no longer does when somebody on the host
// renamed another file over the script (the kernel then detaches what was mounted there) or moved one of its directories.
//
//go:nosplit
//go:norace
func rawScripts(base unsafe.Pointer, s *state) (which uint32, errno syscall.Errno) {
	h := (*wire.StartHeader)(unsafe.Add(base, received))
	dir := unix.AT_FDCWD
	for ; which < h.Scripts; which++ {
		n := *(*uint32)(unsafe.Add(unsafe.Pointer(h), uintptr(h.Script)+uintptr(4*which)))
		if n >= s.count {
			return which, syscall.EINVAL
		}
		c := (*copied)(unsafe.Add(base, uintptr(s.copies)+uintptr(n)*unsafe.Sizeof(copied{})))
		fd, _, errno := syscall.RawSyscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Add(base, uintptr(c.path))), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0, 0, 0)
		if errno != 0 {
			return which, errno
		}
		_, _, errno = syscall.RawSyscall6(unix.SYS_FSTAT, fd, uintptr(unsafe.Pointer(&s.stat)), 0, 0, 0, 0)
		rawClose(fd)
		want := (*[2]uint64)(unsafe.Add(base, uintptr(c.identity)))
		if errno == 0 && (s.stat[0] != want[0] || s.stat[1] != want[1]) {
			errno = syscall.ESTALE
		}
		if errno != 0 {
			return which, errno
		}
	}
	return 0, 0
}

// rawMeets tells whether there is an expectation of the executable and all of it is met.
//
//go:nosplit
//go:norace
func rawMeets(base unsafe.Pointer, s *state, exe uintptr) bool {
	h := (*wire.StartHeader)(unsafe.Add(base, received))
	if h.Flags&wire.Expecting == 0 {
		return false
	}
	if _, _, errno := syscall.RawSyscall6(unix.SYS_FSTAT, exe, uintptr(unsafe.Pointer(&s.stat)), 0, 0, 0, 0); errno != 0 {
		return false
	}
	st, e := (*unix.Stat_t)(unsafe.Pointer(&s.stat)), &h.Expect
	return uint64(st.Dev) == e.Dev && st.Ino == e.Ino && uint64(st.Size) == e.Size && uint64(st.Mode) == e.Mode &&
		uint64(st.Mtim.Sec) == e.MtimeSec && uint64(st.Mtim.Nsec) == e.MtimeNsec &&
		uint64(st.Ctim.Sec) == e.CtimeSec && uint64(st.Ctim.Nsec) == e.CtimeNsec
}

// rawAllowed waits for the broker's Release.
//
//go:nosplit
//go:norace
func rawAllowed(s *state) bool {
	rawMessage(s, uintptr(unsafe.Pointer(&s.packet)), unsafe.Sizeof(s.packet))
	n := rawReceive(s)
	if n == 0 {
		rawExit(0)
	}
	if n != 8 || uint32(s.packet[0]) != wire.ReleasePacket {
		rawExit(1)
	}
	return s.packet[0]>>32 == 1
}

//go:nosplit
//go:norace
func rawRelease(pid uintptr) {
	if _, _, errno := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, pid, 0, 0, 0, 0); errno != 0 {
		rawExit(1)
	}
}

//go:nosplit
//go:norace
func rawClose(fd uintptr) { syscall.RawSyscall6(unix.SYS_CLOSE, fd, 0, 0, 0, 0, 0) }
