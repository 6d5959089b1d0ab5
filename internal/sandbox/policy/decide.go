package policy

import (
	"path"
	"strings"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// Kind of a request, and of the audit's policy.deny.
type Kind string

// The kinds that Decide judges. A network connection is never decided here: the kernel refuses it.
const (
	Filesystem Kind = "filesystem"
	Process    Kind = "process"
)

// Request is one wish on a resolved object.
type Request struct {
	Kind Kind
	// Path is the resolved path of the object. For a Process request with Alias it is not looked at.
	Path string
	// Want is the rights wanted on Path (Filesystem).
	Want sandbox.Rights
	// Dir tells that the object is a directory or is to become one, FoldsCase that a directory on its way knows no case
	// (Filesystem with Write or Delete).
	Dir, FoldsCase bool
	// Guards are those of the running task, sorted by path (Filesystem with Write or Delete).
	Guards []sandbox.Guard
	// Alias asks for the approved entry of that name (Process).
	Alias string
}

// Reasons of a denial, as the audit records them.
const (
	ReasonNotAllowlisted = "not_allowlisted" // no root or entry covers it
	ReasonMissingRight   = "missing_right"   // a root covers it, without the right wanted
	ReasonAliasRequired  = "alias_required"  // an approved entry was named by its path
	ReasonShell          = "shell"           // a shell that is not an approved one
	ReasonToolConfig     = "tool_config"     // the host or its tools run it later (A-POL-13)
	ReasonHardLinks      = "hard_links"      // its files are also linked outside the writable roots (A-POL-10)
)

// ProcessClass tells why a process may start (A-POL-05).
type ProcessClass string

// The classes of entry processes.
const (
	ApprovedEntry     ProcessClass = "approved_entry"
	ApprovedShell     ProcessClass = "approved_shell"
	RuntimeComponent  ProcessClass = "runtime_component"
	WorkspaceArtifact ProcessClass = "workspace_artifact"
)

// Decision is the answer to a Request. Root, Entry and Class are set only when they apply.
type Decision struct {
	Allow bool
	// Root is the longest root that covers the path, also of a denial that is about what lies in it.
	Root  *sandbox.Root
	Entry *sandbox.Entry
	Class ProcessClass
	// Code and Reason explain a denial; Required is what the request lacks.
	Code     fault.Code
	Reason   string
	Required sandbox.Rights
}

// Fault is a denial as an error about target; nil for an allowed request.
func (d Decision) Fault(target string) *fault.Error {
	if d.Allow {
		return nil
	}
	opts := []fault.Option{fault.Target(target)}
	switch d.Reason {
	case ReasonToolConfig, ReasonHardLinks:
		opts = append(opts, fault.Variant(d.Reason))
	case ReasonMissingRight:
		opts = append(opts, fault.Variant("missing_right"), fault.Arg("required", d.Required.String()))
	case ReasonAliasRequired:
		opts = append(opts, fault.Variant("alias_required"))
	case ReasonNotAllowlisted:
		if d.Code == fault.PolicyDenied {
			opts = append(opts, fault.Variant("outside_roots"))
		}
	}
	return fault.New(d.Code, opts...)
}

// Decide judges one request. It depends on p and req alone.
func Decide(p *sandbox.EffectivePolicy, req Request) Decision {
	switch {
	case req.Kind == Process && req.Alias != "":
		return decideAlias(p, req.Alias)
	case req.Kind == Process:
		return decideProcess(p, req)
	case req.Kind == Filesystem:
		return decideFile(p, req)
	}
	return Decision{Code: fault.PolicyDenied, Reason: ReasonNotAllowlisted, Required: req.Want}
}

// Alias finds the approved entry of that name; case does not count, as aliases are unique without it (A-POL-04).
func Alias(p *sandbox.EffectivePolicy, name string) *sandbox.Entry {
	for i := range p.Entries {
		if strings.EqualFold(p.Entries[i].Alias, name) {
			return &p.Entries[i]
		}
	}
	return nil
}

func decideFile(p *sandbox.EffectivePolicy, req Request) Decision {
	want := req.Want
	root := rootOf(p, req.Path)
	if root == nil || want == 0 {
		return Decision{Code: fault.PolicyDenied, Reason: ReasonNotAllowlisted, Required: want}
	}
	if !root.Rights.Has(want) {
		return Decision{Root: root, Code: fault.PolicyDenied, Reason: ReasonMissingRight, Required: want &^ root.Rights}
	}
	if want&(sandbox.Write|sandbox.Delete) != 0 {
		if protects(p, root, req.Path, req.Dir, req.FoldsCase) {
			return Decision{Root: root, Code: fault.PolicyDenied, Reason: ReasonToolConfig, Required: want}
		}
		if g := GuardOf(req.Guards, req.Path); g != nil {
			return Decision{Root: root, Code: fault.PolicyDenied, Reason: string(g.Reason), Required: want}
		}
	}
	return Decision{Allow: true, Root: root}
}

func decideAlias(p *sandbox.EffectivePolicy, alias string) Decision {
	e := Alias(p, alias)
	if e == nil {
		return Decision{Code: fault.ExecutableApprovalMissing, Reason: ReasonNotAllowlisted, Required: sandbox.Execute}
	}
	class := ApprovedEntry
	if e.Class == sandbox.ClassShell {
		class = ApprovedShell
	}
	return Decision{Allow: true, Entry: e, Root: rootOf(p, e.Path), Class: class}
}

// decideProcess judges a program named by a path: a Runtime Component or a Workspace Artifact. A resolved path may not
// stand in for an alias (A-TOOL-04), and a shell is only ever started as an approved one.
func decideProcess(p *sandbox.EffectivePolicy, req Request) Decision {
	deny := func(code fault.Code, reason string) Decision {
		return Decision{Root: rootOf(p, req.Path), Code: code, Reason: reason, Required: sandbox.Execute}
	}
	for i := range p.Entries {
		if p.Entries[i].Path == req.Path {
			return deny(fault.PolicyDenied, ReasonAliasRequired)
		}
	}
	class := classOf(p, req.Path)
	switch {
	case class == "":
		return deny(fault.ExecutableApprovalMissing, ReasonNotAllowlisted)
	case IsShell(path.Base(req.Path)):
		return deny(fault.ExecutableShellUnsupported, ReasonShell)
	}
	return Decision{Allow: true, Root: rootOf(p, req.Path), Class: class}
}

// classOf is the class of a program named by its path, or "" when none of its roots lets it start.
func classOf(p *sandbox.EffectivePolicy, name string) ProcessClass {
	if root := rootOf(p, name); root == nil || root.File || !root.Rights.Has(sandbox.Execute) {
		return ""
	}
	var class ProcessClass
	for _, r := range p.Roots {
		if r.File || !r.Rights.Has(sandbox.Execute) || !Within(r.Path, name) {
			continue
		}
		for _, o := range r.Origins {
			switch {
			case o == sandbox.OriginRuntimeRoot:
				return RuntimeComponent
			case o == sandbox.OriginWorkspace && p.Profile == ProfileDevelopment:
				class = WorkspaceArtifact
			}
		}
	}
	return class
}

// rootOf is the longest root that covers name.
func rootOf(p *sandbox.EffectivePolicy, name string) *sandbox.Root {
	var best *sandbox.Root
	for i := range p.Roots {
		r := &p.Roots[i]
		if covers(r, name) && (best == nil || len(r.Path) > len(best.Path)) {
			best = r
		}
	}
	return best
}

func covers(r *sandbox.Root, name string) bool {
	if r.File {
		return r.Path == name
	}
	return Within(r.Path, name)
}

// Within tells, element by element, whether path is root or lies below it; /a/b does not contain /a/bc. Both must be
// absolute and clean: any other path is within nothing.
func Within(root, name string) bool {
	if !clean(root) || !clean(name) {
		return false
	}
	rest, ok := strings.CutPrefix(name, root)
	return ok && (rest == "" || root == "/" || rest[0] == '/')
}

func clean(p string) bool {
	return strings.HasPrefix(p, "/") && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}

// IsShell tells whether name, the last element of a resolved path, is one of the shells of section 13 (A-POL-04).
func IsShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "pwsh":
		return true
	}
	return false
}
