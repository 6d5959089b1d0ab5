package tool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
)

// runHeader is the header of process_run. The output follows, each stream after a line with its name and its whole length.
type runHeader struct {
	OK        bool  `json:"ok"`
	ExitCode  int   `json:"exit_code"`
	ElapsedMS int64 `json:"elapsed_ms"`
	Truncated bool  `json:"truncated"`
}

func (d *Dispatcher) prepareRun(_ context.Context, s Scope, call agent.ToolCall, args any) step {
	a := args.(runArgs)
	dir, refused := d.resolve(a.cwd, rootio.Existing, sandbox.Read)
	if refused != nil {
		return step{refused: refused}
	}
	cwd, kind := dir.Path(), dir.Info().Kind
	dir.Close() // the sandbox enters it by path under its own, kernel-enforced view
	if kind != rootio.Dir {
		o := failure("not_directory", a.cwd, "cwd is a file, not a directory")
		return step{refused: &o}
	}
	prog, refused := d.program(a, cwd)
	if refused != nil {
		return step{refused: refused}
	}
	return step{run: func(ctx context.Context) outcome { return d.run(ctx, s, call, a, cwd, prog) }}
}

// run starts the program in the task's sandbox and waits for its end. The audit gets process.start before anything happens
// and one process.exit for it, whatever follows.
func (d *Dispatcher) run(ctx context.Context, s Scope, call agent.ToolCall, a runArgs, cwd string, prog program) outcome {
	err := d.audit(s, call, audit.Event{
		Event: audit.ProcessStart, Exe: prog.path, Alias: prog.alias, SHA256: prog.sha256, ArgumentCount: audit.Int(len(a.args)), Decision: audit.Allow,
	})
	if err != nil {
		return unaudited(err)
	}
	var stdout, stderr output
	exit, fatal, err := d.start(ctx, s, sandbox.Command{
		Path: prog.path, ID: prog.id, SHA256: prog.sha256, Args: a.args, Dir: cwd, Stdin: stdin(a), Stdout: &stdout, Stderr: &stderr,
		Timeout: d.timeout(a),
	})
	ended := audit.Event{Event: audit.ProcessExit, Exe: prog.path, Alias: prog.alias}
	o := outcome{}
	switch e := fault.As(err); {
	case err == nil:
		ended.ExitCode, ended.Signal = audit.Int(exit.Code), exit.Signal
		o = d.ended(a, exit, &stdout, &stderr)
	case e != nil && e.Category() == fault.ResourceLimit:
		ended.Limit, ended.ErrorCode = string(e.Code), string(e.Code)
		o = outcome{err: withDefault(e, "seconds", fmt.Sprint(int(d.timeout(a).Seconds()))), target: a.executable, body: streams(&stdout, &stderr)}
	default:
		o = d.startFailure(a, err, fatal)
		ended.ErrorCode = string(fault.CodeOf(o.err))
	}
	if err := d.audit(s, call, ended); err != nil {
		return unaudited(err)
	}
	return o
}

// start opens the task's sandbox if it has none yet and runs the command. fatal says that there is no sandbox: then nothing
// of this task can run, whatever the model tries.
func (d *Dispatcher) start(ctx context.Context, s Scope, c sandbox.Command) (exit sandbox.Exit, fatal bool, err error) {
	job, err := s.Job(ctx)
	if err != nil {
		return sandbox.Exit{}, true, fmt.Errorf("opening the sandbox: %w", err)
	}
	p, err := job.Start(ctx, c)
	if err != nil {
		return sandbox.Exit{}, false, fmt.Errorf("starting %s: %w", c.Path, err)
	}
	exit, err = p.Wait(ctx)
	return exit, false, err
}

func (d *Dispatcher) startFailure(a runArgs, err error, fatal bool) outcome {
	e := fault.As(err)
	if e == nil {
		e = fault.New(fault.ExecutableStartFailed, fault.Target(valid(a.executable)), fault.Cause(err))
		if fatal {
			e = fault.New(fault.SandboxFailed, fault.Cause(err))
		}
	}
	if e.Category() == fault.PolicyDeny && !fatal {
		o := *d.notStarted(a, a.executable, "", e, "")
		o.events = o.events[:1] // process.start was written as allowed; process.exit tells the rest
		return o
	}
	o := outcome{err: e, target: a.executable, fatal: fatal}
	if e.Code == fault.ExecutableStartFailed {
		o.err = withDefault(e, "reason", startReason(e))
		o.say = "the program could not be started: " + startReason(e)
	}
	return o
}

// withDefault fills a placeholder that the place where e was made did not know.
func withDefault(e *fault.Error, name, value string) *fault.Error {
	if _, ok := e.Args[name]; ok {
		return e
	}
	return e.With(fault.Arg(name, value))
}

// startReason is the operating system's word for why a program did not start, without the paths around it.
func startReason(e *fault.Error) string {
	err := error(e)
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	if err == error(e) {
		return "the operating system refused it"
	}
	return clip(oneLine(err.Error()), 200)
}

// timeout is the smaller of the call's and the policy's limit (A-SBX-02).
func (d *Dispatcher) timeout(a runArgs) time.Duration {
	return time.Duration(min(a.timeoutSeconds, int64(d.deps.Policy.Resources.TimeoutSeconds))) * time.Second
}

func stdin(a runArgs) []byte {
	if a.stdin == nil {
		return nil
	}
	return []byte(*a.stdin)
}

// ended is the answer for a program that ran to its end. Only exit code 0 is a success.
func (d *Dispatcher) ended(a runArgs, exit sandbox.Exit, stdout, stderr *output) outcome {
	body := streams(stdout, stderr)
	if exit.Code == 0 && exit.Signal == "" {
		o := done("tool.run.done", runHeader{OK: true, ElapsedMS: exit.Elapsed.Milliseconds(), Truncated: stdout.truncated() || stderr.truncated()}, body, a.executable)
		o.sideEffect = true
		return o
	}
	say := fmt.Sprintf("the program ended with exit code %d", exit.Code)
	how := d.deps.Texts.Text("tool.run.exit", map[string]string{"code": fmt.Sprint(exit.Code)})
	if exit.Signal != "" {
		say = "the program was ended by signal " + exit.Signal
		how = d.deps.Texts.Text("tool.run.signal", map[string]string{"signal": exit.Signal})
	}
	o := failure("exit_code", a.executable, say)
	o.err = fault.As(o.err).With(fault.Arg("outcome", how))
	o.body = body
	return o
}

func streams(stdout, stderr *output) string {
	return fmt.Sprintf("stdout (%d bytes):\n%s\nstderr (%d bytes):\n%s", stdout.total, stdout.text(), stderr.total, stderr.text())
}
