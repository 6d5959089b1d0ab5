package transport

import (
	"context"
	"log/slog"
	"time"

	"sekisho/internal/fault"
)

// ChildOptions describes a local app-server.
type ChildOptions struct {
	Program    string        // absolute path of the real binary, never a shim
	Args       []string      // its arguments, such as app-server
	Dir        string        // its working directory
	Env        []string      // its environment; nil is the worker's
	Supervisor string        // the program whose main calls SuperviseChild; "" is the running one
	Grace      time.Duration // after the end of its input until it is told to end; default 3 s. The same again until it is killed
	Limits     Limits
	Timing     Timing
	Log        *slog.Logger // nil logs nothing
}

// Exit is how a child ended.
type Exit struct {
	Code   int    // exit status, -1 when a signal ended it or nobody knows
	Signal string // name of the signal that ended it
	Stderr string // the last lines it wrote, at most 4 KiB, made safe to show
}

// Child is the process behind a stdio connection. Its state is shown apart from the connection's (R-CONN-06).
type Child struct{}

// PID is the process id of the app-server itself, for display.
func (c *Child) PID() int { return 0 }

// Exited is closed when the app-server itself has ended, whatever it left behind.
func (c *Child) Exited() <-chan struct{} { return nil }

// Exit tells how; ok is false while it runs.
func (c *Child) Exit() (e Exit, ok bool) { return Exit{}, false }

// StartChild starts an app-server under a supervisor and connects to its standard input and output. ctx bounds the start
// only. However the worker ends, the supervisor ends the app-server and all its descendants (R-CONN-10). The supervisor is the program opts.Supervisor started again;
// its main must first call SuperviseChild.
//
// Errors: connection.child_start (Config), connection.unsupported (Config), Cancelled.
func StartChild(ctx context.Context, opts ChildOptions) (Conn, *Child, error) {
	return nil, nil, fail(Config, fault.ConnectionUnsupported)
}

// SuperviseChild runs this process as a supervisor if it was started as one, and reports whether it did: main then returns
// at once. It must be the first thing that main calls.
func SuperviseChild() bool { return false }
