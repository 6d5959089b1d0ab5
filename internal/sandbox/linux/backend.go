//go:build linux

package linux

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/cgroup"
	"sekisho/internal/sandbox/linux/filter"
	"sekisho/internal/sandbox/linux/launcher"
	"sekisho/internal/sandbox/linux/mounts"
	"sekisho/internal/sandbox/linux/probe"
	"sekisho/internal/sandbox/linux/seen"
)

// Options are the values a Backend works with.
type Options struct {
	// Program is the absolute path of the product's executable.
	Program string
	// Files performs durable effects (cgroup directories and their files).
	Files fileop.FS
	// Cgroup is what Preflight checks, as ResourcePolicy.Cgroup; "" means "auto".
	Cgroup string
	// Network tells whether Preflight checks what a network needs.
	Network bool
}

// Backend implements sandbox.Backend.
type Backend struct {
	program  string
	files    fileop.FS
	cgroup   string
	network  bool
	id       identity
	mappings *mounts.Mappings
	launcher *launcher.Launcher
	table    *mounts.Table // of the host
	programs programs
	steps    *cgroup.Steps
	// smallest is the program that preflight runs where it exists.
	smallest string
	// facts tells what this machine can do.
	facts func() probe.Facts
	// coreSocket tells whether the kernel sends memory dumps to a socket now.
	coreSocket func() bool
	// filters assemble the system call filter, once each: it depends on the profile and on there being a network.
	filters map[filter.Spec]func() (*filter.Program, error)
	// seen are the programs that were hashed in full, in any sandbox of this server.
	seen *seen.Table
	// denies tells whether the kernel keeps programs that run from being written.
	denies func() bool
}

var _ sandbox.Backend = (*Backend)(nil)

// New returns a Backend. It looks at nothing of the system but who runs it; Preflight does.
func New(o Options) (*Backend, error) {
	if !filepath.IsAbs(o.Program) {
		return nil, fmt.Errorf("sandbox program %q is not an absolute path", o.Program)
	}
	if o.Cgroup == "" {
		o.Cgroup = "auto"
	}
	id := whoami()
	return &Backend{program: o.Program, files: o.Files, cgroup: o.Cgroup, network: o.Network, smallest: "/usr/bin/true", id: id, steps: cgroup.NewSteps(o.Files),
		facts:      sync.OnceValue(func() probe.Facts { return facts(id) }),
		coreSocket: probe.DumpSocket("/proc"),
		filters:    assembled(),
		seen:       seen.New(seen.NewSystemClock()),
		denies:     seen.Denies,
		launcher:   launcher.For(o.Program),
		table:      mounts.Host(),
		mappings:   &mounts.Mappings{Program: o.Program, UID: id.uid, GID: id.gid}}, nil
}

func assembled() map[filter.Spec]func() (*filter.Program, error) {
	all := map[filter.Spec]func() (*filter.Program, error){}
	for _, noMemoryPrograms := range []bool{false, true} {
		for _, network := range []bool{false, true} {
			spec := filter.Spec{NoMemoryPrograms: noMemoryPrograms, Network: network}
			all[spec] = sync.OnceValues(func() (*filter.Program, error) { return filter.Build(spec) })
		}
	}
	return all
}

// Child reports whether this process was started by preflight and has finished. PID 1 of a sandbox never gets to ask.
func Child() bool { return launcher.Child() }

// Close ends the launcher of this process, the last one that it has started: see host.Close.
func Close() error { return launcher.CloseAll() }

// Plan lists the cgroup directories of the task, the only effect here that outlives this process.
func (b *Backend) Plan(p sandbox.EffectivePolicy) ([]sandbox.Step, error) {
	if err := b.available(&p); err != nil {
		return nil, err
	}
	driver, err := cgroup.Select(p.Resources.Cgroup, b.files)
	if err != nil {
		return nil, err
	}
	return driver.Plan(p.Task.Instance, p.Task.Task)
}

// Observe reads what Revert will need.
func (b *Backend) Observe(ctx context.Context, s sandbox.Step) (sandbox.Undo, error) {
	return b.steps.Observe(ctx, s)
}

// Apply makes one cgroup directory.
func (b *Backend) Apply(ctx context.Context, s sandbox.Step, u sandbox.Undo) error {
	return b.steps.Apply(ctx, s, u)
}

// Revert removes one cgroup directory with whatever still runs in it.
func (b *Backend) Revert(ctx context.Context, u sandbox.Undo) error { return b.steps.Revert(ctx, u) }

// Open builds the live confinement on the applied steps.
func (b *Backend) Open(ctx context.Context, p sandbox.EffectivePolicy, applied []sandbox.Undo) (sandbox.Job, error) {
	if err := b.available(&p); err != nil {
		return nil, err
	}
	j := &job{backend: b, policy: p, lost: make(chan struct{}), group: func() (cgroup.Group, error) { return b.steps.Group(applied) }}
	var err error
	if j.plan, err = b.planOf(&j.policy); err != nil {
		return nil, err
	}
	if err := j.build(ctx); err != nil {
		return nil, err
	}
	return j, nil
}

// available refuses what this backend or this machine cannot enforce.
func (b *Backend) available(p *sandbox.EffectivePolicy) error {
	if err := b.networkAvailable(p); err != nil {
		return err
	}
	if r := p.Resources; r.MemoryMB <= 0 || r.ProcessLimit <= 0 || r.TimeoutSeconds <= 0 {
		return fault.New(fault.ConfinementUnsupported, fault.Target("sandbox.resources"))
	}
	return nil
}

// planOf derives what every box of a policy has in common.
func (b *Backend) planOf(p *sandbox.EffectivePolicy) (*plan, error) {
	v, err := newView(p, b.id)
	if err != nil {
		return nil, b.explain(err)
	}
	spec := filter.Spec{NoMemoryPrograms: p.Profile != "development", Network: p.Network.Access != sandbox.NetworkNone}
	program, err := b.filters[spec]()
	if err != nil {
		return nil, fault.New(fault.SandboxFailed, fault.Cause(err))
	}
	return &plan{view: v, writable: writableOf(p), filter: program, memoryMB: p.Resources.MemoryMB, processes: p.Resources.ProcessLimit, network: networkOf(p)}, nil
}
