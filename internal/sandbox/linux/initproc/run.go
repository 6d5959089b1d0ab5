//go:build linux

package initproc

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// run serves one Start to its end. An error means that PID 1 can no longer vouch for the tree and must exit.
func run(conn *wire.Conn, start *wire.Start, stdio []*os.File, copies privateCopies) error {
	pid, err := fork(start, stdio)
	wire.CloseAll(stdio) // also after success: only the payload may hold the pipes open
	var exe *os.File
	if err == nil {
		if exe, err = os.Open(fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
			err = wire.Fail(wire.StageStop, start.Path, err)
		}
	}
	if err == nil {
		if err = copies.check(start.Scripts); err != nil {
			exe.Close()
		}
	}
	if err != nil {
		if _, kerr := killAll(pid); kerr != nil {
			return kerr
		}
		return fail(conn, err)
	}
	err = conn.Send(&wire.Reply{Stopped: true}, exe)
	exe.Close() // an open executable of ours would keep its file busy for the whole run
	if err != nil {
		return err
	}
	var answer wire.Request
	if _, err := conn.Receive(&answer); err != nil {
		return err
	}
	if answer.Release == nil {
		return errors.New("unexpected message at the exec stop")
	}
	var status syscall.WaitStatus
	if answer.Release.Run {
		if err := syscall.PtraceDetach(pid); err != nil {
			return fmt.Errorf("releasing the process: %w", err)
		}
		if status, err = waitEntry(pid); err != nil {
			return err
		}
	}
	killed, err := killAll(pid)
	if err != nil {
		return err
	}
	if !answer.Release.Run {
		status = killed
	}
	return conn.Send(&wire.Reply{Ended: &wire.Ended{Status: uint32(status)}})
}

// fork starts the entry process and returns when it stands before its first instruction. On error a process may be left.
func fork(start *wire.Start, stdio []*os.File) (int, error) {
	if len(stdio) != 3 {
		return 0, wire.Fail(wire.StageFork, start.Path, errors.New("three descriptors are needed"))
	}
	attr := &syscall.ProcAttr{Dir: start.Dir, Env: start.Env, Sys: &syscall.SysProcAttr{Ptrace: true, Setsid: true}}
	for _, f := range stdio {
		attr.Files = append(attr.Files, f.Fd())
	}
	pid, err := syscall.ForkExec(start.Path, start.Argv, attr)
	if err != nil {
		return 0, wire.Fail(wire.StageExec, start.Path, err)
	}
	status, err := wait(pid)
	if err == nil && (!status.Stopped() || status.StopSignal() != syscall.SIGTRAP) {
		err = fmt.Errorf("wait status %#x instead of the exec stop", uint32(status))
	}
	if err != nil {
		return pid, wire.Fail(wire.StageStop, start.Path, err)
	}
	return pid, nil
}

// waitEntry reaps whatever ends until the entry process does.
func waitEntry(entry int) (syscall.WaitStatus, error) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, fmt.Errorf("waiting for the entry process: %w", err)
		case status.Stopped():
			letGo(pid, status.StopSignal())
		case pid == entry:
			return status, nil
		}
	}
}

// letGo ends the tracing that a payload asked its parent for, so that it neither hangs nor passes for ended. The signal
// that stopped it is delivered.
func letGo(pid int, sig syscall.Signal) {
	if sig == syscall.SIGTRAP {
		sig = 0 // an exec: nobody sent it
	}
	// An orphan may be traced by another thread of this process; then it stays stopped until the run ends.
	unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, uintptr(sig), 0, 0)
}

// killAll ends every process of the pid namespace but this one and returns when none is left. All of them are in this
// thread's Landlock domain or in one below it, so that its scope stops no signal. The status is entry's, if it was still there.
func killAll(entry int) (status syscall.WaitStatus, err error) {
	for {
		err := syscall.Kill(-1, syscall.SIGKILL)
		if err != nil && err != syscall.ESRCH {
			return 0, fmt.Errorf("killing the tree: %w", err)
		}
		none := err == syscall.ESRCH
		var st syscall.WaitStatus
		// What is killed becomes our child, at the latest when its parent is gone; each death lets this return.
		pid, err := syscall.Wait4(-1, &st, unix.WALL, nil)
		switch {
		case err == syscall.ECHILD && none:
			return status, nil
		case err == syscall.ECHILD, err == syscall.EINTR:
		case err != nil:
			return 0, fmt.Errorf("reaping the tree: %w", err)
		case pid == entry && !st.Stopped():
			status = st
		}
	}
}

// wait waits for one process on the calling thread.
func wait(pid int) (syscall.WaitStatus, error) {
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &status, unix.WALL, nil); err != syscall.EINTR {
			return status, err
		}
	}
}
