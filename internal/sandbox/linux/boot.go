//go:build linux

package linux

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"

	"sekisho/internal/sandbox/linux/cgroup"
	"sekisho/internal/sandbox/linux/filter"
	"sekisho/internal/sandbox/linux/launcher"
	"sekisho/internal/sandbox/linux/mounts"
	"sekisho/internal/sandbox/linux/wire"
)

// plan is everything that boxes of one policy have in common.
type plan struct {
	view     *view
	writable writable
	filter   *filter.Program
	// memoryMB and processes are the limits; 0 in a throw-away sandbox.
	memoryMB, processes int
	// network is nil when there is none.
	network *network
	// env is the environment of commands that add nothing to it.
	env   []string
	usual sync.Once
}

// start builds a box and takes the group over. On error nothing of it is left.
func (b *Backend) start(ctx context.Context, p *plan, group cgroup.Group) (*box, error) {
	again := true
	for {
		x, stale, err := b.boot(ctx, p, group)
		if errors.Is(err, launcher.ErrDied) && again {
			again = false
			if err = emptied(ctx, group); err == nil {
				continue
			}
		}
		if err != nil {
			return nil, errors.Join(err, release(group))
		}
		if !stale {
			return x, nil
		}
		// The host mounted or unmounted something meanwhile: what the program covers may be something else now.
		group, x.group = x.group, nil
		if err := x.destroy(context.WithoutCancel(ctx)); err != nil {
			return nil, errors.Join(err, release(group))
		}
	}
}

// boot builds a box. stale tells that the mounts of the host changed meanwhile.
func (b *Backend) boot(ctx context.Context, p *plan, group cgroup.Group) (_ *box, stale bool, err error) {
	program, at, err := b.compile(p)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, b.programs.done(program)) }()
	conn, child, err := wire.ThreadPair()
	if err != nil {
		return nil, false, err
	}
	proc, err := b.launch(ctx, p, program, group, child)
	child.Close()
	if proc == nil {
		return nil, false, errors.Join(err, conn.Close())
	}
	x := &box{proc: proc, conn: conn, group: group, copies: program.copies, gone: make(chan struct{}), exceeded: make(chan struct{}, 1)}
	x.owned.Go(x.wait)
	defer func() {
		if err != nil {
			x.group = nil // still the caller's
			err = errors.Join(err, x.destroy(context.WithoutCancel(ctx)))
		}
	}()
	if err == nil {
		x.alarm, err = newAlarm()
	}
	if err == nil {
		err = x.await(ctx, p, program)
	}
	if err != nil {
		return nil, false, err
	}
	now, err := b.table.Now()
	return x, now != at, err
}

// await takes what PID 1 hands over until it is ready.
func (x *box) await(ctx context.Context, p *plan, program *compiled) error {
	var listening []uint32
	var listeners []*os.File
	defer func() { wire.CloseAll(listeners) }()
	for {
		r, err := x.next(ctx)
		if err != nil {
			return err
		}
		switch r.Kind {
		case wire.Listening:
			listening, listeners = append(listening, r.A), append(listeners, r.files[0])
		case wire.Root:
			if x.root != nil {
				wire.CloseAll(r.files)
				return errors.New("PID 1 gave a second root")
			}
			x.root = r.files[0]
		case wire.Broken:
			return program.Failure(int(r.A), syscall.Errno(r.B), filter.CallName)
		case wire.Ready:
			files := listeners
			listeners = nil
			if err := x.forward(p.network, listening, files); err != nil {
				r.files[0].Close()
				return err
			}
			return x.serve(r.files[0], p.processes)
		default:
			wire.CloseAll(r.files)
			return errors.New("PID 1 gave an unexpected answer to its setup")
		}
	}
}

// emptied ends whatever a launcher has left in a group.
func emptied(ctx context.Context, group cgroup.Group) error {
	if group == nil {
		return nil // it ends with its socket, which is closed
	}
	return group.Kill(ctx)
}

// release closes a group that no box took over.
func release(group cgroup.Group) error {
	if group == nil {
		return nil
	}
	return group.Close()
}

// launch has PID 1 made, in its namespaces and in the limited group. A process beside an error is the caller's to end.
func (b *Backend) launch(ctx context.Context, p *plan, program *compiled, group cgroup.Group, child *os.File) (*launcher.Process, error) {
	passed, err := b.passed(p.view)
	defer wire.CloseAll(passed)
	if err != nil {
		return nil, err
	}
	r := &launcher.Request{Image: program.File, Socket: child, Passed: append(passed, program.scripts...)}
	r.UIDMap, r.GIDMap, r.DenySetgroups = b.id.maps()
	if group == nil {
		return b.launcher.Make(ctx, r)
	}
	if err := group.SetLimits(p.memoryMB, p.processes); err != nil {
		return nil, err
	}
	if r.Unified, r.Group, err = group.Birth(); err != nil {
		return nil, err
	}
	defer wire.CloseAll(r.Group)
	if !r.Unified {
		r.Tasks = len(r.Group)
	}
	proc, err := b.launcher.Make(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := group.Born(proc.Pid, proc.Ended); err != nil && !proc.Ended() {
		return proc, err
	}
	return proc, nil // one that has ended already says why itself
}

// passed makes the detached mounts of a view, when the server is root: here an id mapping may be set.
func (b *Backend) passed(v *view) (copies []*os.File, err error) {
	for i, bind := range v.layout.Binds {
		if !b.id.root || bind.Source == "" {
			continue
		}
		f, err := b.clone(bind, v.mapped[i])
		if err != nil {
			return copies, err
		}
		copies = append(copies, f)
	}
	return copies, nil
}

func (b *Backend) clone(bind wire.Bind, mapped bool) (*os.File, error) {
	source, err := mounts.OpenSource(bind.Source, bind.ID, bind.File)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	var mapping *os.File
	if mapped {
		if mapping, err = b.mappings.For(source); err != nil {
			return nil, err
		}
	}
	return mounts.Clone(source, bind.Attr, mapping)
}
