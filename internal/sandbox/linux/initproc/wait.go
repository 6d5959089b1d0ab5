//go:build linux

package initproc

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// rawWait waits for one child to stop or end; s.status tells which.
//
//go:nosplit
//go:norace
func rawWait(s *state, pid uintptr) {
	for {
		_, _, errno := syscall.RawSyscall6(unix.SYS_WAIT4, pid, uintptr(unsafe.Pointer(&s.status)), unix.WALL, 0, 0, 0)
		switch errno {
		case 0:
			return
		case syscall.EINTR:
		default:
			rawExit(1)
		}
	}
}

// batch is how many deaths and stops are taken before the broker is looked for again: processes that end and stop without an end, on
// many processors, would otherwise keep PID 1 from seeing that it is gone.
const batch = 16

// soon is how long a run that nobody was asked about may take, in nanoseconds, before the broker is told that it goes on: most end
// within it, and a message in the middle of a run wakes the broker while both want the processors.
const soon = 5_000_000

// rawEntry reaps whatever ends until the entry process does, and returns its status. It ends with the broker. With tell it says
// Started when that takes long.
//
//go:nosplit
//go:norace
func rawEntry(s *state, entry uintptr, tell bool) uint32 {
	s.soon[0], s.soon[1] = 0, soon
	for more := false; ; {
		s.poll[0].fd, s.poll[0].events, s.poll[0].revents = socket, 0, 0 // no event is asked for: only the hang-up is reported
		s.poll[1].fd, s.poll[1].events, s.poll[1].revents = deaths, unix.POLLIN, 0
		limit := uintptr(0)
		if tell {
			limit = uintptr(unsafe.Pointer(&s.soon)) // of which the kernel subtracts what has passed
		}
		if more {
			s.now[0], s.now[1] = 0, 0
			limit = uintptr(unsafe.Pointer(&s.now))
		}
		n, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&s.poll)), 2, limit, 0, 8, 0)
		if errno != 0 && errno != syscall.EINTR {
			rawExit(1)
		}
		if s.poll[0].revents != 0 {
			rawExit(0)
		}
		if tell && errno == 0 && (n == 0 || more) { // in a tree with so many deaths it is time, too
			rawSend(s, wire.Started, 0, 0, 0, -1)
			tell = false
		}
		// One signal may stand for several deaths, so each is followed by asking until there is nothing more to know.
		syscall.RawSyscall6(unix.SYS_READ, deaths, uintptr(unsafe.Pointer(&s.info)), unsafe.Sizeof(s.info), 0, 0, 0)
		more = true
		for n := 0; n < batch && more; n++ {
			pid, _, errno := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&s.status)), unix.WALL|unix.WNOHANG, 0, 0, 0)
			switch {
			case errno == syscall.EINTR:
			case errno != 0:
				rawExit(1) // the entry process is a child until it is reaped
			case pid == 0:
				more = false
			case s.status&0xff == 0x7f:
				rawLetGo(pid, uintptr(s.status>>8&0xff))
			case pid == entry:
				return uint32(s.status)
			}
		}
	}
}

// rawLetGo ends the tracing that a payload asked its parent for, so that it neither hangs nor passes for ended. The signal
// that stopped it is delivered.
//
//go:nosplit
//go:norace
func rawLetGo(pid, signal uintptr) {
	if signal == uintptr(syscall.SIGTRAP) {
		signal = 0 // an exec: nobody sent it
	}
	syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, pid, 0, signal, 0, 0)
}

// rawKillAll ends every process of the pid namespace but this one and returns when none is left. All of them are in this
// process's Landlock domain or in one below it, so that its scope stops no signal. The result is entry's status, if it was still
// there.
//
//go:nosplit
//go:norace
func rawKillAll(s *state, entry uintptr) (status uint32) {
	for {
		_, _, killed := syscall.RawSyscall6(unix.SYS_KILL, ^uintptr(0), uintptr(syscall.SIGKILL), 0, 0, 0, 0)
		if killed != 0 && killed != syscall.ESRCH {
			rawExit(1)
		}
		// What is killed becomes our child, at the latest when its parent is gone; each death lets this return.
		pid, _, errno := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&s.status)), unix.WALL, 0, 0, 0)
		switch {
		case errno == syscall.ECHILD && killed == syscall.ESRCH:
			return status
		case errno == syscall.ECHILD, errno == syscall.EINTR:
		case errno != 0:
			rawExit(1)
		case pid == entry && s.status&0xff != 0x7f:
			status = uint32(s.status)
		}
	}
}
