//go:build linux

package cgroup

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Birth implements Group. Version 2 has a clone flag for the group that a process is born in. With version 1 a child inherits
// the groups of who forks it.
func (g *group) Birth() (unified bool, files []*os.File, err error) {
	if g.version == 2 {
		fd, err := unix.FcntlInt(g.pids.Fd(), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return true, nil, fmt.Errorf("duplicating control group %s: %w", g.pids.Name(), err)
		}
		return true, []*os.File{os.NewFile(uintptr(fd), g.pids.Name())}, nil
	}
	for _, dir := range g.dirs {
		f, err := openControl(dir, "tasks", unix.O_WRONLY)
		if err != nil {
			for _, f := range files {
				f.Close()
			}
			return false, nil, err
		}
		files = append(files, f)
	}
	return false, files, nil
}

// Born implements Group.
func (g *group) Born(pid int, ended func() bool) error {
	for _, dir := range g.dirs {
		now, err := procs(dir)
		if err != nil {
			return err
		}
		if !slices.Contains(now, pid) {
			return g.adopt(pid, ended)
		}
	}
	return nil
}

// adopt adds a process by a number that is its own as long as it lives. One that has ended is left alone, whoever has its number now;
// one that ended just then may have given it to a stranger, who is let out again before anybody kills what is inside.
func (g *group) adopt(pid int, ended func() bool) error {
	if ended() {
		return errEnded
	}
	err := g.Add(pid)
	if !ended() {
		return err
	}
	for _, dir := range g.dirs {
		parent, perr := openDir(int(dir.Fd()), "..")
		if perr != nil {
			return errors.Join(errEnded, perr)
		}
		if now, perr := procs(dir); perr == nil && slices.Contains(now, pid) {
			err = errors.Join(err, write(g.files, parent, "cgroup.procs", strconv.Itoa(pid)))
		}
		parent.Close()
	}
	return errors.Join(errEnded, err)
}

var errEnded = errors.New("a process ended before it was proven to be in its control group")
