// Package guard finds what a task must leave alone inside roots that it may write, and moves away what it left there for
// the host to run (A-POL-10, A-POL-13).
//
// Threat: a payload that may write a workspace writes what somebody else runs later, with more rights: git hooks, settings
// of editors and agents, a directory's environment. What is there is bound read-only by the backend, and every directory
// on the way to it over itself, so that none can be renamed away. What is not there cannot be bound: Sweep looks once
// the tree is dead, when nobody is left to race with, and moves what it finds. It judges names and, for the few
// things that git makes itself, content: a config or hooks directory that can run nothing stays, so that git init works.
// The other threat is a file with a second name outside the roots, as local clones and package stores make them.
//
// Survey and Sweep walk by descriptor (rootio.Root.Walk): no link is followed, no mount entered, only directories are
// opened.
package guard

import (
	"cmp"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/rootio"
)

// Limits of what is looked at and guarded.
const (
	// MaxLinkedDirectories is A-POL-10's number of directories bound read-only.
	MaxLinkedDirectories = 4096
	// maxGuards bounds all guards; each is a mount of the sandbox.
	maxGuards = 8192
	// maxEntries bounds one survey: at a microsecond or two each, seconds.
	maxEntries = 4_000_000
)

// Findings are the result of a Survey.
type Findings struct {
	// Guards are sorted by path, so that each comes after the directories that it lies in.
	Guards []sandbox.Guard
	// Foreign are the names that another user or group than the root directory's owns.
	Foreign Foreign
	// extras are places that are protected because of what they are used for, not of their names.
	extras []extra
	// behind is what tools would run where links of working trees lead, and nothing is protected.
	behind []Kept
	ids    map[string]sandbox.FileID // of the GuardToolConfig ones and of links in git directories
	roots  []*rootio.Root
}

// Foreign counts names whose owner the sandbox does not map: nobody inside may write them.
type Foreign struct {
	Count int
	First string
}

// extra is a path that a link or a pointer of git leads to.
type extra struct {
	Path  string       `json:"path"`
	Place policy.Place `json:"place"`
}

// Close gives the roots' descriptors back.
func (f *Findings) Close() error {
	var err error
	for _, r := range f.roots {
		err = cmp.Or(err, r.Close())
	}
	f.roots = nil
	return err
}

// ReadOnlyDirectories are those of A-POL-10.
func ReadOnlyDirectories(guards []sandbox.Guard) []string {
	var out []string
	for _, g := range guards {
		if g.Reason == sandbox.GuardHardLinks {
			out = append(out, g.Path)
		}
	}
	return out
}

// guardable lists the roots that are surveyed.
func guardable(p *sandbox.EffectivePolicy) []sandbox.Root {
	var out []sandbox.Root
	for i := range p.Roots {
		if policy.Guardable(&p.Roots[i]) {
			out = append(out, p.Roots[i])
		}
	}
	return out
}

// refuse is a refusal of the task at its start.
func refuse(variant, target string, opts ...fault.Option) error {
	return fault.New(fault.PolicyDenied, append(opts, fault.Variant(variant), fault.Target(target))...)
}

// enter is the place of a visited name, and of the directory that holds it, which a repository without a working tree makes
// a git directory. Only where case could decide is the directory asked about it.
func enter(p policy.Place, v *rootio.Visit) (around, at policy.Place) {
	if (p == policy.Tree || p == policy.GitData) && bare(v) {
		p = policy.GitDir
	}
	dir := v.Info.Kind == rootio.Dir
	at = p.Enter(v.Name, dir, false)
	if folded := p.Enter(v.Name, dir, true); folded != at && v.FoldsCase() {
		at = folded
	}
	return p, at
}

// writtenThrough tells whether v is a link in a git directory. Git makes none, and writes through them whatever a commit's message
// or a log is, into files of the host.
func writtenThrough(around policy.Place, v *rootio.Visit) bool {
	return v.Link && around != policy.Tree && around != policy.Free && around != policy.ToolConfig
}

// bare tells whether v is a name that git runs or follows, or a link, in a directory that git takes for a repository: one with HEAD,
// objects and refs, or with HEAD and a commondir that leads to the others.
func bare(v *rootio.Visit) bool {
	if !v.Link && policy.GitDir.Enter(v.Name, false, true) != policy.ToolConfig || !v.Beside("HEAD") {
		return false
	}
	return v.Beside("commondir") || v.Beside("objects") && v.Beside("refs")
}
