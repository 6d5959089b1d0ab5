//go:build linux

package initproc

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// rawChild is the life of the process that was forked ahead: it waits for a Start and prepares to become its entry process. What
// is left to do then is s.last.
//
//go:nosplit
//go:norace
func rawChild(base unsafe.Pointer, s *state) {
	rawMessage(s, uintptr(unsafe.Add(base, received)), wire.MaxStart)
	s.msg.control, s.msg.controls = uint64(uintptr(unsafe.Pointer(&s.control))), uint64(unsafe.Sizeof(s.control))
	n := rawReceive(s)
	if n == 0 {
		rawShared(base).phase = gone
		s.last.number, s.last.a = unix.SYS_EXIT_GROUP, 0
		return
	}
	rawShared(base).errno = 0
	rawShared(base).phase = begun
	errno := rawWhole(base, s, n)
	if errno == 0 {
		errno = rawPrepare(unsafe.Add(base, received), wire.MaxStart)
	}
	if errno == 0 {
		errno = rawBecome(base, s)
	}
	if errno != 0 {
		rawFailed(base, s, errno)
	}
}

// rawFailed lets the child end after a failure.
//
//go:nosplit
//go:norace
func rawFailed(base unsafe.Pointer, s *state, errno syscall.Errno) {
	rawShared(base).stage, rawShared(base).errno = wire.AtExec, uint32(errno)
	s.last.number, s.last.a = unix.SYS_EXIT_GROUP, 127
}

// rawWhole checks what came with the packet of n bytes, and reads the rest when that is elsewhere.
//
//go:nosplit
//go:norace
func rawWhole(base unsafe.Pointer, s *state, n uintptr) syscall.Errno {
	h := (*wire.StartHeader)(unsafe.Add(base, received))
	if n < unsafe.Sizeof(*h) || s.msg.flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		return syscall.EBADMSG
	}
	count := uint64(3)
	if h.Flags&wire.Elsewhere != 0 {
		count = 4
	}
	if s.msg.controls < controlHead || s.control[0] != controlHead+4*count || s.control[1] != rights {
		return syscall.EBADMSG
	}
	if count == 3 {
		if uintptr(h.Size) != n {
			return syscall.EBADMSG
		}
		return 0
	}
	size := uintptr(h.Size)
	if size > wire.MaxStart {
		return syscall.EBADMSG
	}
	for done := uintptr(0); done < size; {
		n, _, errno := syscall.RawSyscall6(unix.SYS_PREAD64, rawControl(s, 3), uintptr(unsafe.Add(base, received+done)), size-done, done, 0, 0)
		if errno != 0 && errno != syscall.EINTR {
			return errno
		}
		if errno == 0 && n == 0 || uintptr(h.Size) != size {
			return syscall.EBADMSG
		}
		if errno == 0 {
			done += n
		}
	}
	return 0
}

// rawControl is a received descriptor.
//
//go:nosplit
//go:norace
func rawControl(s *state, i uintptr) uintptr {
	return uintptr(*(*int32)(unsafe.Add(unsafe.Pointer(&s.control), controlHead+4*i)))
}

// rawPrepare reads a Start like any input, though it comes from the broker, and turns the places in its tables into addresses:
// argv and envp as the kernel takes them.
//
//go:nosplit
//go:norace
func rawPrepare(at unsafe.Pointer, most uintptr) syscall.Errno {
	h := (*wire.StartHeader)(at)
	size := uint64(h.Size)
	if h.Packet != wire.StartPacket || size <= uint64(unsafe.Sizeof(*h)) || size > uint64(most) || *(*byte)(unsafe.Add(at, size-1)) != 0 ||
		uint64(h.Path) >= size || uint64(h.Dir) >= size || h.Script%4 != 0 || uint64(h.Script)+4*uint64(h.Scripts) > size {
		return syscall.EBADMSG
	}
	if errno := rawTable(at, uint64(h.Argv), uint64(h.Argc), size); errno != 0 {
		return errno
	}
	return rawTable(at, uint64(h.Env), uint64(h.Envc), size)
}

//go:nosplit
//go:norace
func rawTable(at unsafe.Pointer, table, count, size uint64) syscall.Errno {
	if table%8 != 0 || table < uint64(unsafe.Sizeof(wire.StartHeader{})) || table+8*(count+1) > size {
		return syscall.EBADMSG
	}
	for i := uint64(0); i < count; i++ {
		entry := (*uint64)(unsafe.Add(at, table+8*i))
		if *entry >= size {
			return syscall.EBADMSG
		}
		*entry = uint64(uintptr(unsafe.Add(at, *entry)))
	}
	if *(*uint64)(unsafe.Add(at, table+8*count)) != 0 {
		return syscall.EBADMSG
	}
	return 0
}

// rawBecome makes this process the entry process, up to the exec.
//
//go:nosplit
//go:norace
func rawBecome(base unsafe.Pointer, s *state) syscall.Errno {
	h := (*wire.StartHeader)(unsafe.Add(base, received))
	if _, _, errno := syscall.RawSyscall6(unix.SYS_SETSID, 0, 0, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	for i := uintptr(0); i < 3; i++ {
		if _, _, errno := syscall.RawSyscall6(unix.SYS_DUP3, rawControl(s, i), i, 0, 0, 0, 0); errno != 0 {
			return errno
		}
	}
	if _, _, errno := syscall.RawSyscall6(unix.SYS_CHDIR, uintptr(unsafe.Add(unsafe.Pointer(h), h.Dir)), 0, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	if _, _, errno := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	s.mask = 0
	if _, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&s.mask)), 0, 8, 0, 0); errno != 0 {
		return errno
	}
	// Everything else is closed by the exec.
	c := &s.last
	c.number, c.a, c.b, c.c = unix.SYS_EXECVE, uintptr(unsafe.Add(unsafe.Pointer(h), h.Path)), uintptr(unsafe.Add(unsafe.Pointer(h), h.Argv)), uintptr(unsafe.Add(unsafe.Pointer(h), h.Env))
	return 0
}
