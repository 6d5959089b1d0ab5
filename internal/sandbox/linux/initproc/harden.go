//go:build linux

package initproc

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// become takes on the sandbox's user, who exists since the broker wrote the id maps. The capabilities stay: the kernel
// takes them away only from who was root inside.
func become(setup *wire.Setup) error {
	if !setup.Become {
		return nil
	}
	// Each of these stops and signals every thread of this process, so none is made without need.
	if groups, err := unix.Getgroups(); err != nil || len(groups) > 0 {
		if err := syscall.Setgroups(nil); err != nil {
			return wire.Fail(wire.StageMap, "groups", err)
		}
	}
	if err := syscall.Setresgid(setup.GID, setup.GID, setup.GID); err != nil {
		return wire.Fail(wire.StageMap, "gid", err)
	}
	if err := syscall.Setresuid(setup.UID, setup.UID, setup.UID); err != nil {
		return wire.Fail(wire.StageMap, "uid", err)
	}
	return nil
}

// harden closes PID 1 to everybody inside, before anybody is: no payload can look into it or dump it, and no signal
// reaches it.
func harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("making PID 1 undumpable: %w", err)
	}
	// With a piped core_pattern any limit but 1 makes the kernel start the host's core handler, as root, when a payload
	// crashes; every payload inherits this value, and the filter refuses to change it (A-SBX-09).
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: 1, Max: 1}); err != nil {
		return fmt.Errorf("limiting core dumps: %w", err)
	}
	unix.Umask(0o022)
	// The collector may start threads. While a payload runs it may have used up all tasks of the cgroup, and a runtime that
	// cannot start a thread gives up: so nothing is collected then.
	debug.SetGCPercent(-1)
	return ignoreSignals()
}

// closeInherited is the first thing PID 1 does: it closes what the broker's own parent may have leaked. The runtime's poller
// stays.
func closeInherited() error {
	if err := unix.CloseRange(socket+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close_range: %w", err)
	}
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("listing descriptors: %w", err)
	}
	for _, n := range names {
		fd, err := strconv.Atoi(n.Name())
		if err != nil || fd <= socket {
			continue
		}
		if kind, err := os.Readlink("/proc/self/fd/" + n.Name()); err == nil && !strings.HasPrefix(kind, "anon_inode:[event") {
			unix.Close(fd)
		}
	}
	return nil
}

// ignoreSignals gives every signal its default action. For PID 1 of a pid namespace the kernel drops such a signal when
// anyone inside sends it, to the process or to one of its threads; only a real fault, or the broker, ends PID 1. A handler
// of the runtime would be reachable instead, and ignoring them explicitly would be inherited by every payload.
func ignoreSignals() error {
	var zero [8]uint64 // longer than struct sigaction of any architecture; all zero is SIG_DFL
	for sig := 1; sig <= 64; sig++ {
		if sig == int(unix.SIGKILL) || sig == int(unix.SIGSTOP) {
			continue
		}
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&zero)), 0, 8, 0, 0)
		if errno != 0 {
			return fmt.Errorf("resetting signal %d: %w", sig, errno)
		}
	}
	return nil
}
