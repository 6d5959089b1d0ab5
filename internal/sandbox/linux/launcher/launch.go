//go:build linux

package launcher

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/initproc"
	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/wire"
)

// launch makes one PID 1 and lets it begin. The block, if there is one, is closed by the caller.
func launch(l *wire.Launch, files []*os.File, limits []uint64) (pid int, process *os.File, block *opcode.Block, err error) {
	group := l.Tasks
	if l.Unified {
		group++
	}
	if l.Tasks < 0 || l.Tasks > initproc.MostTasks || len(files) < 2+group {
		return 0, nil, nil, fmt.Errorf("a launch with %d descriptors", len(files))
	}
	if block, err = opcode.Map(files[0]); err != nil {
		return 0, nil, nil, err
	}
	passed := []int{int(files[1].Fd())}
	for _, f := range files[2+group:] {
		passed = append(passed, int(f.Fd()))
	}
	if err := block.Give(passed, limits); err != nil {
		return 0, nil, block, err
	}
	pid, pidfd, err := born(l, block, files[2:2+group])
	if err != nil {
		return 0, nil, block, err
	}
	return pid, os.NewFile(uintptr(pidfd), "process"), block, nil
}

// born makes PID 1 and lets it begin.
func born(l *wire.Launch, block *opcode.Block, groups []*os.File) (pid, pidfd int, err error) {
	into := initproc.None()
	if l.Unified {
		into.Unified = int(groups[0].Fd())
	} else {
		for _, tasks := range groups {
			into.Tasks = append(into.Tasks, int(tasks.Fd()))
		}
	}
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
