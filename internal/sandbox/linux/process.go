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
)

// process implements sandbox.Process. One goroutine follows it and decides how it ended, first Start's own, and then, of a run that
// takes longer, watch; Wait only reads that.
type process struct {
	box   *box
	begun time.Time
	limit time.Duration
	locks time.Time // when file locks were counted

	scripts []string   // the approved scripts that it reads
	names   *hostWatch // of these; nil without any

	once    sync.Once
	why     error         // set before stopped is closed: the end that somebody asked for
	stopped chan struct{} // closed by cancel

	pipes    *stdio
	copying  sync.WaitGroup // of the three pipes, those that need it
	copies   bool           // there is one
	watching sync.WaitGroup

	ended chan struct{} // closed when exit and err are final
	exit  sandbox.Exit
	err   error
}

// feed gives the program its input: at once what the pipe holds, the rest as it is read.
func (p *process) feed(input []byte) {
	if rest := p.pipes.fill(input); len(rest) > 0 {
		stdin := p.pipes.file(0)
		p.copy(func() {
			stdin.Write(rest) // a program may end without reading its input
			stdin.Close()
		})
	}
}

// drain starts the copies of the output. Output ends when the last process that holds a pipe is dead, so nothing waits for a
// reader that gave up: each copy reads on even after its writer failed. Of a tree that is dead, empty pipes need no copy.
func (p *process) drain(c *sandbox.Command, dead bool) {
	for i, w := range []io.Writer{c.Stdout, c.Stderr} {
		if dead && p.pipes.empty(i+1) {
			p.pipes.closeOurs(i + 1)
			continue
		}
		if w == nil {
			w = io.Discard
		}
		r := p.pipes.file(i + 1)
		p.copy(func() { deliver(w, r) })
	}
}

func (p *process) copy(run func()) {
	p.copies = true
	p.copying.Go(run)
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
		p.box.alarm.ring()
	})
}

// watch follows a run to its end.
func (p *process) watch(j *job) {
	end, err := p.judge(p.follow())
	j.mu.Lock()
	err = p.settle(j, err)
	j.run = nil
	j.mu.Unlock()
	p.conclude(end, err)
}

// settle makes sure that nothing is left of a run that ended. The caller holds j.mu.
func (p *process) settle(j *job, err error) error {
	if moved := p.names.stop(); moved && err == nil {
		err = p.moved()
	}
	if fault.CodeOf(err) == fault.SandboxLost {
		j.lose()
	}
	if err != nil {
		// A limit, a cancel or a lost PID 1 takes the whole box; the next Start builds a new one.
		if derr := j.drop(context.Background()); derr != nil {
			err = errors.Join(err, derr)
		}
	}
	return err
}

// conclude records the end when the output was delivered.
func (p *process) conclude(end *syscall.WaitStatus, err error) {
	p.copying.Wait()
	p.exit, p.err = exitOf(end), err
	p.exit.Elapsed = time.Since(p.begun)
	close(p.ended)
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
