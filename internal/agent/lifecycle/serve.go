package lifecycle

import (
	"context"
	"errors"
	"os"
	"runtime/debug"

	"sekisho/internal/agent/config"
	"sekisho/internal/agent/mcpserver"
	"sekisho/internal/fault"
	"sekisho/internal/proctree"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/host"
	"sekisho/internal/statedir"
)

// ServeOptions are the server's own.
type ServeOptions struct {
	Options
	// Wire takes the private descriptor of standard output, for MCP messages only.
	Wire func() (*os.File, error)
}

// Serve runs the server until its client is gone or ctx is cancelled (SIGTERM, SIGINT), then stops gracefully (A-CLI-01,
// A-STOP-01). The exit code is 0 for both.
func Serve(ctx context.Context, o ServeOptions) int {
	stderr := newQueue(o.Stderr)
	defer stderr.Close()
	o.Stderr = stderr
	s, ok := o.load()
	if !ok {
		return ExitFailure
	}
	if err := s.serve(ctx, o.Wire); err != nil {
		s.report(s.loaded.Locale, err)
		return ExitFailure
	}
	return ExitOK
}

// gcPercent lets the garbage of a few dozen requests gather. The SDK makes 64 KB of it for each message that it decodes and
// decodes one several times, 300 KB for a request over HTTP; a heap as small as this server's would be collected after every
// thirteenth. The price is at most some 12 MB, and none while no requests come.
const gcPercent = 400

// serve performs the start order from the instance directory on. Whatever was opened is closed in reverse order.
func (s *session) serve(ctx context.Context, wire func() (*os.File, error)) (err error) {
	if s.Env("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	dir, err := statedir.Open(s.Files, s.places.StateRoot)
	if err != nil {
		return err
	}
	defer dir.Close()
	logs, err := openLogs(s.Files, s.loaded.Config.Logging, s.Stderr)
	if err != nil {
		return err
	}
	defer logs.Close()
	defer func() {
		if err != nil {
			logs.file.Error("stopped", "code", fault.CodeOf(err), "error", err)
		}
	}()
	backend, backendErr := host.Open(host.Options{Program: s.Executable, Files: s.Files, Cgroup: s.loaded.Config.Sandbox.Resources.Cgroup,
		Network: s.loaded.Config.Sandbox.Network.Access != sandbox.NetworkNone})
	if backendErr != nil {
		backend = nil // preflight's error; a recovery without steps needs no backend
	}
	recovery := recovery{files: s.Files, backend: backend, logs: logs, message: s.loaded.Locale.Text("mcp.task.restarted", nil)}
	instance, err := recovery.newInstance(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, instance.Close()) }()
	logs.named(instance.ID())
	logs.Info("starting", "version", s.Version, "config", s.places.Config)
	for _, w := range s.warnings {
		logs.file.Warn(s.loaded.Locale.Text(w.Text.Key, w.Text.Args), "key", w.Path)
	}

	if err := recovery.all(ctx, dir); err != nil {
		return err
	}
	resolved, err := s.compare()
	if err != nil {
		return err
	}
	if err := preflight(ctx, backend, backendErr); err != nil {
		return s.startable(err)
	}
	lines, found := s.examine(ctx, &resolved.Policy)
	for _, line := range lines {
		logs.Warn(line)
	}
	a, err := s.assemble(dir, instance, resolved.Policy, backend, logs, recovery)
	if err != nil {
		return err
	}
	defer a.close()
	if found != nil {
		a.broker.Prepare(found.Guards) // talk ends it
	}
	return s.talk(ctx, a, logs, wire)
}

// compare resolves the configuration and requires it to be exactly the applied one (A-CFG-05).
func (s *session) compare() (*config.Resolved, error) {
	resolved, problems := config.Resolve(s.loaded)
	if len(problems.Errors) > 0 {
		problems.Write(s.Stderr, s.loaded.Locale)
		return nil, problems.Err()
	}
	return resolved, s.places.Store(s.Files).Compare(resolved.Snapshot)
}

func preflight(ctx context.Context, b sandbox.Backend, openErr error) error {
	if openErr != nil {
		return openErr
	}
	return b.Preflight(ctx)
}

// startable names this program as it was started in a remedy that tells how to start it.
func (s *session) startable(err error) error {
	if e := fault.As(err); e != nil && e.Code == fault.ResourceMemoryUnenforceable {
		return e.With(fault.Arg("program", s.places.Start()))
	}
	return err
}

// transport is the way in and out of the server.
type transport struct {
	// serve announces readiness (A-MCP-10), then serves until ctx ends or nobody is left to serve.
	serve func(ctx context.Context) error
	ended string          // what it means when serve returns by itself
	gone  <-chan struct{} // closed when the client's process is gone; nil: nobody tells
	close func()          // after serve has returned, or instead of it
}

// talk serves and returns after the graceful stop, which has happened whatever the error is.
func (s *session) talk(ctx context.Context, a *assembly, logs *logs, wire func() (*os.File, error)) error {
	stopContext := context.WithoutCancel(ctx)
	t, err := s.open(stopContext, a, logs, wire)
	if err != nil {
		return errors.Join(err, a.stop(stopContext))
	}
	defer t.close()
	transport, closeTransport := context.WithCancel(stopContext)
	defer closeTransport()
	served := make(chan error, 1)
	go func() { served <- t.serve(transport) }()

	var reason string
	var cause error
	select {
	case <-ctx.Done():
		reason = "signal"
	case <-t.gone:
		reason = "parent process ended"
	case cause = <-a.runtime.Fatal():
		reason = "fatal"
	case cause = <-served:
		reason = t.ended
		served <- nil // taken again below
	}
	a.log.Info("stopping", "reason", reason)
	cause = errors.Join(cause, a.stop(stopContext))
	closeTransport()
	return errors.Join(cause, <-served)
}

func (s *session) open(ctx context.Context, a *assembly, logs *logs, wire func() (*os.File, error)) (*transport, error) {
	if addr, ok := s.loaded.Config.MCP.HTTPAddr(); ok {
		return s.openHTTP(ctx, addr, a, logs)
	}
	return s.openStdio(a, wire)
}

// openStdio takes the standard streams. From readiness on a client that cannot be written to is a client that is gone, and no
// failure of this program.
func (s *session) openStdio(a *assembly, wire func() (*os.File, error)) (*transport, error) {
	out, err := wire()
	if err != nil {
		return nil, fault.New(fault.StateUnusable, fault.Variant("reason"), fault.Target("stdout"), fault.Arg("reason", err), fault.Cause(err))
	}
	parentGone, stopWatch, err := watchParent()
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	serve := func(ctx context.Context) error {
		started := false
		err := a.server.ServeStdio(ctx, s.Stdin, out, mcpserver.NewOwner(), func() {
			started = true
			a.log.Info("ready", "transport", config.TransportStdio)
		})
		if err != nil && started {
			a.log.Warn("the client's end failed", "error", err)
			return nil
		}
		return err
	}
	return &transport{serve: serve, ended: "client gone", gone: parentGone, close: func() { stopWatch(); out.Close() }}, nil
}

// watchParent returns a channel that is closed when the client's process ends (A-MCP-04). Where the system cannot tell, the
// end of standard input is the only sign.
func watchParent() (<-chan struct{}, func(), error) {
	gone, stop, err := proctree.Parent()
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, func() {}, nil
	}
	return gone, stop, err
}
