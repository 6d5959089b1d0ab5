package policy

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// CgroupAuto lets the backend find a place for its control groups.
const CgroupAuto = "auto"

// compiler collects roots and problems; each root remembers the declaration that a person can correct.
type compiler struct {
	in       SandboxPolicy
	roots    []granted
	declared []declaredLink
	problems Problems
}

type granted struct {
	sandbox.Root
	section Section
	index   int
	field   string
}

// Compile makes the EffectivePolicy of d: rights by origin (A-POL-01), declared spellings kept as links (A-POL-02), the same
// root declared twice united, nested roots checked (A-POL-03), protected paths kept out (A-POL-09), resources filled in
// (A-POL-07), baseline listed (A-POL-08). The error is Problems: every reason at once. A policy that is valid but asks for
// what is not available yet fails with configuration.feature_unavailable only.
func Compile(d SandboxPolicy) (sandbox.EffectivePolicy, error) {
	c := &compiler{in: d}
	if d.Profile != ProfileReadonly && d.Profile != ProfileDevelopment {
		c.invalid(InProfile, -1, "", "policy_profile", fault.Arg("value", d.Profile))
	}
	environment := c.environment(d.Environment, InEnvironment, -1, "")
	c.workspaces()
	c.mounts()
	entries := c.entries()
	c.osRuntime()
	c.unite()
	c.inherit()
	c.nested()
	links := c.links()
	network := c.network()
	resources := c.resources()
	if len(c.problems) > 0 {
		return sandbox.EffectivePolicy{}, c.problems
	}
	return sandbox.EffectivePolicy{
		Profile:   d.Profile,
		Roots:     c.sorted(),
		Links:     links,
		Entries:   entries,
		Network:   network,
		Resources: resources,
		Baseline:  Baseline(d.Profile, network.Access),

		ToolConfigWrites: d.ToolConfigWrites,
		Environment:      environment,
		TempMB:           d.TempMB,
		HomeMB:           d.HomeMB,
	}, nil
}

func (c *compiler) problem(s Section, index int, field string, code fault.Code, variant string, opts ...fault.Option) {
	opts = append(opts, fault.Variant(variant))
	c.problems = append(c.problems, Problem{Section: s, Index: index, Field: field, Fault: fault.New(code, opts...)})
}

func (c *compiler) invalid(s Section, index int, field, variant string, opts ...fault.Option) {
	c.problem(s, index, field, fault.ConfigurationInvalid, variant, opts...)
}

func (c *compiler) workspaces() {
	rights := sandbox.Read
	if c.in.Profile == ProfileDevelopment {
		rights |= sandbox.Write | sandbox.Delete | sandbox.Execute
	}
	for i, w := range c.in.Workspaces {
		c.exposed(w, InWorkspaces, i, "")
		c.directory(w, rights, sandbox.OriginWorkspace, InWorkspaces, i, "")
	}
}

func (c *compiler) mounts() {
	for i, m := range c.in.Mounts {
		rights := sandbox.Read
		switch m.Access {
		case AccessReadOnly:
		case AccessReadWrite:
			rights |= sandbox.Write
		case AccessReadWriteDelete:
			rights |= sandbox.Write | sandbox.Delete
		default:
			c.invalid(InMounts, i, "access", "policy_access", fault.Arg("value", m.Access))
			continue
		}
		if c.in.Profile == ProfileReadonly && rights != sandbox.Read {
			c.invalid(InMounts, i, "access", "policy_readonly_mount", fault.Target(m.Path), fault.Arg("access", m.Access))
			continue
		}
		c.exposed(m.Directory, InMounts, i, "path")
		c.directory(m.Directory, rights, sandbox.OriginMount, InMounts, i, "path")
	}
}

// entries grants each entry's file and its runtime root, and lists the approvals in the order of declaration.
func (c *compiler) entries() []sandbox.Entry {
	var out []sandbox.Entry
	for i, e := range c.in.Entries {
		c.alias(i, e.Alias)
		entry := sandbox.Entry{Alias: e.Alias, Class: sandbox.ClassEntry, Path: e.Path, SHA256: e.SHA256,
			Environment: c.environment(e.Environment, InEntries, i, "environment")}
		origin := sandbox.OriginApprovedEntry
		if IsShell(e.Path[strings.LastIndexByte(e.Path, '/')+1:]) {
			entry.Class, origin = sandbox.ClassShell, sandbox.OriginApprovedShell
		}
		rights := sandbox.Read | sandbox.Execute
		if c.usable(e.Path, e.Filesystem, InEntries, i, "path") {
			c.spelled(e.Declared, e.Path, InEntries, i, "path")
			c.grant(sandbox.Root{Path: e.Path, File: true, Rights: rights, Origins: []sandbox.Origin{origin}, ID: e.ID}, InEntries, i, "path")
		}
		for _, in := range e.Interpreters {
			if c.usable(in.Path, in.Filesystem, InEntries, i, "path") {
				c.spelled(in.Found, in.Path, InEntries, i, "path")
				c.grant(sandbox.Root{Path: in.Path, File: true, Rights: rights, Origins: []sandbox.Origin{sandbox.OriginApprovedEntry}, ID: in.ID}, InEntries, i, "path")
			}
			entry.Interpreters = append(entry.Interpreters, in.Interpreter)
		}
		if r := e.RuntimeRoot; r != nil {
			entry.RuntimeRoot = r.Path
			c.directory(*r, rights, sandbox.OriginRuntimeRoot, InEntries, i, "runtime_root")
		}
		out = append(out, entry)
	}
	return out
}

// alias checks form and uniqueness without case (A-POL-04).
func (c *compiler) alias(i int, alias string) {
	if alias == "" || strings.ContainsFunc(alias, func(r rune) bool { return r == '/' || r == unicode.ReplacementChar || unicode.IsControl(r) }) {
		c.invalid(InEntries, i, "alias", "policy_alias", fault.Arg("value", alias))
		return
	}
	for _, other := range c.in.Entries[:i] {
		if strings.EqualFold(other.Alias, alias) {
			c.invalid(InEntries, i, "alias", "policy_alias_twice", fault.Arg("value", alias))
			return
		}
	}
}

// osRuntime adds what every program needs from the system; the broker changes nothing there (A-POL-01).
func (c *compiler) osRuntime() {
	for i, d := range c.in.OSRuntime {
		root := sandbox.Root{Path: d.Path, Rights: sandbox.Read | sandbox.Execute, Origins: []sandbox.Origin{sandbox.OriginOSRuntimeRoot}, ID: d.ID}
		c.grant(root, InOSRuntime, i, "")
	}
}

func (c *compiler) directory(d Directory, rights sandbox.Rights, origin sandbox.Origin, s Section, i int, field string) {
	if c.usable(d.Path, d.Filesystem, s, i, field) {
		c.spelled(d.Declared, d.Path, s, i, field)
		c.grant(sandbox.Root{Path: d.Path, Rights: rights, Origins: []sandbox.Origin{origin}, ID: d.ID}, s, i, field)
	}
}

func (c *compiler) grant(r sandbox.Root, s Section, index int, field string) {
	c.roots = append(c.roots, granted{Root: r, section: s, index: index, field: field})
}

// sorted returns the roots by path.
func (c *compiler) sorted() []sandbox.Root {
	var out []sandbox.Root
	for _, g := range c.roots {
		out = append(out, g.Root)
	}
	slices.SortFunc(out, func(a, b sandbox.Root) int { return cmp.Compare(a.Path, b.Path) })
	return out
}
