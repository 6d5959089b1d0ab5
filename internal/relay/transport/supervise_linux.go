package transport

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/proctree"
)

// The supervisor's descriptors, in the order of spawn. Its own 0 and 1 are the null device, so that nothing it might ever
// print gets between the frames.
const (
	controlFD = 3 + iota
	statusFD
	childInFD
	childOutFD
)

// sweepLimit bounds the last step: a process in an uninterruptible wait cannot be ended by anyone.
const sweepLimit = 10 * time.Second

// SuperviseChild runs this process as a supervisor if it was started as one, and reports whether it did: main then returns
// at once. It must be the first thing that main calls.
func SuperviseChild() bool {
	if len(os.Args) < 3 || os.Args[0] != supervisorName {
		return false
	}
	grace, err := time.ParseDuration(os.Args[1])
	if err != nil {
		return false
	}
	runtime.LockOSThread() // the child's parent-death signal is bound to the thread that started it
	for fd := controlFD; fd <= childOutFD; fd++ {
		syscall.CloseOnExec(fd) // or the child would hold the pipe whose end is to tell us of the worker's
	}
	s := &supervision{grace: grace, status: json.NewEncoder(os.NewFile(statusFD, "status"))}
	s.run(os.Args[2], os.Args[2:])
	return true
}

// supervision is one child's life as its supervisor sees it. It runs on one goroutine.
type supervision struct {
	grace  time.Duration
	status *json.Encoder
	pid    int
	exited bool
	alone  bool // nothing is left
}

func (s *supervision) run(program string, argv []string) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		s.status.Encode(report{Failed: "subreaper: " + err.Error()})
		return
	}
	// Caught and not ignored: the child would inherit an ignored signal.
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGCHLD)
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)

	pid, err := syscall.ForkExec(program, argv, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{childInFD, childOutFD, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	// As long as we hold these ends the worker would not learn that the child has closed its own.
	syscall.Close(childInFD)
	syscall.Close(childOutFD)
	if err != nil {
		s.status.Encode(report{Failed: err.Error()})
		return
	}
	s.pid = pid
	s.status.Encode(report{PID: pid})

	workerGone := make(chan struct{})
	go func() { // ends with the pipe or with this process
		defer close(workerGone)
		io.Copy(io.Discard, os.NewFile(controlFD, "control"))
	}()
	s.live(changed, told, workerGone)
	s.sweep(changed)
}

// live waits until the child has ended, by itself or by the steps that follow the end of the worker.
func (s *supervision) live(changed, told <-chan os.Signal, workerGone <-chan struct{}) {
	var step <-chan time.Time
	termed := false
	for !s.exited {
		select {
		case <-changed:
			s.reap()
		case <-workerGone: // its end of the child's input went with it
			workerGone, told = nil, nil
			step = time.After(s.grace)
		case <-told:
			workerGone, told = nil, nil
			step = time.After(0)
		case <-step:
			if termed {
				return
			}
			termed = true
			unix.Kill(-s.pid, unix.SIGTERM)
			step = time.After(s.grace)
		}
	}
}

// sweep kills the group and every descendant until the kernel says that we have no child: everything that the app-server
// ever started is then gone, because an orphan of it becomes a child of ours.
func (s *supervision) sweep(changed <-chan os.Signal) {
	limit := time.After(sweepLimit)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for s.reap(); !s.alone; s.reap() {
		if !s.exited { // afterwards the number may be another group's
			unix.Kill(-s.pid, unix.SIGKILL)
		}
		if ids, err := proctree.Descendants(os.Getpid()); err == nil {
			for _, id := range ids {
				proctree.Kill(id) // one that is gone, or not ours to kill, is met again below
			}
		}
		select {
		case <-changed:
		case <-again.C:
		case <-limit:
			s.status.Encode(report{Left: true})
			return
		}
	}
	s.status.Encode(report{Done: true})
}

// reap collects every process that has ended, and reports the child's own end.
func (s *supervision) reap() {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			s.alone = errors.Is(err, syscall.ECHILD)
			return
		}
		if pid != s.pid {
			continue
		}
		s.exited = true
		r := report{Exited: true, Code: ws.ExitStatus()}
		if ws.Signaled() {
			r.Signal = ws.Signal().String()
		}
		s.status.Encode(r)
	}
}
