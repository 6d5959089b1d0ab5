package initproc

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/filter"
	"sekisho/internal/sandbox/linux/wire"
)

// spawner is the one restricted OS thread, from which every payload is forked. It never leaves its restrictions.
type spawner struct {
	work   chan func()
	notify *os.File // the listener of its forks, for the broker
}

// newSpawner starts the thread and restricts it.
func newSpawner(setup *wire.Setup) (*spawner, error) {
	program, err := filter.Load(setup.Filter)
	if err != nil {
		return nil, wire.Fail(wire.StageSeccomp, "", err)
	}
	s := &spawner{work: make(chan func())}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the runtime starts no other thread from a locked one
		var err error
		s.notify, err = restrict(setup.Rules, program)
		ready <- err
		if err != nil {
			return
		}
		for f := range s.work {
			f()
		}
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	return s, nil
}

// do runs f on the thread and waits for it.
func (s *spawner) do(f func()) {
	done := make(chan struct{})
	s.work <- func() { f(); close(done) }
	<-done
}

// restrict takes everything away from the calling thread, in the order that filter asks for.
func restrict(rules []wire.Rule, program *filter.Program) (*os.File, error) {
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return nil, wire.Fail(wire.StageNamespace, "cgroup", err)
	}
	// A new session keyring: the broker's one may hold keys. A kernel without keyrings has none to hide.
	if _, _, errno := unix.RawSyscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0); errno != 0 && errno != unix.ENOSYS {
		return nil, wire.Fail(wire.StageNamespace, "keyring", errno)
	}
	opened := make([]filter.PathRule, 0, len(rules))
	defer func() {
		for _, r := range opened {
			unix.Close(r.FD)
		}
	}()
	for _, r := range rules {
		fd, err := unix.Open(r.Path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, wire.Fail(wire.StageLandlock, r.Path, err)
		}
		opened = append(opened, filter.PathRule{FD: fd, Rights: r.Rights, File: r.File, List: r.Rights == 0})
	}
	if err := dropCapabilities(); err != nil {
		return nil, wire.Fail(wire.StageDrop, "", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, wire.Fail(wire.StageDrop, "no_new_privs", err)
	}
	if err := filter.Landlock(opened); err != nil {
		return nil, wire.Fail(wire.StageLandlock, "", err)
	}
	notify, err := program.Install()
	if err != nil {
		return nil, wire.Fail(wire.StageSeccomp, "", err)
	}
	return notify, nil
}

// dropCapabilities empties every capability set of the calling thread, the bounding set first, and proves it.
func dropCapabilities() error {
	for c := 0; c <= unix.CAP_LAST_CAP; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil && err != unix.EINVAL {
			return fmt.Errorf("dropping capability %d from the bounding set: %w", c, err)
		}
	}
	for c := unix.CAP_LAST_CAP + 1; c < 64; c++ { // capabilities newer than this program
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil {
			break
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clearing the ambient set: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none, now [2]unix.CapUserData
	if err := capset(&header, &none); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	if err := unix.Capget(&header, &now[0]); err != nil || now != none {
		return fmt.Errorf("capabilities are left: %v %w", now, err)
	}
	return nil
}

// capset changes the calling thread only, which is what a spawner needs.
func capset(h *unix.CapUserHeader, d *[2]unix.CapUserData) error {
	_, _, errno := unix.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(h)), uintptr(unsafe.Pointer(&d[0])), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
