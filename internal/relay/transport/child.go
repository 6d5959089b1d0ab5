package transport

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"sekisho/internal/fault"
)

// ChildOptions describes a local app-server.
type ChildOptions struct {
	Program    string        // absolute path of the real binary, never a shim
	Args       []string      // its arguments, such as app-server
	Dir        string        // its working directory; "" is the worker's
	Env        []string      // its environment; nil is the worker's
	Supervisor string        // absolute path of the program whose main calls SuperviseChild; "" is the running one
	Grace      time.Duration // after the end of its input until it is told to end, and again until it is killed; default 3 s
	Limits     Limits
	Timing     Timing
	Log        *slog.Logger // nil logs nothing
}

func (o ChildOptions) withDefaults() ChildOptions {
	o.Limits, o.Timing, o.Log = o.Limits.withDefaults(), o.Timing.withDefaults(), logger(o.Log)
	if o.Grace <= 0 {
		o.Grace = 3 * time.Second
	}
	o.Args, o.Env = slices.Clone(o.Args), slices.Clone(o.Env)
	return o
}

func (o ChildOptions) check() error {
	bad := func(detail string) error { return startError(o.Program, errors.New(detail)) }
	for _, s := range slices.Concat([]string{o.Program, o.Dir, o.Supervisor}, o.Args, o.Env) {
		if strings.ContainsRune(s, 0) {
			return bad("a NUL character in the program, its directory, arguments or environment")
		}
	}
	if !filepath.IsAbs(o.Program) || o.Supervisor != "" && !filepath.IsAbs(o.Supervisor) {
		return bad("its path is not absolute")
	}
	return nil
}

// Exit is how a child ended.
type Exit struct {
	Code   int    // exit status; -1 when a signal ended it or when nobody can tell
	Signal string // the signal that ended it, such as "killed"
	Stderr string // the last lines it wrote, at most 4 KiB, made safe to show; never logged (R-LOG-01)
}

func (e Exit) String() string {
	switch {
	case e.Signal != "":
		return "signal " + e.Signal
	case e.Code < 0:
		return "unknown status"
	}
	return fmt.Sprintf("status %d", e.Code)
}

// Child is the process behind a stdio connection. Its state is shown apart from the connection's (R-CONN-06).
type Child struct {
	pid    int
	stderr *tail
	exited chan struct{}

	mu   sync.Mutex
	exit Exit
}

// PID is the process id of the app-server itself, for display.
func (c *Child) PID() int { return c.pid }

// Exited is closed when the app-server itself has ended; what it left behind is being ended then.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Exit tells how it ended; ok is false while it runs.
func (c *Child) Exit() (e Exit, ok bool) {
	select {
	case <-c.exited:
	default:
		return Exit{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e = c.exit
	e.Stderr = c.stderr.String()
	return e, true
}

// ended notes the exit; only the first call counts.
func (c *Child) ended(e Exit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.exited:
	default:
		c.exit = e
		close(c.exited)
	}
}

func startError(program string, err error) *Error {
	return fail(Config, fault.ConnectionChildStart, fault.Target(program), fault.Arg("detail", short(err.Error())), fault.Cause(err))
}
