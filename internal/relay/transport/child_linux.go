package transport

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"sekisho/internal/proctree"
)

// supervisorName is the supervisor's argv[0]. No environment variable and no argument of ours can be mistaken for it.
const supervisorName = "relaycodex-supervisor"

// report is one line from the supervisor. The order is start or failure, then exit, then left or done.
type report struct {
	PID    int    `json:"pid,omitempty"`    // the child runs
	Failed string `json:"failed,omitempty"` // it could not be started
	Exited bool   `json:"exited,omitempty"` // it ended, with
	Code   int    `json:"code,omitempty"`
	Signal string `json:"signal,omitempty"`
	Left   bool   `json:"left,omitempty"` // something of it could not be ended
	Done   bool   `json:"done,omitempty"` // nothing of it is left
}

// supervisor is the worker's side of a supervising process.
type supervisor struct {
	cmd     *exec.Cmd
	control *os.File // its end, by whatever cause, tells the supervisor to end the child
	status  *os.File
	errOut  *os.File
	mark    string // what the environment of all that the child starts holds
	limit   time.Duration
	once    sync.Once
	dead    chan struct{} // closed when the supervisor has ended and was reaped
	heard   chan struct{} // closed when follow has returned
	tasks   sync.WaitGroup
	left    bool // written by follow
}

// killWait is how long the end of a killed process, or the rest of what one has written, is waited for.
const killWait = time.Second

// StartChild starts an app-server under a supervisor and connects to its standard input and output. ctx bounds the start
// only.
//
// The supervisor is opts.Supervisor started again; its main must first call SuperviseChild. It is the subreaper of
// everything the app-server starts and holds the reading end of a pipe whose writing end only this process has. When that
// end goes, because of Close or because this process was killed, it gives the app-server opts.Grace to notice the end of
// its input, then sends TERM to its process group, then, after opts.Grace again, KILL to the group and every descendant
// until none is left (R-CONN-10). A supervisor that is killed itself leaves its orphans to this process, which is a
// subreaper, too, as long as a child exists, and ends them (sweepOrphans).
//
// Errors: connection.child_start, connection.unsupported (Config), Cancelled.
func StartChild(ctx context.Context, opts ChildOptions) (Conn, *Child, error) {
	opts = opts.withDefaults()
	if err := opts.check(); err != nil {
		return nil, nil, err
	}
	if ctx.Err() != nil {
		return nil, nil, cancelled(ctx.Err())
	}
	p, err := openPipes()
	if err != nil {
		return nil, nil, startError(opts.Program, err)
	}
	if err := reaping.begin(); err != nil {
		p.closeTheirs()
		p.closeOurs()
		return nil, nil, startError(opts.Program, err)
	}
	sup, err := spawn(opts, p)
	p.closeTheirs()
	if err != nil {
		reaping.end()
		p.closeOurs()
		return nil, nil, startError(opts.Program, err)
	}
	child := &Child{stderr: &tail{}, exited: make(chan struct{})}
	sup.tasks.Go(func() {
		defer p.errOut.Close()
		child.stderr.drain(p.errOut)
	})

	status := bufio.NewReader(p.status)
	stop := context.AfterFunc(ctx, func() { p.status.SetReadDeadline(time.Unix(1, 0)) })
	first, err := nextReport(status)
	child.pid = first.PID
	started := stop() && err == nil && first.PID > 0
	p.status.SetReadDeadline(time.Time{})
	sup.tasks.Go(func() {
		defer p.status.Close()
		defer close(sup.heard)
		defer reaping.end()
		sup.follow(status, child, first)
	})
	if started {
		opts.Log.Info("child started", "transport", Stdio, "pid", child.pid)
		c := &stdioConn{opts: opts, child: child, sup: sup, in: p.in, out: p.out, reader: bufio.NewReaderSize(p.out, 64<<10), end: newEnding(), turn: newTurn()}
		return c, child, nil
	}
	sup.stop()
	closeAll(p.in, p.out)
	sup.wait()
	if ctx.Err() != nil {
		return nil, nil, cancelled(ctx.Err())
	}
	if first.Failed != "" {
		err = errors.New(first.Failed)
	} else {
		err = fmt.Errorf("its supervisor did not report: %w", err)
	}
	return nil, nil, startError(opts.Program, err)
}

