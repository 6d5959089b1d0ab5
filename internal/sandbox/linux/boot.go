//go:build linux

package linux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"sekisho/internal/sandbox/linux/cgroup"
	"sekisho/internal/sandbox/linux/filter"
	"sekisho/internal/sandbox/linux/initproc"
	"sekisho/internal/sandbox/linux/mounts"
	"sekisho/internal/sandbox/linux/wire"
)

// plan is everything that boxes of one policy have in common.
type plan struct {
	view     *view
	writable writable
	program  *filter.Program
	// memoryMB and processes are the limits; 0 in a throw-away sandbox.
	memoryMB, processes int
	// network is nil when there is none.
	network *network
}

// start builds a box and takes the group over. On error nothing of it is left.
func (b *Backend) start(ctx context.Context, p *plan, group cgroup.Group) (_ *box, err error) {
	conn, child, err := wire.Pair()
	if err != nil {
		return nil, errors.Join(err, release(group))
	}
	proc, err := b.fork(ctx, p, group, child)
	child.Close()
	if proc == nil {
		conn.Close()
		return nil, errors.Join(err, release(group))
	}
	x := &box{proc: proc, conn: conn, group: group, replies: make(chan reply), gone: make(chan struct{}),
		exceeded: make(chan struct{}, 1), quit: make(chan struct{})}
	x.owned.Go(x.wait)
	x.owned.Go(x.read)
	defer func() {
		if err != nil {
			err = errors.Join(err, x.destroy(context.WithoutCancel(ctx)))
		}
	}()
	if err != nil {
		return nil, err
	}
	if err := b.id.mapIDs(proc.Pid); err != nil {
		return nil, wire.Fail(wire.StageMap, "user namespace", err)
	}
	if err := b.setup(x, p); err != nil {
		return nil, err
	}
	r, err := x.next(ctx)
	if err != nil {
		return nil, err
	}
	if r.Failed != nil {
		return nil, r.Failed
	}
	if !r.Ready || len(r.files) != 1+len(r.Listening) {
		wire.CloseAll(r.files)
		return nil, errors.New("PID 1 gave an unexpected answer to its setup")
	}
	if err := x.forward(p.network, r.Listening, r.files[1:]); err != nil {
		r.files[0].Close()
		return nil, err
	}
	x.serve(r.files[0], p.processes)
	return x, nil
}

// release closes a group that no box took over.
func release(group cgroup.Group) error {
	if group == nil {
		return nil
	}
	return group.Close()
}

// fork starts PID 1 in its namespaces and in the limited group. A process beside an error is the caller's to end.
func (b *Backend) fork(ctx context.Context, p *plan, group cgroup.Group, child *os.File) (proc *os.Process, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	start := func(attr *syscall.SysProcAttr) (int, error) {
		proc, err = os.StartProcess(b.program, []string{initproc.Marker}, &os.ProcAttr{
			Dir: "/", Env: initproc.Environment(), Files: []*os.File{null, null, null, child}, Sys: attr,
		})
		if err != nil {
			return 0, wire.Fail(wire.StageClone, b.program, err)
		}
		return proc.Pid, nil
	}
	if group == nil {
		_, err = start(b.id.attributes())
		return proc, err
	}
	if err := group.SetLimits(p.memoryMB, p.processes); err != nil {
		return nil, err
	}
	err = group.Start(ctx, b.id.attributes(), start)
	return proc, err
}

// setup sends everything PID 1 builds. When the server is root the mounts are made here, where an id mapping may be set.
func (b *Backend) setup(x *box, p *plan) error {
	setup := &wire.Setup{Layout: p.view.layout, Rules: p.view.rules, Filter: p.program.Bytes(), UID: b.id.in, GID: b.id.inG, Become: b.id.root, Hostname: hostName, Network: p.network.setup()}
	var files []*os.File
	defer func() { wire.CloseAll(files) }()
	var err error
	if b.id.root {
		if setup.Layout, files, err = b.copies(p.view); err != nil {
			return err
		}
	}
	if files, x.copies, err = p.view.shown(setup, files); err != nil {
		return err
	}
	for rest := files; len(rest) > 0; {
		n := min(len(rest), wire.MaxFiles)
		if err := x.conn.Send(&wire.Request{Files: true}, rest[:n]...); err != nil {
			return fmt.Errorf("handing over mounts: %w", err)
		}
		rest = rest[n:]
	}
	if err := x.conn.Send(&wire.Request{Setup: setup}); err != nil {
		return fmt.Errorf("sending the setup: %w", err)
	}
	return nil
}

// copies makes the detached mounts of a view and a layout that counts them.
func (b *Backend) copies(v *view) (layout wire.Layout, copies []*os.File, err error) {
	layout = v.layout
	layout.Binds = append([]wire.Bind(nil), v.layout.Binds...)
	for i := range layout.Binds {
		bind := &layout.Binds[i]
		if bind.Source == "" {
			continue
		}
		source, err := mounts.OpenSource(bind.Source, bind.ID, bind.File)
		if err != nil {
			return layout, copies, err
		}
		var mapping *os.File
		if v.mapped[i] {
			mapping, err = b.mappings.For(source)
		}
		var f *os.File
		if err == nil {
			f, err = mounts.Clone(source, bind.Attr, mapping)
		}
		source.Close()
		if err != nil {
			return layout, copies, err
		}
		bind.FD = len(copies)
		copies = append(copies, f)
	}
	return layout, copies, nil
}
