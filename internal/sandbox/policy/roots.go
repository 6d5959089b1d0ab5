package policy

import (
	"slices"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// confinable are the file systems on which the kernel's own permission rules hold (A-POL-02, A-POL-14). Any other one is
// refused by name: of a network or user-space file system nobody here knows what a link, a lock or an inode means.
var confinable = []string{"ext2/3/4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "tmpfs", "overlay"}

// provided are the directories that the sandbox makes itself: no root is one of them or contains one, and of the marked
// ones nothing inside is a root either.
var provided = []struct {
	path   string
	inside bool
}{{"/dev", true}, {"/proc", true}, {"/sys", true}, {"/tmp", false}, {"/etc", false}}

// usable judges where a declared object lies.
func (c *compiler) usable(name, filesystem string, s Section, i int, field string) bool {
	if !clean(name) {
		c.invalid(s, i, field, "policy_system_path", fault.Target(name))
		return false
	}
	for _, p := range provided {
		if Within(name, p.path) || p.inside && Within(p.path, name) {
			c.invalid(s, i, field, "policy_system_path", fault.Target(name))
			return false
		}
	}
	if !slices.Contains(confinable, filesystem) {
		c.invalid(s, i, field, "policy_filesystem", fault.Target(name), fault.Arg("filesystem", filesystem))
		return false
	}
	return true
}

// exposed refuses a workspace or mount that shows a protected path, also under another path of the same object (A-POL-09).
func (c *compiler) exposed(d Directory, s Section, i int, field string) {
	for _, p := range c.in.Protected {
		if Within(d.Path, p.Path) || p.Directory && Within(p.Path, d.Path) || slices.Contains(p.Above, d.ID) {
			c.invalid(s, i, field, "policy_protected", fault.Target(d.Path), fault.Arg("protected", p.Path), fault.Arg("kind", p.Kind))
			return
		}
	}
}

// unite makes one root of those with the same path: rights and origins add up (A-POL-03).
func (c *compiler) unite() {
	var out []granted
	for _, g := range c.roots {
		at := slices.IndexFunc(out, func(o granted) bool { return o.Path == g.Path && o.File == g.File })
		if at < 0 {
			g.Origins = slices.Clone(g.Origins)
			out = append(out, g)
			continue
		}
		out[at].Rights |= g.Rights
		for _, o := range g.Origins {
			if !slices.Contains(out[at].Origins, o) {
				out[at].Origins = append(out[at].Origins, o)
			}
		}
	}
	c.roots = out
}

// inherit gives entries and runtime roots inside a development workspace the workspace's rights (A-POL-03). What else
// guards them (alias, resolved path, SHA-256) stays in force.
func (c *compiler) inherit() {
	if c.in.Profile != ProfileDevelopment {
		return
	}
	for i := range c.roots {
		r := &c.roots[i]
		if slices.Contains(r.Origins, sandbox.OriginMount) || slices.Contains(r.Origins, sandbox.OriginWorkspace) {
			continue
		}
		for _, w := range c.roots {
			if slices.Contains(w.Origins, sandbox.OriginWorkspace) && Within(w.Path, r.Path) {
				r.Rights |= w.Rights
			}
		}
	}
}

// nested refuses a root that grants less than a directory around it: the confinement of the parent reaches into it
// (A-POL-03). One problem per declaration.
func (c *compiler) nested() {
	for _, r := range c.roots {
		for _, p := range c.roots {
			if p.File || p.Path == r.Path || !Within(p.Path, r.Path) || r.Rights.Has(p.Rights) {
				continue
			}
			c.invalid(r.section, r.index, r.field, "policy_nested", fault.Target(r.Path), fault.Arg("rights", r.Rights),
				fault.Arg("parent", p.Path), fault.Arg("parent_rights", p.Rights))
			break
		}
	}
}
