//go:build linux

package initproc

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/filter"
	"sekisho/internal/sandbox/linux/wire"
)

// runsPerCollection is how often garbage is collected: only between runs, see harden.
const runsPerCollection = 64

// spawn makes the calling thread the spawner, from which every payload is forked, and serves runs on it. It never leaves
// its restrictions: all that a run needs of PID 1 can be done from inside them.
func spawn(conn *wire.Conn, setup *wire.Setup, program *filter.Program, copies privateCopies, listening []uint32, listeners []*os.File) error {
	notify, err := restrict(setup.Rules, ports(setup.Network), program)
	if err != nil {
		return fail(conn, err)
	}
	err = conn.Send(&wire.Reply{Ready: true, Listening: listening}, append([]*os.File{notify}, listeners...)...)
	notify.Close() // the broker answers its own thread's forks, too
	wire.CloseAll(listeners)
	if err != nil {
		return err
	}
	for runs := 1; ; runs++ {
		var r wire.Request
		files, err := conn.Receive(&r)
		if err != nil {
			return err
		}
		if r.Start == nil {
			return errors.New("unexpected message before a start")
		}
		if err := run(conn, r.Start, files, copies); err != nil {
			return err
		}
		if runs%runsPerCollection == 0 {
			runtime.GC()
		}
	}
}

// restrict takes everything away from the calling thread, in the order that filter asks for.
func restrict(rules []wire.Rule, ports *filter.Ports, program *filter.Program) (*os.File, error) {
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
	if err := filter.Landlock(opened, ports); err != nil {
		return nil, wire.Fail(wire.StageLandlock, "", err)
	}
	if err := bound(); err != nil { // not before everything is open that the number of roots decides
		return nil, err
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
