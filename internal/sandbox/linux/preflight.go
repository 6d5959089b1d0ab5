package linux

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/initproc"
)

// preflightSeconds bounds the throw-away run.
const preflightSeconds = 30

// Preflight implements sandbox.Backend: a sandbox is built as for a task, except that it has no cgroup (a directory
// without a journal could outlive us) and no root but this program, which is then run in it, verified, and ended.
func (b *Backend) Preflight(ctx context.Context) error {
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

func (b *Backend) explain(err error) error { return err }
