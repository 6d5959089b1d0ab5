//go:build linux

package linux

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/cgroup"
	"sekisho/internal/sandbox/linux/filter"
	"sekisho/internal/sandbox/linux/launcher"
	"sekisho/internal/sandbox/linux/probe"
	"sekisho/internal/sandbox/linux/wire"
	"sekisho/internal/sandbox/resolve"
)

// preflightSeconds bounds the throw-away run.
const preflightSeconds = 30

// Preflight implements sandbox.Backend: a sandbox is built as for a task, except that it has no cgroup (a directory
// without a journal could outlive us) and no root of the user. A program is then run in it, verified, and ended.
func (b *Backend) Preflight(ctx context.Context) error {
	if err := probe.Refuse(b.facts()); err != nil {
		return err
	}
	if b.coreSocket() {
		return probe.RefuseCoreSocket()
	}
	if _, err := cgroup.Prepare(ctx, b.cgroup, b.files); err != nil {
		return err
	}
	command, roots, err := b.rehearsal()
	if err != nil {
		return fault.New(fault.PreflightMissingPrimitive, fault.Variant("program"), fault.Target(b.program), fault.Cause(err))
	}
	j := &job{backend: b, lost: make(chan struct{}), policy: sandbox.EffectivePolicy{
		Profile:   "readonly",
		Roots:     roots,
		Network:   sandbox.NetworkPolicy{Access: sandbox.NetworkNone},
		Resources: sandbox.ResourcePolicy{TimeoutSeconds: preflightSeconds},
	}}
	if b.network {
		j.policy.Network.Access = sandbox.NetworkLocal
		j.policy.Task.Network.Rules = []sandbox.NetworkRule{{ID: "preflight", Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 1)}}
		j.policy.Task.Forward = closing{}
		if err := b.networkAvailable(&j.policy); err != nil {
			return err
		}
	}
	if j.plan, err = b.planOf(&j.policy); err != nil {
		return err
	}
	err = j.build(ctx)
	if err == nil {
		err = b.rehearse(ctx, j, command)
	}
	if cerr := j.Close(ctx); err == nil {
		err = cerr
	}
	return err
}

// rehearse runs a program in the throw-away sandbox.
func (b *Backend) rehearse(ctx context.Context, j *job, c sandbox.Command) error {
	p, err := j.Start(ctx, c)
	var stage *wire.Failed
	if errors.As(err, &stage) { // no fault of the program, as it would be in a task
		return probe.Explain(stage, b.facts())
	}
	if err != nil {
		return err
	}
	exit, err := p.Wait(ctx)
	if err == nil && exit.Code != 0 {
		err = fault.New(fault.PreflightMissingPrimitive, fault.Variant("exec_stop"), fault.Target(b.program),
			fault.Cause(fmt.Errorf("the program ended with %d %s", exit.Code, exit.Signal)))
	}
	return err
}

// rehearsal chooses what is run: the system's smallest program together with the system's own runtime, or, where there is
// none, this program, which then does nothing.
func (b *Backend) rehearsal() (sandbox.Command, []sandbox.Root, error) {
	if exe, err := resolve.Executable(b.smallest); err == nil && len(exe.Interpreters) == 0 {
		if runtime, err := resolve.OSRuntime(); err == nil {
			var roots []sandbox.Root
			for _, r := range runtime {
				roots = append(roots, sandbox.Root{Path: r.Path, Rights: sandbox.Read | sandbox.Execute, Origins: []sandbox.Origin{sandbox.OriginOSRuntimeRoot}, ID: r.ID})
			}
			return sandbox.Command{Path: exe.Path, ID: exe.ID, SHA256: exe.SHA256, Dir: "/"}, roots, nil
		}
	}
	exe, err := resolve.Executable(b.program)
	if err != nil {
		return sandbox.Command{}, nil, err
	}
	root := sandbox.Root{Path: exe.Path, File: true, Rights: sandbox.Read | sandbox.Execute, ID: exe.ID}
	return sandbox.Command{Path: exe.Path, ID: exe.ID, SHA256: exe.SHA256, Argv0: launcher.ProbeMarker, Dir: "/"}, []sandbox.Root{root}, nil
}

// explain turns the failure of a stage into the refusal that people read; anything else is the sandbox's own failure.
func (b *Backend) explain(err error) error {
	var stage *wire.Failed
	switch {
	case fault.As(err) != nil:
		return err
	case errors.As(err, &stage) && stage.Stage == wire.StageScript:
		return fault.New(fault.ExecutableResolutionChanged, fault.Target(stage.Target), fault.Cause(stage))
	case errors.As(err, &stage):
		return probe.Explain(stage, b.facts())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return cancelled(err)
	}
	return fault.New(fault.SandboxFailed, fault.Cause(err))
}

// facts reads what this machine says about itself.
func facts(id identity) probe.Facts {
	f := probe.Read(os.DirFS("/proc"))
	f.Root = id.root
	f.Proc = probe.ProcMounted("/proc")
	f.Notify = probe.Notify()
	f.LandlockABI, _ = filter.LandlockABI() // 0 says it all
	f.TextBusy, _ = probe.TextBusy()
	return f
}
