package tool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/agent/tool/charset"
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

func (d *Dispatcher) prepareRun(ctx context.Context, s Scope, call agent.ToolCall, args any) step {
	a := args.(runArgs)
	begun := time.Now() // reading the program counts into the call's time
	dir, refused := d.resolve(s, a.cwd, rootio.Existing, sandbox.Read)
	if refused != nil {
		return step{refused: refused}
	}
	cwd, kind := dir.Path(), dir.Info().Kind
	dir.Close() // the sandbox enters it by path under its own, kernel-enforced view
	if kind != rootio.Dir {
		o := failure("not_directory", a.cwd, "cwd is a file, not a directory")
		return step{refused: &o}
	}
	limit := d.timeout(a)
	reading, cancel := context.WithDeadlineCause(ctx, begun.Add(limit), fault.New(fault.ResourceTimeLimit, fault.Arg("seconds", int64(limit.Seconds()))))
	defer cancel()
	prog, refused := d.program(reading, a, cwd)
	if refused != nil {
		return step{refused: refused}
	}
	return step{run: func(ctx context.Context) outcome { return d.run(ctx, s, call, a, cwd, prog, begun) }}
}

// run starts the program in the task's sandbox and waits for its end. The audit gets process.start, with how the program was
// proven, before its first instruction, and one process.exit for it, whatever follows.
func (d *Dispatcher) run(ctx context.Context, s Scope, call agent.ToolCall, a runArgs, cwd string, prog program, begun time.Time) outcome {
	started := audit.Event{Event: audit.ProcessStart, Exe: prog.path, Alias: prog.alias, SHA256: prog.sha256, ArgumentCount: audit.Int(len(a.args)), Decision: audit.Allow}
	if n := len(prog.interpreters); n > 0 {
		started.Interpreter, started.InterpreterSHA256 = prog.interpreters[n-1].Path, prog.interpreters[n-1].SHA256
	}
	told, lost := false, error(nil) // whether the audit has process.start, and why it could not be written
	tell := func() error {
		told, lost = true, d.audit(s, call, started)
		return lost
	}
	var stdout, stderr output
	command := prog.command(a.args)
	command.Dir, command.Stdin, command.Stdout, command.Stderr = cwd, stdin(a), &stdout, &stderr
	command.Timeout = max(d.timeout(a)-time.Since(begun), time.Millisecond)
	command.Admit = func(p sandbox.Proof) error {
		if told && started.Hash == string(p) {
			return lost
		}
		started.Hash = string(p)
		return tell()
	}
	exit, fatal, err := d.start(ctx, s, command)
	if !told { // nothing of it ran
		tell()
	}
	if lost != nil {
		return unaudited(lost)
	}
	ended := audit.Event{Event: audit.ProcessExit, Exe: prog.path, Alias: prog.alias}
	o := outcome{}
	switch e := fault.As(err); {
	case err == nil:
		ended.ExitCode, ended.Signal = audit.Int(exit.Code), exit.Signal
		o = d.ended(a, exit, &stdout, &stderr)
		if o.err != nil {
			o.body += d.hints(s, cwd, &stdout, &stderr)
		}
	case e != nil && e.Category() == fault.ResourceLimit:
		ended.Limit, ended.ErrorCode = string(e.Code), string(e.Code)
		o = outcome{err: e.With(fault.Arg("seconds", int64(d.timeout(a).Seconds()))), target: a.executable, body: streams(&stdout, &stderr)}
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
	return charset.Clip(charset.OneLine(err.Error()), 200)
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
