//go:build linux

package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
)

// group implements Group for both versions. With version 2 all directories are the same one.
type group struct {
	files                 fileop.FS
	version               int
	dirs                  []*os.File // one per hierarchy, closed by Close
	memory, pids, freezer *os.File   // among dirs; freezer may be nil
	watch                 *watch
	events                *os.File // pids.events
	refused               int      // what it said when the group was opened
	closed                sync.Once
}

// Group implements Driver.
func (d *driver) Group(undos []sandbox.Undo) (Group, error) { return openGroup(d.files, undos) }

// Group opens the applied directories of a task, wherever a driver has put them.
func (s *Steps) Group(undos []sandbox.Undo) (Group, error) { return openGroup(s.files, undos) }

func openGroup(files fileop.FS, undos []sandbox.Undo) (_ Group, err error) {
	g := &group{files: files}
	defer func() {
		if err != nil {
			g.Close()
		}
	}()
	for _, un := range undos {
		if un.Kind != Kind {
			continue
		}
		u, err := decodeUndo(un)
		if err != nil {
			return nil, err
		}
		dir, err := openDir(unix.AT_FDCWD, u.String())
		if err != nil {
			return nil, err
		}
		g.dirs = append(g.dirs, dir)
		g.version = u.Version
		for _, c := range u.Controllers {
			switch c {
			case memory:
				g.memory = dir
			case pids:
				g.pids = dir
			case freezer:
				g.freezer = dir
			}
		}
	}
	if g.memory == nil || g.pids == nil {
		return nil, errors.New("opening a task's control groups: memory and pids were not both applied")
	}
	if g.events, err = openControl(g.pids, pidsEvents, unix.O_RDONLY); err != nil {
		return nil, err
	}
	if g.refused, err = g.refusals(); err != nil {
		return nil, err
	}
	if g.version == 2 {
		g.watch, err = watchEvents(g.memory)
	} else {
		g.watch, err = watchOOM(g.files, g.memory)
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// SetLimits implements Group.
func (g *group) SetLimits(memoryMB, processLimit int) error {
	if memoryMB <= 0 || processLimit <= 0 || memoryMB > 1<<40 || processLimit > 1<<20 {
		return fmt.Errorf("limiting a control group to %d MiB and %d processes: out of range", memoryMB, processLimit)
	}
	bytes := strconv.Itoa(memoryMB << 20)
	limit := g.limit1
	if g.version == 2 {
		limit = g.limit2
	}
	if err := limit(bytes); err != nil {
		return err
	}
	return set(g.files, g.pids, "pids.max", strconv.Itoa(Tasks(processLimit)))
}

func (g *group) limit2(bytes string) error {
	if err := set(g.files, g.memory, "memory.max", bytes); err != nil {
		return err
	}
	// One process out of memory ends them all; swap would only delay that.
	if err := set(g.files, g.memory, "memory.oom.group", "1"); err != nil {
		return err
	}
	if err := set(g.files, g.memory, "memory.swap.max", "0"); err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

// limit1 also bounds memory and swap together, where swap is accounted. The kernel keeps that sum at or above the memory
// limit, so the order depends on whether the limit rises or falls.
func (g *group) limit1(bytes string) error {
	const limit, sum = "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"
	if err := write(g.files, g.memory, limit, bytes); errors.Is(err, unix.EINVAL) {
		if err := write(g.files, g.memory, sum, bytes); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if err := set(g.files, g.memory, sum, bytes); errors.Is(err, unix.ENOENT) {
		if err := set(g.files, g.memory, "memory.swappiness", "0"); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if err := set(g.files, g.memory, limit, bytes); err != nil {
		return err
	}
	// The buffers of TCP connections are counted apart on version 1, and only once they have a limit.
	if err := set(g.files, g.memory, "memory.kmem.tcp.limit_in_bytes", bytes); err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

// Add implements Group.
func (g *group) Add(pid int) error {
	for _, dir := range g.dirs {
		if err := write(g.files, dir, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return err
		}
		now, err := procs(dir)
		if err != nil {
			return err
		}
		if !slices.Contains(now, pid) {
			return fmt.Errorf("moving process %d into control group %s: it is not there", pid, dir.Name())
		}
	}
	return nil
}

// Procs implements Group.
func (g *group) Procs() ([]int, error) { return procs(g.pids) }

// Starved implements Group.
func (g *group) Starved() (bool, error) {
	now, err := g.refusals()
	return now > g.refused, err
}

// refusals is how many tasks the limit has prevented. It is asked a hundred times a second, so the file stays open.
func (g *group) refusals() (int, error) {
	var buf [512]byte
	n, err := unix.Pread(int(g.events.Fd()), buf[:], 0)
	if errors.Is(err, unix.ENODEV) {
		return 0, nil // removed: nothing can be inside
	}
	if err != nil {
		return 0, fmt.Errorf("reading %s of control group %s: %w", pidsEvents, g.pids.Name(), err)
	}
	return value(string(buf[:n]), "max", pidsEvents, g.pids)
}

// OOM implements Group.
func (g *group) OOM() <-chan struct{} { return g.watch.seen }

// Kill implements Group.
func (g *group) Kill(ctx context.Context) error {
	k := killer{files: g.files, procs: g.pids, freezer: g.freezer}
	if g.version == 2 {
		k.unified = g.pids
	}
	return k.kill(ctx)
}

// Close implements Group.
func (g *group) Close() error {
	g.closed.Do(func() {
		if g.watch != nil {
			g.watch.close()
		}
		if g.events != nil {
			g.events.Close()
		}
		for _, d := range g.dirs {
			d.Close()
		}
	})
	return nil
}
