package linux

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/cgroup"
	"sekisho/internal/sandbox/linux/filter"
	"sekisho/internal/sandbox/linux/initproc"
	"sekisho/internal/sandbox/linux/probe"
	"sekisho/internal/sandbox/linux/wire"
)

// preflightSeconds bounds the throw-away run.
const preflightSeconds = 30

// Preflight implements sandbox.Backend: a sandbox is built as for a task, except that it has no cgroup (a directory
// without a journal could outlive us) and no root but this program, which is then run in it, verified, and ended.
func (b *Backend) Preflight(ctx context.Context) error {
	if err := probe.Refuse(b.facts()); err != nil {
		return err
	}
	if _, err := cgroup.Select(b.cgroup, b.files); err != nil {
		return err
	}
	command, err := b.self()
	if err != nil {
		return fault.New(fault.PreflightMissingPrimitive, fault.Target(b.program), fault.Cause(err))
	}
	j := &job{backend: b, policy: sandbox.EffectivePolicy{
		Profile:   "readonly",
		Roots:     []sandbox.Root{{Path: command.Path, File: true, Rights: sandbox.Read | sandbox.Execute, ID: command.ID}},
		Network:   sandbox.NetworkPolicy{Access: sandbox.NetworkNone},
		Resources: sandbox.ResourcePolicy{TimeoutSeconds: preflightSeconds},
	}}
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

// rehearse runs this program in the throw-away sandbox.
func (b *Backend) rehearse(ctx context.Context, j *job, c sandbox.Command) error {
	p, err := j.Start(ctx, c)
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

// self is this program as a command that does nothing.
func (b *Backend) self() (sandbox.Command, error) {
	f, err := os.Open(b.program)
	if err != nil {
		return sandbox.Command{}, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return sandbox.Command{}, err
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sandbox.Command{}, err
	}
	return sandbox.Command{Path: b.program, ID: sandbox.FileID{Dev: uint64(st.Dev), Ino: st.Ino}, Argv0: initproc.ProbeMarker,
		SHA256: hex.EncodeToString(h.Sum(nil)), Dir: "/"}, nil
}

// explain turns the failure of a stage into the refusal that people read; anything else is the sandbox's own failure.
func (b *Backend) explain(err error) error {
	var stage *wire.Failed
	switch {
	case fault.As(err) != nil:
		return err
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
	f.LandlockABI, _ = filter.LandlockABI() // 0 says it all
	f.TextBusy, _ = probe.TextBusy()
	return f
}
