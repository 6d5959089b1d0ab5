package matrix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/forward"
	"sekisho/internal/sandbox/guard"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/resolve"
)

// world is one case at work: its two layouts, its policy and its sandbox.
type world struct {
	*Report
	ctx        context.Context
	env        Env
	real, twin *layout
	policy     sandbox.EffectivePolicy
	watch      guard.Watch
	undos      []sandbox.Undo
	job        sandbox.Job
	audit      heard                   // of the network's rules
	found      map[string][]netip.Addr // what names resolve to
	machine    policy.Machine
	closers    []func()
}

// change adapts the declared policy before it is compiled.
type change func(w *world, p *policy.SandboxPolicy) error

// in makes a Judge that works in a world of its own with an open sandbox of the given profile.
func in(profile string, play func(w *world), changes ...change) func(context.Context, Env, *Report) {
	return apart(profile, func(w *world) {
		if err := w.open(); err != nil {
			w.Fail("opening the sandbox", "%v", err)
			return
		}
		play(w)
	}, changes...)
}

// apart is in without opening the sandbox: the case does that.
func apart(profile string, play func(w *world), changes ...change) func(context.Context, Env, *Report) {
	return func(ctx context.Context, env Env, r *Report) {
		w := &world{Report: r, ctx: ctx, env: env}
		defer w.close()
		if err := w.prepare(profile, changes); err != nil {
			r.Block("fixture", "%v", err)
			return
		}
		play(w)
	}
}

func (w *world) prepare(profile string, changes []change) (err error) {
	base, err := os.MkdirTemp(w.env.Dir, "case-")
	if err != nil {
		return err
	}
	w.closers = append(w.closers, func() {
		if err := os.RemoveAll(base); err != nil {
			w.Fail("removing the fixture", "%v", err)
		}
	})
	if err := os.Chmod(base, 0o755); err != nil {
		return err
	}
	n := strings.TrimPrefix(filepath.Base(base), "case-")
	if w.real, err = makeLayout(base+"/"+n+"real", w.env.Payload); err != nil {
		return err
	}
	if w.twin, err = makeLayout(base+"/"+n+"twin", w.env.Payload); err != nil {
		return err
	}
	declared, err := w.real.declare(profile, w.env.Cgroup)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err := c(w, &declared); err != nil {
			return err
		}
	}
	if w.policy, err = policy.Compile(declared); err != nil {
		return err
	}
	w.policy.Task = sandbox.TaskBinding{Instance: w.env.Instance, Task: n, Temp: w.real.dir + "/temp", Home: w.real.dir + "/home"}
	return nil
}

// open applies the policy as the broker does and opens the sandbox.
func (w *world) open() error {
	if err := w.survey(); err != nil {
		return err
	}
	steps, err := w.env.Backend.Plan(w.policy)
	if err != nil {
		return err
	}
	for _, s := range steps {
		u, err := w.env.Backend.Observe(w.ctx, s)
		if err != nil {
			return err
		}
		w.undos = append(w.undos, u)
		if err := w.env.Backend.Apply(w.ctx, s, u); err != nil {
			return err
		}
	}
	if w.policy.Network.Access != sandbox.NetworkNone {
		w.policy.Task.Network, _ = policy.Snapshot(w.policy.Network, w.found, w.machine)
		w.policy.Task.Forward = forward.New(forward.Options{Task: w.policy.Task.Task, Audit: &w.audit})
	}
	w.job, err = w.env.Backend.Open(w.ctx, w.policy, w.undos)
	return err
}

// shut ends the sandbox and reverts its steps; a case may call it to look at what is left.
func (w *world) shut() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), time.Minute)
	defer cancel()
	if w.job != nil {
		if err := w.job.Close(ctx); err != nil {
			w.Fail("closing the sandbox", "%v", err)
		}
		w.job = nil
	}
	for _, u := range slices.Backward(w.undos) {
		if err := w.env.Backend.Revert(ctx, u); err != nil {
			w.Fail("reverting", "%v", err)
		}
	}
	w.undos = nil
}

func (w *world) close() {
	w.shut()
	for _, c := range slices.Backward(w.closers) {
		c()
	}
}

// both does the same to the two layouts.
func (w *world) both(do func(l *layout) error) {
	if err := errors.Join(do(w.real), do(w.twin)); err != nil {
		w.Block("fixture", "%v", err)
	}
}

// output is what a run of the payload said and how it ended.
type output struct {
	OK            bool
	Errno, Detail string
	text, stderr  string
	exit          sandbox.Exit
	fault         error // coded, from the sandbox
}

func (o output) String() string {
	s := strings.TrimSpace(o.text + " " + o.stderr)
	if len(s) > 300 {
		s = s[:300] + "..."
	}
	return fmt.Sprintf("exit %d%s %q, fault %v", o.exit.Code, o.exit.Signal, s, o.fault)
}

func (o *output) decode() { json.Unmarshal([]byte(strings.TrimSpace(o.text)), o) }

// command is a program with the identity it has now.
func (w *world) command(dir, path string, args ...string) (sandbox.Command, error) {
	e, err := resolve.Executable(path)
	c := sandbox.Command{Path: e.Path, ID: e.ID, SHA256: e.SHA256, Argv0: path, Args: args, Dir: dir}
	if n := len(e.Interpreters); err == nil && n > 0 { // a script starts as its interpreter
		var chain []sandbox.Interpreter
		for _, in := range e.Interpreters {
			chain = append(chain, in.Interpreter)
		}
		native, before := sandbox.Launch(e.Path, chain)
		c.Path, c.ID, c.SHA256, c.Argv0, c.Args = native.Path, e.Interpreters[n-1].ID, native.SHA256, native.Name, append(before, args...)
	}
	return c, err
}

// start runs a command inside to its end.
func (w *world) start(c sandbox.Command) (o output) {
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	p, err := w.job.Start(w.ctx, c)
	if err == nil {
		o.exit, err = p.Wait(w.ctx)
	}
	o.fault, o.text, o.stderr = err, out.String(), errs.String()
	o.decode()
	return o
}

// inside runs any program in the sandbox.
func (w *world) inside(path string, args ...string) output {
	c, err := w.command(w.real.W, path, args...)
	if err != nil {
		return output{fault: err}
	}
	return w.start(c)
}

// outside runs the same program unconfined, as the same user, in the twin's workspace.
func (w *world) outside(path string, args ...string) (o output) {
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.twin.W, &out, &errs
	cmd.WaitDelay = time.Second // a daemon may keep the pipes
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		o.fault = err
	}
	if cmd.ProcessState != nil {
		o.exit.Code = cmd.ProcessState.ExitCode()
	}
	o.text, o.stderr = out.String(), errs.String()
	o.decode()
	return o
}

// bystander starts a process on the host that keeps the twin's secret in memory, as the twin's victim.
func (w *world) bystander() error {
	cmd := exec.CommandContext(w.ctx, w.twin.Payload, "secret", w.twin.Secret, "100")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.closers = append(w.closers, func() { cmd.Process.Kill(); cmd.Wait() })
	line := make([]byte, 256)
	n, err := out.Read(line)
	if err != nil && err != io.EOF {
		return err
	}
	var where struct {
		PID     int
		Address uint64
	}
	if err := json.Unmarshal(line[:n], &where); err != nil {
		return fmt.Errorf("the bystander said %q: %w", line[:n], err)
	}
	w.twin.Victim, w.twin.Address = where.PID, strconv.FormatUint(where.Address, 10)
	w.real.Address = w.twin.Address
	return nil
}
