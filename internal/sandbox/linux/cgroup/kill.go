//go:build linux

package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"sekisho/internal/fileop"
)

// killer ends the processes of a group.
type killer struct {
	files fileop.FS
	procs *os.File // whose cgroup.procs is read
	// unified is the version 2 directory, freezer the version 1 freezer's; both may be nil.
	unified, freezer *os.File
}

// roundPauses is how often a round looks again before the next one freezes and kills.
const roundPauses = 5

// kill returns nil when nothing is left. The first round only kills; if that does not suffice, processes are
// being born: then each round stops the group first, so that none can be. A frozen process of version 1 dies only when
// thawed, hence never stay frozen.
func (k killer) kill(ctx context.Context) error {
	for round := 0; ; round++ {
		left, err := procs(k.procs)
		if err != nil || len(left) == 0 {
			return err
		}
		if err := k.round(left, round > 0); err != nil {
			return err
		}
		for range roundPauses {
			if left, err = procs(k.procs); err != nil || len(left) == 0 {
				return err
			}
			if err := pause(ctx); err != nil {
				return fmt.Errorf("ending the processes %v of control group %s: %w", left, k.procs.Name(), err)
			}
		}
	}
}

func (k killer) round(left []int, freeze bool) error {
	if k.unified != nil {
		err := write(k.files, k.unified, "cgroup.kill", "1")
		if err == nil || !errors.Is(err, unix.ENOENT) {
			return err
		} // before Linux 5.14
	}
	return k.each(left, freeze)
}

// each ends one process after the other; with freeze the group stands still meanwhile, so that none is born.
func (k killer) each(left []int, freeze bool) (err error) {
	if freeze {
		if err := k.freeze(true); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, k.freeze(false)) }()
		if left, err = procs(k.procs); err != nil {
			return err
		}
	}
	for _, pid := range left {
		if err := k.one(pid); err != nil {
			return err
		}
	}
	return nil
}

func (k killer) freeze(on bool) error {
	switch {
	case k.unified != nil && on:
		return write(k.files, k.unified, "cgroup.freeze", "1")
	case k.unified != nil:
		return write(k.files, k.unified, "cgroup.freeze", "0")
	case k.freezer != nil && on:
		return write(k.files, k.freezer, "freezer.state", "FROZEN")
	case k.freezer != nil:
		return write(k.files, k.freezer, "freezer.state", "THAWED")
	}
	return nil
}

// one kills a process that is a member now: the descriptor pins it, and the second look rules out that its id went to
// someone else before.
func (k killer) one(pid int) error {
	if pid <= 1 {
		return fmt.Errorf("ending process %d of control group %s: not a process that this one may end", pid, k.procs.Name())
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ending process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	now, err := procs(k.procs)
	if err != nil || !slices.Contains(now, pid) {
		return err
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("ending process %d: %w", pid, err)
	}
	return nil
}
