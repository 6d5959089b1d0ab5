package tool

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/resolve"
	"sekisho/internal/sandbox/rootio"
)

// program is an executable that the policy lets start, identified by the file that was hashed.
type program struct {
	path, alias, sha256 string
	id                  sandbox.FileID // of the native program: path's own, or the last interpreter's
	interpreters        []sandbox.Interpreter
	environment         map[string]string
}

// command is what starts p with args: p itself, or its native interpreter with everything that its interpreter lines say
// (A-POL-11). An approved script must be the approved one when it is read, too; one of the workspace is what it is then.
func (p program) command(args []string) sandbox.Command {
	c := sandbox.Command{Path: p.path, ID: p.id, SHA256: p.sha256, Args: args}
	if len(p.interpreters) > 0 {
		native, before := sandbox.Launch(p.path, p.interpreters)
		c.Path, c.SHA256, c.Argv0, c.Args = native.Path, native.SHA256, native.Name, append(before, args...)
		if p.alias != "" {
			c.Scripts = append(c.Scripts, p.path)
			for _, in := range p.interpreters[:len(p.interpreters)-1] {
				c.Scripts = append(c.Scripts, in.Path)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.environment)) {
		c.Env = append(c.Env, name+"="+p.environment[name])
	}
	return c
}

// program finds what a.executable names: the alias of an approved program, else a path (A-TOOL-04, A-POL-05).
func (d *Dispatcher) program(ctx context.Context, a runArgs, cwd string) (program, *outcome) {
	decision := policy.Decide(d.deps.Policy, policy.Request{Kind: policy.Process, Alias: a.executable})
	if decision.Allow {
		e := decision.Entry
		id, err := d.entries.Verify(ctx, *e)
		if ctx.Err() != nil {
			return program{}, d.hashingEnded(a, ctx)
		}
		if err != nil {
			return program{}, d.notStarted(a, e.Path, e.Alias, fault.As(err), "")
		}
		return program{path: e.Path, alias: e.Alias, sha256: e.SHA256, id: id, interpreters: e.Interpreters, environment: e.Environment}, nil
	}
	path := a.executable
	if !strings.Contains(path, "/") && !d.exists(cwd+"/"+path) {
		return program{}, d.notStarted(a, path, "", decision.Fault(valid(path)), decision.Reason)
	}
	if !strings.HasPrefix(path, "/") {
		path = cwd + "/" + path
	}
	t, err := d.deps.Roots.Resolve(path, rootio.Existing)
	if err != nil {
		return program{}, d.programUnresolved(a, path, err)
	}
	defer t.Close()
	return d.programFile(ctx, a, path, t)
}

func (d *Dispatcher) exists(path string) bool {
	t, err := d.deps.Roots.Resolve(path, rootio.Existing)
	if err != nil {
		return false
	}
	t.Close()
	return true
}

// programFile judges and hashes a Runtime Component or Workspace Artifact.
func (d *Dispatcher) programFile(ctx context.Context, a runArgs, path string, t *rootio.Target) (program, *outcome) {
	request := policy.Request{Kind: policy.Process, Path: t.Path()}
	if decision := policy.Decide(d.deps.Policy, request); !decision.Allow {
		return program{}, d.notStarted(a, path, "", decision.Fault(valid(path)), decision.Reason)
	}
	if t.Info().Kind != rootio.File {
		o := failure("is_directory", a.executable, "executable is a directory")
		return program{}, &o
	}
	f, err := t.OpenRead()
	if err != nil {
		return program{}, d.unresolved(path, sandbox.Execute, err)
	}
	defer f.Close()
	sum, err := resolve.HashFile(ctx, f)
	switch {
	case ctx.Err() != nil:
		return program{}, d.hashingEnded(a, ctx)
	case errors.Is(err, resolve.ErrTooLarge):
		o := failure("too_large", a.executable, "not started: the file is "+resolve.ErrTooLarge.Error()+", and a larger program is not run")
		return program{}, &o
	case err != nil:
		return program{}, d.unresolved(path, sandbox.Execute, err)
	}
	p := program{path: t.Path(), sha256: sum, id: t.Info().ID}
	chain, err := resolve.Interpreters(ctx, t.Path(), f, d.searchPath(), d.findInterpreter)
	switch e := fault.As(err); {
	case ctx.Err() != nil:
		return program{}, d.hashingEnded(a, ctx)
	case e != nil:
		return program{}, d.notStarted(a, path, "", e.With(fault.Target(valid(path))), e.Variant)
	case err != nil:
		return program{}, d.unresolved(path, sandbox.Execute, err)
	}
	for _, in := range chain {
		p.interpreters, p.id = append(p.interpreters, in.Interpreter), in.ID
	}
	return p, nil
}

// searchPath is where a script that asks env for its interpreter finds it: the PATH that its process gets.
func (d *Dispatcher) searchPath() string {
	if path, ok := d.deps.Policy.Environment["PATH"]; ok {
		return path
	}
	return resolve.SystemPath
}

// findInterpreter opens an interpreter of a Workspace Artifact or Runtime Component: a file of an executable root (A-POL-11).
func (d *Dispatcher) findInterpreter(name string) (resolve.Found, error) {
	t, err := d.deps.Roots.Resolve(name, rootio.Existing)
	if err != nil {
		if e := fault.As(err); e != nil && e.Category() == fault.PolicyDeny {
			err = fault.New(fault.ExecutableScriptInvalid, fault.Variant("outside"), fault.Cause(err))
		}
		return resolve.Found{}, err
	}
	defer t.Close()
	want := policy.Request{Kind: policy.Filesystem, Path: t.Path(), Want: sandbox.Read | sandbox.Execute}
	if !policy.Decide(d.deps.Policy, want).Allow {
		return resolve.Found{}, fault.New(fault.ExecutableScriptInvalid, fault.Variant("outside"))
	}
	if t.Info().Kind != rootio.File || t.Info().Mode&0o111 == 0 {
		return resolve.Found{}, fault.New(fault.ExecutableScriptInvalid, fault.Variant("missing"))
	}
	f, err := t.OpenRead()
	if err != nil {
		return resolve.Found{}, err
	}
	return resolve.Found{Path: t.Path(), ID: t.Info().ID, File: f}, nil
}

// hashingEnded answers for a program that was still being read when its call's time was over or the task ended.
func (d *Dispatcher) hashingEnded(a runArgs, ctx context.Context) *outcome {
	return &outcome{err: context.Cause(ctx), target: a.executable}
}

// programUnresolved answers for a path that leads to no program. What lies outside the roots is not approved, whether
// anything is there or not.
func (d *Dispatcher) programUnresolved(a runArgs, path string, err error) *outcome {
	e := fault.As(err)
	if e == nil || e.Category() != fault.PolicyDeny {
		return d.unresolved(path, sandbox.Execute, err)
	}
	if e.Code == fault.PolicyDenied && e.Variant == "outside_roots" {
		return d.notStarted(a, path, "", fault.New(fault.ExecutableApprovalMissing, fault.Target(valid(path))), policy.ReasonNotAllowlisted)
	}
	return d.notStarted(a, path, "", e, e.Variant)
}

// notStarted is the refusal of a program, with both its audit lines.
func (d *Dispatcher) notStarted(a runArgs, path, alias string, e *fault.Error, reason string) *outcome {
	if reason == "" {
		reason = strings.TrimPrefix(string(e.Code), "executable.")
	}
	o := &outcome{err: e, target: a.executable, permission: sandbox.Execute, say: "not started (" + reason + "): " + d.startable(a.executable, e)}
	if e.Category() == fault.PolicyDeny {
		o.events = append(o.events, audit.Event{Event: audit.PolicyDeny, Kind: audit.KindProcess, Target: path, Reason: reason})
	}
	o.events = append(o.events, audit.Event{Event: audit.ProcessStart, Exe: path, Alias: alias, ArgumentCount: audit.Int(len(a.args)), Decision: audit.Deny})
	return o
}

func (d *Dispatcher) startable(executable string, e *fault.Error) string {
	say := valid(executable)
	switch {
	case e.Code == fault.ExecutableScriptInvalid:
		return say + " is a script whose first line names no interpreter that may run it" + scriptProblems[e.Variant] + "; correct the line, or start an interpreter by its alias and pass the script as an argument"
	case e.Code == fault.ExecutableHashChanged, e.Code == fault.ExecutableResolutionChanged:
		return say + " is no longer the program that was approved"
	}
	var aliases []string
	for _, entry := range d.deps.Policy.Entries {
		aliases = append(aliases, entry.Alias)
	}
	if len(aliases) == 0 {
		say += " is not approved, and no program has an alias"
	} else {
		say += " is not approved; approved aliases are " + strings.Join(aliases, ", ")
	}
	return say + "; " + valid(policy.TeachProgram(d.deps.Policy, executable, e.Variant).String())
}

// scriptProblems tell the model what is wrong with a script's first line, by the variant of executable.script_invalid.
var scriptProblems = map[string]string{
	"crlf":      " (the line ends with CR LF)",
	"bom":       " (a byte order mark stands before it)",
	"too_long":  " (it is longer than 256 bytes)",
	"relative":  " (it is no absolute path)",
	"env":       " (after env there must be one name, or -S and plain words)",
	"missing":   " (there is no such program)",
	"outside":   " (it lies in no root from which programs may run)",
	"too_deep":  " (the interpreters are scripts themselves, in a loop or too many)",
	"too_large": " (it is too large)",
}
