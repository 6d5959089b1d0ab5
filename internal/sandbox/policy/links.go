package policy

import (
	"cmp"
	"slices"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// systemNames are the root directory's own names for what lies in the os_runtime_root: directories of it, or links into it
// that every sandbox has.
var systemNames = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// declaredLink remembers the declaration behind a link.
type declaredLink struct {
	sandbox.Link
	section Section
	index   int
	field   string
}

// spelled notes a declared path that is not the resolved one.
func (c *compiler) spelled(declared, resolved string, s Section, index int, field string) {
	switch {
	case declared == "" || declared == resolved:
	case !clean(declared):
		c.invalid(s, index, field, "policy_system_path", fault.Target(declared))
	default:
		c.declared = append(c.declared, declaredLink{sandbox.Link{Path: declared, Target: resolved}, s, index, field})
	}
}

// links makes every declared spelling usable in the sandbox (A-POL-02). One that leads there anyway needs no link; one whose
// place the sandbox needs for something else is refused.
func (c *compiler) links() []sandbox.Link {
	slices.SortStableFunc(c.declared, func(a, b declaredLink) int { return cmp.Compare(a.Path, b.Path) })
	var out []sandbox.Link
	for _, d := range c.declared {
		if c.reached(d.Link, out) {
			continue
		}
		if taken := c.taken(d.Link, out); taken != "" {
			c.invalid(d.section, d.index, d.field, "policy_link", fault.Target(d.Path), fault.Arg("resolved", d.Target), fault.Arg("taken", taken))
			continue
		}
		out = append(out, d.Link)
	}
	return out
}

// reached tells whether l's path needs no link of its own: it lies in a root, whose content is what processes see there, or
// in the system's, or a link that is kept already leads to it.
func (c *compiler) reached(l sandbox.Link, kept []sandbox.Link) bool {
	return slices.ContainsFunc(c.roots, func(g granted) bool { return !g.File && Within(g.Path, l.Path) }) ||
		slices.ContainsFunc(systemNames, func(name string) bool { return Within(name, l.Path) }) ||
		slices.ContainsFunc(kept, func(k sandbox.Link) bool { return k == l || k.Path != l.Path && Within(k.Path, l.Path) })
}

// taken names what needs the place of l, or is "".
func (c *compiler) taken(l sandbox.Link, kept []sandbox.Link) string {
	for _, p := range provided {
		if Within(p.path, l.Path) || Within(l.Path, p.path) {
			return p.path
		}
	}
	for _, g := range c.roots {
		if Within(l.Path, g.Path) || g.File && Within(g.Path, l.Path) {
			return g.Path
		}
	}
	for _, k := range kept {
		if k.Path == l.Path {
			return k.Target
		}
	}
	return ""
}
