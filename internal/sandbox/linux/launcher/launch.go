//go:build linux

package launcher

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/initproc"
	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/wire"
)

// launch makes one PID 1 and lets it begin.
func launch(l *wire.Launch, files []*os.File, limits []uint64) (pid int, process *os.File, err error) {
	group := l.Tasks
	if l.Unified {
		group++
	}
	if l.Tasks < 0 || l.Tasks > 16 || len(files) < 2+group {
		return 0, nil, fmt.Errorf("a launch with %d descriptors", len(files))
	}
	block, err := opcode.Map(files[0])
	if err != nil {
		return 0, nil, err
	}
	defer block.Close()
	passed := []int{int(files[1].Fd())}
	for _, f := range files[2+group:] {
		passed = append(passed, int(f.Fd()))
	}
	if err := block.Give(passed, limits); err != nil {
		return 0, nil, err
	}
	pid, pidfd, thread, err := born(l, block, files[2:2+group])
	if err != nil {
		return 0, nil, err
	}
	// The control groups list this process as long as the thread is in them. Asking for the thread is cheaper than listing.
	for try := 0; try < 200 && thread > 0 && unix.Tgkill(os.Getpid(), thread, 0) == nil; try++ {
		runtime.Gosched()
	}
	return pid, os.NewFile(uintptr(pidfd), "process"), nil
}

// born clones. Moving a running process into a control group makes the kernel wait for all processors (15 ms and more); a
// process that is born inside costs nothing. Version 2 has a flag of clone for that. With version 1 a child inherits the groups
// of the thread that makes it, and a thread may move itself without that wait: so one thread moves, clones, and then
// ends, because moving back may not be allowed. Where a group does not let it in, the server finds the process missing.
func born(l *wire.Launch, block *opcode.Block, groups []*os.File) (pid, pidfd, thread int, err error) {
	if l.Tasks == 0 {
		into := -1
		if l.Unified {
			into = int(groups[0].Fd())
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		pid, pidfd, err = begun(l, block, into)
		return pid, pidfd, 0, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and not unlocked: the runtime then ends the thread with this goroutine
		for _, tasks := range groups {
			unix.Write(int(tasks.Fd()), []byte{'0'})
		}
		thread = unix.Gettid()
		// Begun here as well: PID 1 works while the runtime ends this thread and goes back to the other, which takes as long.
		pid, pidfd, err = begun(l, block, -1)
	}()
	<-done
	return pid, pidfd, thread, err
}

// begun makes PID 1 on the calling thread, which is locked, and lets it begin.
func begun(l *wire.Launch, block *opcode.Block, into int) (pid, pidfd int, err error) {
	if pid, pidfd, err = initproc.Fork(block, into); err != nil {
		return 0, -1, wire.Fail(wire.StageClone, "", err)
	}
	if err := mapIDs(l, pid); err != nil {
		kill(pidfd)
		return 0, -1, wire.Fail(wire.StageMap, "user namespace", err)
	}
	initproc.Begin(block)
	return pid, pidfd, nil
}

// mapIDs gives the user namespace of a process its one user and one group.
func mapIDs(l *wire.Launch, pid int) error {
	dir, err := unix.Open(fmt.Sprintf("/proc/%d", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	write := func(name, text string) error {
		fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, err = unix.Write(fd, []byte(text))
		return err
	}
	// An ordinary user must first forbid setgroups, which could drop a group that denies access.
	if l.DenySetgroups {
		if err := write("setgroups", "deny\n"); err != nil {
			return err
		}
	}
	if err := write("uid_map", l.UIDMap); err != nil {
		return err
	}
	return write("gid_map", l.GIDMap)
}
