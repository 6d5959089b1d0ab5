//go:build linux

package linux

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/wire"
)

// process implements sandbox.Process. One goroutine, watch, decides how it ended; Wait only reads that.
type process struct {
	box   *box
	begun time.Time
	limit time.Duration
	timer *time.Timer

	scripts []string   // the approved scripts that it reads
	names   *hostWatch // of these; nil without any

	once    sync.Once
	why     error         // set before stopped is closed: the end that somebody asked for
	stopped chan struct{} // closed by cancel

	copying  sync.WaitGroup // the three pipes
	watching sync.WaitGroup

	ended chan struct{} // closed when exit and err are final
	exit  sandbox.Exit
	err   error
}

// connect starts the three copies. Output ends when the last process that holds a pipe is dead, so nothing waits for a
// reader that gave up: each copy reads on even after its writer failed.
func (p *process) connect(c sandbox.Command, pipes *stdio) {
	if len(c.Stdin) == 0 {
		pipes.ours[0].Close()
	} else {
		p.copying.Go(func() {
			pipes.ours[0].Write(c.Stdin) // a program may end without reading its input
			pipes.ours[0].Close()
		})
	}
	for i, w := range []io.Writer{c.Stdout, c.Stderr} {
		if w == nil {
			w = io.Discard
		}
		p.copying.Go(func() { deliver(w, pipes.ours[i+1]) })
	}
}

// buffers are for deliver: a run needs two, and a small program fills none.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

func deliver(w io.Writer, r *os.File) {
	defer r.Close()
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	for {
		n, err := r.Read(buf[:])
		if n > 0 && w != nil {
			if _, werr := w.Write(buf[:n]); werr != nil {
				w = nil
			}
		}
		if err != nil {
			return
		}
	}
}

// cancel asks for the end of the whole tree; the first reason counts.
func (p *process) cancel(why error) {
	p.once.Do(func() {
		p.why = why
		close(p.stopped)
	})
}

// watch waits for the end of the run, whatever brings it, makes sure that nothing of it is left, and records it.
func (p *process) watch(j *job) {
	end, err := p.wait()
	p.box.runs.Set(false)
	p.timer.Stop()
	if moved := p.names.stop(); moved && err == nil {
		err = p.moved()
	}
	j.mu.Lock()
	if fault.CodeOf(err) == fault.SandboxLost {
		j.lose()
	}
	if err != nil {
		// A limit, a cancel or a lost PID 1 takes the whole box; the next Start builds a new one.
		if derr := j.drop(context.Background()); derr != nil {
			err = errors.Join(err, derr)
		}
	}
	j.run = nil
	j.mu.Unlock()
	p.copying.Wait()
	p.exit, p.err = exitOf(end), err
	p.exit.Elapsed = time.Since(p.begun)
	close(p.ended)
}

func (p *process) wait() (*syscall.WaitStatus, error) {
	var oom <-chan struct{}
	if p.box.group != nil {
		oom = p.box.group.OOM()
	}
	var moved <-chan struct{}
	if p.names != nil {
		moved = p.names.moved
	}
	locks := time.NewTicker(locksEvery)
	defer locks.Stop()
	for {
		select {
		case <-moved:
			return nil, p.moved()
		case r, ok := <-p.box.replies:
			switch {
			case !ok:
				return nil, p.lost(oom)
			case r.Kind != wire.Ended:
				wire.CloseAll(r.files)
				return nil, fault.New(fault.SandboxLost, fault.Cause(errors.New("PID 1 gave an unexpected answer to a release")))
			}
			end := syscall.WaitStatus(r.A)
			if r.B != 0 {
				return &end, p.moved()
			}
			return &end, p.late(oom, killed(end))
		case <-p.timer.C:
			return nil, timeLimit(p.limit)
		case <-oom:
			return nil, fault.New(fault.ResourceMemoryLimit)
		case <-p.box.exceeded:
			return nil, fault.New(fault.ResourceProcessLimit)
		case <-locks.C:
			if err := p.box.locked(); err != nil {
				return nil, err
			}
		case <-p.stopped:
			return nil, p.why
		}
	}
}

// moved explains the end of a run whose script got another file's name while it ran.
func (p *process) moved() error {
	return fault.New(fault.ExecutableResolutionChanged, fault.Target(p.scripts[0]))
}

// oomGrace is how long the kernel's word about memory may come after the deaths that it explains.
const oomGrace = 50 * time.Millisecond

// late finds a limit that was exceeded just before the tree ended by itself. When a death looks like the work of the
// kernel, its word is waited for.
func (p *process) late(oom <-chan struct{}, wait bool) error {
	grace := time.NewTimer(0)
	if wait && oom != nil {
		grace.Reset(oomGrace)
	}
	defer grace.Stop()
	if err := p.box.starved(); err != nil {
		return fault.New(fault.SandboxFailed, fault.Cause(err))
	}
	select {
	case <-p.box.exceeded:
		return fault.New(fault.ResourceProcessLimit)
	default:
	}
	select {
	case <-oom:
		return fault.New(fault.ResourceMemoryLimit)
	default:
	}
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
func (p *process) lost(oom <-chan struct{}) error {
	if err := p.late(oom, true); err != nil {
		return err
	}
	return fault.New(fault.SandboxLost)
}

// Wait implements sandbox.Process.
func (p *process) Wait(ctx context.Context) (sandbox.Exit, error) {
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.cancel(cancelled(ctx.Err()))
		<-p.ended
	}
	p.watching.Wait()
	return p.exit, p.err
}

func exitOf(end *syscall.WaitStatus) sandbox.Exit {
	if end == nil {
		return sandbox.Exit{Code: -1, Signal: unix.SignalName(unix.SIGKILL)}
	}
	status := *end
	if status.Signaled() {
		name := unix.SignalName(status.Signal())
		if name == "" {
			name = strings.ToUpper(status.Signal().String())
		}
		return sandbox.Exit{Code: -1, Signal: name}
	}
	return sandbox.Exit{Code: status.ExitStatus()}
}

func timeLimit(d time.Duration) error {
	return fault.New(fault.ResourceTimeLimit, fault.Arg("seconds", d.Seconds()))
}
