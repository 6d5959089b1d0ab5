//go:build linux

package launcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// Launcher is the server's end: one process, started when it is first needed, and again after it died. Safe for concurrent use.
type Launcher struct {
	// Program is the product's executable.
	Program string

	mu   sync.Mutex
	proc *os.Process
	conn *wire.Conn
}

var (
	all   = map[string]*Launcher{}
	allMu sync.Mutex
)

// For is the one launcher of this process for a program.
func For(program string) *Launcher {
	allMu.Lock()
	defer allMu.Unlock()
	l := all[program]
	if l == nil {
		l = &Launcher{Program: program}
		all[program] = l
	}
	return l
}

// CloseAll ends every launcher of this process.
func CloseAll() error {
	allMu.Lock()
	defer allMu.Unlock()
	var err error
	for _, l := range all {
		err = errors.Join(err, l.Close())
	}
	return err
}

// Request is what a PID 1 is made from.
type Request struct {
	wire.Launch
	Image, Socket *os.File
	// Group is its control group: one descriptor, or tasks files. Passed are the descriptors that its program counts.
	Group, Passed []*os.File
}

// Start starts the launcher, if it does not run.
func (l *Launcher) Start() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.start()
}

func (l *Launcher) start() error {
	if l.conn != nil {
		return nil
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("starting the launcher of sandboxes: %w", err)
	}
	defer null.Close()
	conn, child, err := wire.Pair()
	if err != nil {
		return err
	}
	defer child.Close()
	proc, err := os.StartProcess(l.Program, []string{Marker}, &os.ProcAttr{Dir: "/", Env: environment(), Files: []*os.File{null, null, null, child},
		Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return errors.Join(wire.Fail(wire.StageClone, l.Program, err), conn.Close())
	}
	l.proc, l.conn = proc, conn
	return nil
}

// Close ends the launcher; what it has made lives on.
func (l *Launcher) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end()
}

func (l *Launcher) end() error {
	if l.conn == nil {
		return nil
	}
	err := l.conn.Close()
	l.proc.Kill() // it may hang; it holds nothing
	_, werr := l.proc.Wait()
	l.proc, l.conn = nil, nil
	return errors.Join(err, werr)
}

// patience is how long one launch may take: a clone and four files of /proc.
const patience = 20 * time.Second

// ErrDied means that the launcher had the request and did not answer: nobody knows whether it has made a process. One that it has
// made ends when its socket and its control group do. So neither is used for another try before that.
var ErrDied = errors.New("a sandbox was asked for")

// Make makes a PID 1. A launcher that has died before it was asked is replaced once.
func (l *Launcher) Make(ctx context.Context, r *Request) (*Process, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for range 2 {
		if err = l.start(); err != nil {
			return nil, err
		}
		if err = l.ask(r); err == nil {
			break
		}
		if eerr := l.end(); eerr != nil || ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), err, eerr)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSilent, err)
	}
	p, err := l.answer(ctx)
	if err == nil || errors.As(err, new(*wire.Failed)) {
		return p, err
	}
	if eerr := l.end(); eerr != nil || ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), err, eerr)
	}
	return nil, fmt.Errorf("%w: %w: %w", ErrDied, errSilent, err)
}

// errSilent is no wire.Failed: nothing that this machine lacks explains it.
var errSilent = errors.New("the launcher of sandboxes does not answer")

// ask sends a request. After an error the launcher has not got all of it.
func (l *Launcher) ask(r *Request) error {
	files := append([]*os.File{r.Image, r.Socket}, r.Group...)
	files = append(files, r.Passed...)
	for ; len(files) > wire.MaxFiles; files = files[wire.MaxFiles:] {
		if err := l.conn.Send(&wire.Launch{Ahead: true}, files[:wire.MaxFiles]...); err != nil {
			return err
		}
	}
	return l.conn.Send(&r.Launch, files...)
}

func (l *Launcher) answer(ctx context.Context) (*Process, error) {
	deadline := time.Now().Add(patience)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	conn, done := l.conn, make(chan struct{})
	conn.Deadline(deadline)
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		conn.Deadline(time.Unix(1, 0))
	})
	defer func() {
		if !stop() {
			<-done // or it would end the next launch
		}
	}()
	var a wire.Launched
	got, err := conn.Receive(&a)
	if err != nil {
		return nil, err
	}
	if a.Failed != nil && len(got) == 0 {
		if a.Failed.Target == "" {
			a.Failed.Target = l.Program
		}
		return nil, a.Failed
	}
	if a.PID <= 1 || len(got) != 1 {
		wire.CloseAll(got)
		return nil, errors.New("the launcher of sandboxes gave an unexpected answer")
	}
	return newProcess(a.PID, got[0])
}

// Process is a PID 1 that was made.
type Process struct {
	// Pid is its id, which stays its own until it has ended.
	Pid  int
	file *os.File
	raw  syscall.RawConn
	// ended is set before file is closed.
	ended atomic.Bool
}

func newProcess(pid int, fd *os.File) (*Process, error) {
	// Fd makes a descriptor blocking; a copy of it can be waited for by the runtime.
	n, err := unix.FcntlInt(fd.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	fd.Close()
	if err == nil {
		if err = unix.SetNonblock(n, true); err != nil {
			unix.Close(n)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("taking over a process: %w", err)
	}
	p := &Process{Pid: pid, file: os.NewFile(uintptr(n), "process")}
	p.raw, err = p.file.SyscallConn()
	return p, err
}

// Kill ends it; one that has ended is no error.
func (p *Process) Kill() error {
	var failure error
	err := p.raw.Control(func(fd uintptr) { failure = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0) })
	if p.ended.Load() || failure == unix.ESRCH {
		return nil
	}
	return errors.Join(err, failure)
}

// Ended tells whether it has ended.
func (p *Process) Ended() bool {
	n, failure := 0, error(nil)
	err := p.raw.Control(func(fd uintptr) { n, failure = ready(fd) })
	return err != nil || failure != nil || n > 0
}

// ready asks whether a process has ended.
func ready(pidfd uintptr) (n int, err error) {
	poll := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		if n, err = unix.Poll(poll, 0); err != unix.EINTR {
			return n, err
		}
	}
}

// Wait returns when it has ended: the kernel lets it end only after every other process of its pid namespace. It is called once.
func (p *Process) Wait() error {
	var failure error
	err := p.raw.Read(func(fd uintptr) bool {
		n, err := ready(fd)
		failure = err
		return err != nil || n > 0
	})
	if err = errors.Join(err, failure); err == nil {
		p.ended.Store(true)
	}
	return errors.Join(err, p.file.Close())
}
