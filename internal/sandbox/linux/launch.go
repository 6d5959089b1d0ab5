//go:build linux

package linux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/seen"
	"sekisho/internal/sandbox/linux/wire"
	"sekisho/internal/sandbox/resolve"
)

// launch starts the entry process, stopped, proves that it is the approved one, and lets it run. On error nothing of it
// runs; a box that can no longer be trusted is destroyed. The caller holds j.mu.
//
// A run that PID 1 may release by itself is followed from here until PID 1 says that it takes longer: most have ended by then, and
// no other goroutine was woken for them.
func (j *job) launch(ctx context.Context, c sandbox.Command) (*process, error) {
	limit := time.Duration(j.policy.Resources.TimeoutSeconds) * time.Second
	if c.Timeout > 0 {
		limit = min(limit, c.Timeout)
	}
	now := time.Now()
	p := &process{box: j.box, begun: now, limit: limit, locks: now, stopped: make(chan struct{}), ended: make(chan struct{})}
	var err error
	if p.pipes, err = j.pipes(); err != nil {
		return nil, fault.New(fault.ExecutableStartFailed, fault.Target(c.Path), fault.Arg("reason", err), fault.Cause(err))
	}
	defer context.AfterFunc(ctx, func() { p.cancel(cancelled(ctx.Err())) })()
	first, err := p.begin(ctx, j, &c)
	if err != nil {
		p.names.stop()
		p.pipes.close()
		p.copying.Wait()
		return nil, err
	}
	if first.runs() {
		p.drain(&c, false)
		j.run = p
		p.watching.Go(func() { p.watch(j) })
		return p, nil
	}
	end, err := p.judge(first.reply, first.err)
	err = p.settle(j, err)
	p.drain(&c, true)
	if p.copies {
		p.watching.Go(func() { p.conclude(end, err) })
	} else {
		p.conclude(end, err)
	}
	return p, nil
}

// answer is what follow returned to Start.
type answer struct {
	reply
	err error
}

// runs tells that the program was released and runs: PID 1 said so, or was told to.
func (a answer) runs() bool {
	return a.err == nil && (a.Kind == wire.Started || a.Kind == wire.Stopped)
}

func (p *process) begin(ctx context.Context, j *job, c *sandbox.Command) (first answer, err error) {
	var scripts []int
	for _, script := range c.Scripts {
		place, ok := p.box.copies[script]
		if !ok {
			return first, errStale{script}
		}
		scripts = append(scripts, place)
	}
	if p.scripts = c.Scripts; len(c.Scripts) > 0 {
		if p.names, err = watchNames(c.Scripts, p.box.alarm.ring); err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				return first, errStale{c.Scripts[0]}
			}
			return first, fault.New(fault.ExecutableStartFailed, fault.Target(c.Path), fault.Arg("reason", err), fault.Cause(err))
		}
	}
	argv0 := c.Argv0
	if argv0 == "" {
		argv0 = c.Path
	}
	start := &wire.Start{Path: c.Path, Argv: append([]string{argv0}, c.Args...), Dir: c.Dir, Env: j.plan.environment(&j.policy, c.Env),
		Scripts: scripts, Expect: j.expectation(c)}
	if start.Expect != nil && c.Admit != nil { // nobody is asked again before it runs
		if err := c.Admit(sandbox.ProofUnchanged); err != nil {
			return first, err
		}
	}
	p.feed(c.Stdin)
	p.box.forks.Begin()
	err = p.box.conn.SendDescriptors(start, p.pipes.theirs)
	p.pipes.closeTheirs()
	if errno := syscall.Errno(0); errors.As(err, &errno) && (errno == syscall.EINVAL || errno == syscall.E2BIG) {
		return first, fault.New(fault.ExecutableStartFailed, fault.Target(c.Path), fault.Arg("reason", errno), fault.Cause(err)) // nothing was sent
	}
	if err != nil {
		return first, j.abandon(ctx, lost(err))
	}
	j.ahead()
	first.reply, first.err = p.follow()
	switch {
	case first.err != nil && start.Expect == nil:
		return first, j.abandon(ctx, first.err)
	case first.err != nil: // it may have run
		return first, nil
	case first.Kind == wire.Refused && first.StartStage() == wire.StageScript && int(first.C) < len(c.Scripts):
		return first, errStale{c.Scripts[first.C]}
	case first.Kind == wire.Refused:
		return first, startFailure(p.box, c, refusal(first.Reply, c))
	case (first.Kind == wire.Started || first.Kind == wire.Ended) && start.Expect != nil:
		return first, nil
	case first.Kind != wire.Stopped:
		wire.CloseAll(first.files)
		return first, j.abandon(ctx, lost(errors.New("PID 1 gave an unexpected answer to a start")))
	}
	return first, p.admit(ctx, j, c, first.files[0])
}

