package tool

import (
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
	id                  sandbox.FileID
}

// program finds what a.executable names: the alias of an approved program, else a path (A-TOOL-04, A-POL-05).
func (d *Dispatcher) program(a runArgs, cwd string) (program, *outcome) {
	decision := policy.Decide(d.deps.Policy, policy.Request{Kind: policy.Process, Alias: a.executable})
	if decision.Allow {
		e := decision.Entry
		id, err := resolve.VerifyEntry(*e)
		if err != nil {
			return program{}, d.notStarted(a, e.Path, e.Alias, fault.As(err), "")
		}
		return program{path: e.Path, alias: e.Alias, sha256: e.SHA256, id: id}, nil
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
	return d.programFile(a, path, t)
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
func (d *Dispatcher) programFile(a runArgs, path string, t *rootio.Target) (program, *outcome) {
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
	if request.Script, err = resolve.IsScript(f); err != nil {
		return program{}, d.unresolved(path, sandbox.Execute, err)
	}
	if decision := policy.Decide(d.deps.Policy, request); !decision.Allow {
		return program{}, d.notStarted(a, path, "", decision.Fault(valid(path)), decision.Reason)
	}
	sum, err := resolve.HashFile(f)
	if err != nil {
		return program{}, d.unresolved(path, sandbox.Execute, err)
	}
	return program{path: t.Path(), sha256: sum, id: t.Info().ID}, nil
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
	switch e.Code {
	case fault.FeatureUnavailable:
		return say + " is a script; start its interpreter by its alias and pass the script as an argument"
	case fault.ExecutableHashChanged, fault.ExecutableResolutionChanged:
		return say + " is no longer the program that was approved"
	}
	var aliases []string
	for _, entry := range d.deps.Policy.Entries {
		aliases = append(aliases, entry.Alias)
	}
	if len(aliases) == 0 {
		return say + " is not approved, and no program has an alias"
	}
	return say + " is not approved; approved aliases are " + strings.Join(aliases, ", ")
}
