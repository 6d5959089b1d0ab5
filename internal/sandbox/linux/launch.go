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
func (j *job) launch(ctx context.Context, c sandbox.Command) (*process, error) {
	limit := time.Duration(j.policy.Resources.TimeoutSeconds) * time.Second
	if c.Timeout > 0 {
		limit = min(limit, c.Timeout)
	}
	p := &process{box: j.box, begun: time.Now(), limit: limit, timer: time.NewTimer(limit), stopped: make(chan struct{}), ended: make(chan struct{})}
	pipes, err := j.backend.pipes()
	if err != nil {
		return nil, fault.New(fault.ExecutableStartFailed, fault.Target(c.Path), fault.Arg("reason", err), fault.Cause(err))
	}
	if err := p.begin(ctx, j, c, pipes); err != nil {
		p.box.runs.Set(false)
		p.timer.Stop()
		p.names.stop()
		wire.CloseAll(pipes.ours[:])
		return nil, err
	}
	p.connect(c, pipes)
	return p, nil
}

func (p *process) begin(ctx context.Context, j *job, c sandbox.Command, pipes *stdio) error {
	var scripts []int
	for _, script := range c.Scripts {
		place, ok := p.box.copies[script]
		if !ok {
			pipes.closeTheirs()
			return errStale{script}
		}
		scripts = append(scripts, place)
	}
	if p.scripts = c.Scripts; len(c.Scripts) > 0 {
		var err error
		if p.names, err = watchNames(c.Scripts); err != nil {
			pipes.closeTheirs()
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				return errStale{c.Scripts[0]}
			}
			return fault.New(fault.ExecutableStartFailed, fault.Target(c.Path), fault.Arg("reason", err), fault.Cause(err))
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
			pipes.closeTheirs()
			return err
		}
	}
	p.box.runs.Set(true)
	err := p.box.conn.SendDescriptors(start, pipes.theirs)
	pipes.closeTheirs()
	if errno := syscall.Errno(0); errors.As(err, &errno) && (errno == syscall.EINVAL || errno == syscall.E2BIG) {
		return fault.New(fault.ExecutableStartFailed, fault.Target(c.Path), fault.Arg("reason", errno), fault.Cause(err)) // nothing was sent
	}
	if err != nil {
		return p.abandon(ctx, j, c, err)
	}
	r, err := p.next(ctx)
	if err != nil {
		return p.abandon(ctx, j, c, err)
	}
	switch {
	case r.Kind == wire.Refused && r.StartStage() == wire.StageScript && int(r.C) < len(c.Scripts):
		return errStale{c.Scripts[r.C]}
	case r.Kind == wire.Refused:
		return startFailure(p.box, c, refusal(r.Reply, c))
	case r.Kind == wire.Started && start.Expect != nil:
		return nil
	case r.Kind != wire.Stopped:
		wire.CloseAll(r.files)
		return p.abandon(ctx, j, c, errors.New("PID 1 gave an unexpected answer to a start"))
	}
	hashing, cancel := p.deadline(ctx)
	proof, verdict := j.verify(hashing, r.files[0], c)
	r.files[0].Close()
	if verdict == nil && c.Admit != nil {
		verdict = c.Admit(proof)
	}
	over := hashing.Err() != nil
	cause := context.Cause(hashing)
	cancel()
	if verdict != nil && over {
		return p.abandon(ctx, j, c, cause)
	}
	if err := p.box.conn.Send(&wire.Release{Run: verdict == nil}); err != nil {
		return p.abandon(ctx, j, c, err)
	}
	if verdict == nil {
		return nil
	}
	if r, err := p.next(ctx); err != nil || r.Kind != wire.Ended {
		return errors.Join(verdict, p.abandon(ctx, j, c, err))
	}
	return verdict
}

// next waits for PID 1 no longer than the run may last.
func (p *process) next(ctx context.Context) (reply, error) {
	ctx, cancel := p.deadline(ctx)
	defer cancel()
	r, err := p.box.next(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return r, err
}

// deadline ends ctx, because of errTime, when the run may last no longer.
func (p *process) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, p.begun.Add(p.limit), errTime)
}

var errTime = errors.New("time limit")

// abandon destroys the box after a failure that leaves its state unknown and says what happened.
func (p *process) abandon(ctx context.Context, j *job, c sandbox.Command, cause error) error {
	out := error(fault.New(fault.SandboxLost, fault.Cause(cause)))
	switch {
	case errors.Is(cause, errTime):
		out = timeLimit(p.limit)
	case ctx.Err() != nil:
		out = cancelled(ctx.Err())
	}
	if err := j.drop(ctx); err != nil {
		return errors.Join(out, err)
	}
	return out
}

// verify proves that the opened executable of the stopped process is the approved object with the approved bytes, and tells
// how. The kernel keeps its file from being written while the process exists (A-POL-04).
func (j *job) verify(ctx context.Context, exe *os.File, c sandbox.Command) (sandbox.Proof, error) {
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
func refusal(r wire.Reply, c sandbox.Command) *wire.Failed {
	if r.B == 0 {
		return wire.Fail(r.StartStage(), c.Path, fmt.Errorf("wait status %#x instead of the exec stop", r.C))
	}
	return wire.Fail(r.StartStage(), c.Path, syscall.Errno(r.B))
}

// startFailure is the coded form of what PID 1 reported.
func startFailure(x *box, c sandbox.Command, f *wire.Failed) error {
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

// stdio are the three pipes of a run: our ends for goroutines, the payload's as they are.
type stdio struct {
	ours   [3]*os.File
	theirs []int
}

// closeTheirs closes the payload's ends; it may be called again.
func (s *stdio) closeTheirs() {
	for _, fd := range s.theirs {
		unix.Close(fd)
	}
	s.theirs = nil
}

// pipes makes them so that the payload owns its ends: programs open /dev/stderr anew.
func (b *Backend) pipes() (*stdio, error) {
	s := &stdio{theirs: make([]int, 0, 3)}
	for i := range s.ours {
		var fds [2]int
		// Only our end is non-blocking, so that closing it ends a blocked read.
		err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK)
		if err != nil {
			wire.CloseAll(s.ours[:i])
			s.closeTheirs()
			return nil, fmt.Errorf("making the pipes of a process: %w", err)
		}
		ours, theirs := fds[0], fds[1]
		if i == 0 {
			ours, theirs = theirs, ours
		}
		s.ours[i], s.theirs = os.NewFile(uintptr(ours), "pipe"), append(s.theirs, theirs)
		_, err = unix.FcntlInt(uintptr(theirs), unix.F_SETFL, 0)
		if err == nil && b.id.root {
			err = unix.Fchown(theirs, b.id.uid, b.id.gid)
		}
		if err != nil {
			wire.CloseAll(s.ours[:i+1])
			s.closeTheirs()
			return nil, fmt.Errorf("preparing the pipes of a process: %w", err)
		}
	}
	return s, nil
}