// admit looks at the executable of the stopped process and lets it run, or has it killed and says why.
func (p *process) admit(ctx context.Context, j *job, c *sandbox.Command, exe *os.File) error {
	hashing, cancel := context.WithDeadlineCause(ctx, p.begun.Add(p.limit), timeLimit(p.limit))
	proof, verdict := j.verify(hashing, exe, c)
	exe.Close()
	if verdict == nil && c.Admit != nil {
		verdict = c.Admit(proof)
	}
	over := hashing.Err() != nil
	cause := context.Cause(hashing)
	cancel()
	switch {
	case verdict != nil && ctx.Err() != nil:
		return j.abandon(ctx, cancelled(ctx.Err()))
	case verdict != nil && over:
		return j.abandon(ctx, cause)
	}
	if err := p.box.conn.Send(&wire.Release{Run: verdict == nil}); err != nil {
		return j.abandon(ctx, lost(err))
	}
	if verdict == nil {
		return nil
	}
	switch r, err := p.follow(); {
	case err != nil:
		return errors.Join(verdict, j.abandon(ctx, err))
	case r.Kind != wire.Ended:
		wire.CloseAll(r.files)
		return errors.Join(verdict, j.abandon(ctx, lost(errors.New("PID 1 gave an unexpected answer to a release"))))
	}
	return verdict
}

// lost is the failure of a box whose state is not known.
func lost(cause error) error { return fault.New(fault.SandboxLost, fault.Cause(cause)) }

// abandon destroys the box after a failure that leaves its state unknown. The caller holds mu.
func (j *job) abandon(ctx context.Context, why error) error {
	if err := j.drop(ctx); err != nil {
		return errors.Join(why, err)
	}
	return why
}

// verify proves that the opened executable of the stopped process is the approved object with the approved bytes, and tells
// how. The kernel keeps its file from being written while the process exists (A-POL-04).
func (j *job) verify(ctx context.Context, exe *os.File, c *sandbox.Command) (sandbox.Proof, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(exe.Fd()), &st); err != nil {
		return "", fault.New(fault.ExecutableStartFailed, fault.Target(c.Path), fault.Arg("reason", err), fault.Cause(err))
	}
	if id := (sandbox.FileID{Dev: uint64(st.Dev), Ino: st.Ino}); id != c.ID {
		return "", fault.New(fault.ExecutableResolutionChanged, fault.Target(c.Path))
	}
	before, known := j.knowable(c)
	known = known && before.Runs(exe)
	if known && j.backend.seen.Unchanged(before, c.SHA256, j.plan.writable.scope) {
		return sandbox.ProofUnchanged, nil
	}
	begun := j.backend.seen.Now()
	sum, err := resolve.HashFile(ctx, exe)
	if err != nil {
		return "", fault.New(fault.ExecutableStartFailed, fault.Target(c.Path), fault.Arg("reason", err), fault.Cause(err))
	}
	if sum != c.SHA256 {
		return "", fault.New(fault.ExecutableHashChanged, fault.Target(c.Path))
	}
	if known && before.Runs(exe) && !seen.Reached(c.Path, j.plan.writable.paths) {
		after, _ := seen.At(c.Path)
		j.backend.seen.Keep(before, after, begun, sum, j.plan.writable.scope)
	}
	return sandbox.ProofFull, nil
}

// refusal is what PID 1 says of a start that came to nothing.
func refusal(r wire.Reply, c *sandbox.Command) *wire.Failed {
	if r.B == 0 {
		return wire.Fail(r.StartStage(), c.Path, fmt.Errorf("wait status %#x instead of the exec stop", r.C))
	}
	return wire.Fail(r.StartStage(), c.Path, syscall.Errno(r.B))
}

// startFailure is the coded form of what PID 1 reported.
func startFailure(x *box, c *sandbox.Command, f *wire.Failed) error {
	if err := x.starved(); err != nil {
		return fault.New(fault.SandboxFailed, fault.Cause(errors.Join(err, f)))
	}
	select {
	case <-x.exceeded:
		return fault.New(fault.ResourceProcessLimit, fault.Cause(f))
	default:
	}
	return fault.New(fault.ExecutableStartFailed, fault.Target(c.Path), fault.Arg("reason", syscall.Errno(f.Errno)), fault.Cause(f))
}
