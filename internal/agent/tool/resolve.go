package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/resolve"
	"sekisho/internal/sandbox/rootio"
)

// resolve finds the object that path names and asks the policy for rights on it. The error-free result is a Target that
// holds the object; the caller closes it. A refusal says nothing about what lies outside the roots: it names the path as
// it was asked for, and is the same whether anything exists there or not.
func (d *Dispatcher) resolve(s Scope, asked string, want rootio.Want, rights sandbox.Rights) (*rootio.Target, *outcome) {
	path, err := d.absolute(asked)
	if err != nil {
		return nil, &outcome{err: err, target: asked}
	}
	t, err := d.deps.Roots.Resolve(path, want)
	if err != nil {
		return nil, d.unresolved(path, rights, err)
	}
	decision := policy.Decide(d.deps.Policy, policy.Request{Kind: policy.Filesystem, Path: t.Path(), Want: rights,
		Dir: t.Info().Kind == rootio.Dir || want == rootio.MayCreateParents, FoldsCase: t.FoldsCase(), Guards: s.Guards})
	if !decision.Allow {
		t.Close()
		o := d.denied(path, decision.Reason, rights, decision.Fault(valid(path)))
		o.say = d.refusal(path, decision.Reason, rights, policy.Teach(d.deps.Policy, decision.Reason, t.Path(), rights, s.Guards))
		return nil, o
	}
	return t, nil
}

// absolute makes a path absolute without cleaning it: what ".." means is known only after links were followed.
func (d *Dispatcher) absolute(path string) (string, error) {
	if strings.HasPrefix(path, "/") {
		return path, nil
	}
	base, err := d.workspace()
	if err != nil {
		return "", err
	}
	return base + "/" + path, nil
}

// workspace is where relative paths start: the one workspace root.
func (d *Dispatcher) workspace() (string, error) {
	var found []string
	for _, r := range d.deps.Policy.Roots {
		if slices.Contains(r.Origins, sandbox.OriginWorkspace) {
			found = append(found, r.Path)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	say := fmt.Sprintf("path: must be absolute, because there are %d workspaces", len(found))
	if len(found) > 0 {
		say += ": " + strings.Join(found, ", ")
	}
	return "", fault.New(fault.ToolArgumentsInvalid, fault.Target("path"), fault.Cause(errors.New(say)))
}

// denied is a refusal by policy of path, as the model wrote it.
func (d *Dispatcher) denied(path, reason string, rights sandbox.Rights, e *fault.Error) *outcome {
	return &outcome{
		err: e, target: path, permission: rights,
		say:    d.refusal(path, reason, rights, policy.Teach(d.deps.Policy, reason, path, rights, nil)),
		events: []audit.Event{{Event: audit.PolicyDeny, Kind: audit.KindFilesystem, Target: path, Reason: reason}},
	}
}

// refusal is what the model is told of a denial.
func (d *Dispatcher) refusal(path, reason string, rights sandbox.Rights, l policy.Lesson) string {
	return "denied by policy (" + reason + "): " + rights.String() + " is not allowed on " + valid(path) + "; " + valid(l.String()) + d.allowed(rights) + theirs(path)
}

// theirs explains the places that programs of a task have for themselves: a model that saw one in their output asks for it.
func theirs(path string) string {
	for _, place := range []string{"/tmp", "/home/agent", "/.agent-home", "/dev/shm"} {
		if resolve.Within(place, path) {
			return "; " + place + " belongs to the task's programs, file tools do not see it: let a program write the file below one of the allowed directories"
		}
	}
	return ""
}

// allowed names the roots that would have allowed rights: all of them are known to the model anyway.
func (d *Dispatcher) allowed(rights sandbox.Rights) string {
	var paths []string
	for _, r := range d.deps.Policy.Roots {
		if r.Rights.Has(rights) && !slices.Contains(r.Origins, sandbox.OriginOSRuntimeRoot) && !r.File {
			paths = append(paths, r.Path)
		}
	}
	if len(paths) == 0 {
		return ""
	}
	return "; allowed below: " + strings.Join(paths, ", ")
}

// unresolved turns an error of rootio into an answer. Only errors about objects inside the roots say what was wrong.
func (d *Dispatcher) unresolved(path string, rights sandbox.Rights, err error) *outcome {
	if e := fault.As(err); e != nil {
		if e.Category() != fault.PolicyDeny {
			return &outcome{err: e, target: path}
		}
		return d.denied(path, reasonOf(e), rights, e)
	}
	if errors.Is(err, fs.ErrPermission) {
		return d.osRefused(path, rights)
	}
	o := d.readFailure(path, err)
	return &o
}

// reasonOf is the audit's reason for a refusal by rootio.
func reasonOf(e *fault.Error) string {
	switch e.Variant {
	case "":
		return string(e.Code)
	case "outside_roots":
		return policy.ReasonNotAllowlisted
	}
	return e.Variant
}

// osRefused is an access that the operating system does not grant: terminal like a deny (A-TOOL-09).
func (d *Dispatcher) osRefused(path string, rights sandbox.Rights) *outcome {
	return &outcome{
		err: fault.New(fault.PolicyDenied, fault.Variant("permission"), fault.Target(valid(path))), target: path, permission: rights,
		say:    "the operating system does not grant " + rights.String() + " on " + valid(path) + "; " + policy.Teach(d.deps.Policy, "os_permission", path, rights, nil).String(),
		events: []audit.Event{{Event: audit.PolicyDeny, Kind: audit.KindFilesystem, Target: path, Reason: "os_permission"}},
	}
}

// readFailure names what went wrong with an object inside the roots.
func (d *Dispatcher) readFailure(path string, err error) outcome {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return *d.osRefused(path, sandbox.Read)
	case errors.Is(err, fs.ErrNotExist):
		return failure("not_found", path, "there is no such file or directory")
	case errors.Is(err, syscall.ENOTDIR):
		return failure("not_directory", path, "a part of the path is not a directory")
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EINVAL):
		return failure("not_found", path, "the path is too long or malformed")
	}
	return outcome{err: fault.New(fault.ToolFailed, fault.Target(valid(path)), fault.Cause(err)), target: path, say: "the operating system could not complete the operation"}
}
