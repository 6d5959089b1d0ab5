//go:build linux

package linux

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox/linux/wire"
)

// follow waits for PID 1's next message in a run and holds what runs to its limits meanwhile; the first that is exceeded, the
// caller's wish to end and the end of PID 1 are errors. One thread in poll(2) does all of it: each message that had to go through
// the runtime's own poller would wake three.
func (p *process) follow() (reply, error) {
	for {
		asker, wait := p.box.forks.Next()
		fds := []unix.PollFd{{Fd: int32(p.box.conn.FD()), Events: unix.POLLIN}, {Fd: p.box.alarm.fd(), Events: unix.POLLIN}, {Fd: int32(asker), Events: unix.POLLIN}}
		limit := unix.NsecToTimespec(max(0, min(wait, p.left())).Nanoseconds())
		if _, err := unix.Ppoll(fds, &limit, nil); err != nil && err != unix.EINTR {
			return reply{}, fault.New(fault.SandboxFailed, fault.Cause(fmt.Errorf("following a run: %w", err)))
		}
		if fds[1].Revents != 0 {
			p.box.alarm.quiet()
		}
		if fds[0].Revents != 0 {
			return p.box.take()
		}
		if err := p.box.forks.Serve(context.Background(), fds[2].Revents); err != nil {
			// Nobody counts any more, so nothing may run.
			return reply{}, fault.New(fault.SandboxLost, fault.Cause(err))
		}
		if err := p.exceeds(); err != nil {
			return reply{}, err
		}
	}
}

// left is how long the run may last yet.
func (p *process) left() time.Duration { return time.Until(p.begun.Add(p.limit)) }

// exceeds tells why the run must end now, or nil.
func (p *process) exceeds() error {
	select {
	case <-p.stopped:
		return p.why
	case <-p.moving():
		return p.moved()
	case <-p.oom():
		return fault.New(fault.ResourceMemoryLimit)
	case <-p.box.exceeded:
		return fault.New(fault.ResourceProcessLimit)
	default:
	}
	if p.left() <= 0 {
		return timeLimit(p.limit)
	}
	if time.Since(p.locks) < locksEvery {
		return nil
	}
	p.locks = time.Now()
	return p.box.locked()
}

// oom is closed when memory ran out.
func (p *process) oom() <-chan struct{} {
	if p.box.group == nil {
		return nil
	}
	return p.box.group.OOM()
}

// moving is closed when a script lost its name.
func (p *process) moving() <-chan struct{} {
	if p.names == nil {
		return nil
	}
	return p.names.moved
}

// judge explains the end of a run from what follow returned.
func (p *process) judge(r reply, err error) (*syscall.WaitStatus, error) {
	switch {
	case err == errGone:
		return nil, p.lost()
	case err != nil:
		return nil, err
	case r.Kind != wire.Ended:
		wire.CloseAll(r.files)
		return nil, fault.New(fault.SandboxLost, fault.Cause(errors.New("PID 1 gave an unexpected answer to a release")))
	}
	end := syscall.WaitStatus(r.A)
	if r.B != 0 {
		return &end, p.moved()
	}
	return &end, p.late(killed(end))
}

// moved explains the end of a run whose script got another file's name while it ran.
func (p *process) moved() error {
	return fault.New(fault.ExecutableResolutionChanged, fault.Target(p.scripts[0]))
}

// oomGrace is how long the kernel's word about memory may come after the deaths that it explains.
const oomGrace = 50 * time.Millisecond

// late finds a limit that was exceeded just before the tree ended by itself. When a death looks like the work of the
// kernel, its word is waited for.
func (p *process) late(wait bool) error {
	if err := p.box.starved(); err != nil {
		return fault.New(fault.SandboxFailed, fault.Cause(err))
	}
	select {
	case <-p.box.exceeded:
		return fault.New(fault.ResourceProcessLimit)
	default:
	}
	oom := p.oom()
	select {
	case <-oom:
		return fault.New(fault.ResourceMemoryLimit)
	default:
	}
	if !wait || oom == nil {
		return nil
	}
	grace := time.NewTimer(oomGrace)
	defer grace.Stop()
	select {
	case <-oom:
		return fault.New(fault.ResourceMemoryLimit)
	case <-grace.C:
		return nil
	}
}

// killed tells whether the entry process died of SIGKILL, or reports like a shell that its child did.
func killed(status syscall.WaitStatus) bool {
	return status.Signaled() && status.Signal() == syscall.SIGKILL || status.ExitStatus() == 128+int(syscall.SIGKILL)
}

// lost explains the end of PID 1: the kernel's out-of-memory killer may have taken it with the rest.
func (p *process) lost() error {
	if err := p.late(true); err != nil {
		return err
	}
	return fault.New(fault.SandboxLost)
}

func timeLimit(d time.Duration) error {
	return fault.New(fault.ResourceTimeLimit, fault.Arg("seconds", d.Seconds()))
}