// spawn starts the supervising process in a session of its own, so that a terminal's interrupt does not reach it.
func spawn(opts ChildOptions, p *pipes) (*supervisor, error) {
	path := opts.Supervisor
	if path == "" {
		path = "/proc/self/exe" // also after an update has replaced the file
	}
	env, mark := opts.Env, newMark()
	if env == nil {
		env = os.Environ()
	}
	cmd := &exec.Cmd{
		Path:        path,
		Args:        append([]string{supervisorName, opts.Grace.String(), opts.Program}, opts.Args...),
		Dir:         opts.Dir,
		Env:         append(env[:len(env):len(env)], mark),
		Stderr:      p.theirErrOut,
		ExtraFiles:  []*os.File{p.theirControl, p.theirStatus, p.theirIn, p.theirOut}, // descriptors 3 to 6
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	sup := &supervisor{cmd: cmd, control: p.control, status: p.status, errOut: p.errOut, mark: mark, limit: 2*opts.Grace + sweepLimit + killWait,
		dead: make(chan struct{}), heard: make(chan struct{})}
	go func() { // ends with the supervisor; wait kills it
		defer close(sup.dead)
		cmd.Wait()
	}()
	return sup, nil
}

// follow reads the supervisor's reports to their end, which is the supervisor's. One that ends without its last word was
// killed: the kernel then killed the child, too, and what the child had started is ours to end.
func (s *supervisor) follow(status *bufio.Reader, child *Child, r report) {
	app, _ := proctree.Identify(r.PID) // it may have ended; then the supervisor has reaped it
	done := false
	for err := error(nil); err == nil; r, err = nextReport(status) {
		if r.Exited {
			child.ended(Exit{Code: r.Code, Signal: r.Signal})
		}
		s.left = s.left || r.Left
		done = done || r.Done || r.Left || r.Failed != ""
	}
	child.ended(Exit{Code: -1}) // counts only without a report
	if done {
		return
	}
	// The end of its pipe comes before its orphans become ours.
	select {
	case <-s.dead:
		s.left = !sweepOrphans(app, s.cmd.Process.Pid, s.mark)
	case <-time.After(killWait):
		s.left = true
	}
}

func nextReport(r *bufio.Reader) (report, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return report{}, err
	}
	var got report
	return got, json.Unmarshal(line, &got)
}

// stop tells the supervisor to end the child. One that somebody has stopped goes on.
func (s *supervisor) stop() {
	s.once.Do(func() {
		s.control.Close()
		s.cmd.Process.Signal(syscall.SIGCONT)
	})
}

// wait returns when the supervisor and all that reads from it have ended. A supervisor that does not end within twice the
// grace and its own limit is killed; whatever then still holds the child's standard error is not waited for.
func (s *supervisor) wait() error {
	select {
	case <-s.dead:
	case <-time.After(s.limit):
		s.cmd.Process.Kill()
		select {
		case <-s.dead:
		case <-time.After(killWait):
		}
	}
	s.status.SetReadDeadline(time.Now().Add(killWait))
	<-s.heard
	s.errOut.SetReadDeadline(time.Now().Add(killWait))
	s.tasks.Wait()
	if s.left {
		return lost("", leftOver)
	}
	return nil
}

// pipes are the five pipes between worker, supervisor and child. "Their" ends go to the supervisor.
type pipes struct {
	control, status, in, out, errOut                          *os.File
	theirControl, theirStatus, theirIn, theirOut, theirErrOut *os.File
}

func openPipes() (*pipes, error) {
	p := &pipes{}
	for _, pair := range []struct{ r, w **os.File }{
		{&p.theirControl, &p.control}, {&p.status, &p.theirStatus},
		{&p.theirIn, &p.in}, {&p.out, &p.theirOut}, {&p.errOut, &p.theirErrOut},
	} {
		var err error
		if *pair.r, *pair.w, err = os.Pipe(); err != nil {
			p.closeTheirs()
			p.closeOurs()
			return nil, err
		}
	}
	return p, nil
}

func (p *pipes) closeTheirs() {
	closeAll(p.theirControl, p.theirStatus, p.theirIn, p.theirOut, p.theirErrOut)
}
func (p *pipes) closeOurs() { closeAll(p.control, p.status, p.in, p.out, p.errOut) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
