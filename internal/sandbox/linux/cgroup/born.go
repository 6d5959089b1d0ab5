//go:build linux

package cgroup

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start implements Group. Moving a running process makes the kernel wait for all processors (15 ms and more); a
// process that is born inside costs nothing. Version 2 has a clone flag for that. With version 1 a child inherits the
// groups of the thread that forks it, and a thread may move itself without that wait: so one thread moves, forks, and
// then ends, because moving back may not be allowed.
func (g *group) Start(ctx context.Context, attr *syscall.SysProcAttr, fork func(*syscall.SysProcAttr) (pid int, err error)) error {
	inside := *attr
	if g.version == 2 {
		inside.UseCgroupFD, inside.CgroupFD = true, int(g.pids.Fd())
		_, err := fork(&inside)
		return err
	}
	type outcome struct {
		thread, pid int
		err         error
	}
	done := make(chan outcome)
	go func() {
		runtime.LockOSThread() // and not unlocked: the runtime then ends the thread with this goroutine
		if unix.Gettid() == os.Getpid() {
			runtime.UnlockOSThread() // the main thread cannot end; the child is moved afterwards
		} else {
			g.moveThread()
		}
		pid, err := fork(&inside)
		done <- outcome{unix.Gettid(), pid, err}
	}()
	o := <-done
	// Asking for the thread is cheaper than listing three groups; what counts is the list.
	for try := 0; try < 50 && unix.Tgkill(os.Getpid(), o.thread, 0) == nil; try++ {
		runtime.Gosched()
	}
	if err := g.left(ctx); err != nil {
		return fmt.Errorf("waiting for our own thread to leave the group: %w", err)
	}
	if o.err != nil {
		return o.err
	}
	for _, dir := range g.dirs {
		now, err := procs(dir)
		if err != nil {
			return err
		}
		if !slices.Contains(now, o.pid) {
			return g.Add(o.pid)
		}
	}
	return nil
}

// moveThread moves the calling thread into every directory that lets it. Where one does not, the child is missing and
// Start moves it.
func (g *group) moveThread() {
	for _, dir := range g.dirs {
		_ = write(g.files, dir, "tasks", "0")
	}
}

// left returns when no thread of this process is inside: until then the group lists this process among those to kill.
func (g *group) left(ctx context.Context) error {
	for try := 0; ; try++ {
		inside := false
		for _, dir := range g.dirs {
			now, err := procs(dir)
			if err != nil {
				return err
			}
			inside = inside || slices.Contains(now, os.Getpid())
		}
		if !inside {
			return nil
		}
		if try < 50 {
			runtime.Gosched()
		} else if err := pause(ctx); err != nil {
			return err
		}
	}
}
