//go:build linux

package linux

import (
	"slices"
	"strings"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/filter"
	"sekisho/internal/sandbox/linux/wire"
)

// baseline takes away what no grant of the policy's baseline names: nothing is visible besides the roots that show and audit
// do not tell (A-SBX-07). A policy without a baseline, which only preflight and tests have, keeps everything. What PID 1 needs
// itself (its /proc, the two private directories) stays mounted, and nobody inside may use it. It is called before the roots
// are added.
func (v *view) baseline(grants []sandbox.BaselineGrant) {
	if len(grants) == 0 {
		return
	}
	named := map[string]bool{"/": true, "/etc": true}
	for _, g := range grants {
		for _, path := range strings.Fields(g.Identifier) {
			if path == "HOME" {
				path = v.home
			}
			named[path] = true
		}
	}
	for _, also := range [][2]string{{"/lib64", "/lib32"}, {"/lib64", "/libx32"}} {
		named[also[1]] = named[also[0]]
	}
	needed := []string{"/proc", tempDir, v.home}
	var binds []wire.Bind
	var mapped []bool
	for i, b := range v.layout.Binds {
		if named[b.Target] || slices.Contains(needed, b.Target) {
			binds, mapped = append(binds, b), append(mapped, v.mapped[i])
		}
	}
	v.layout.Binds, v.mapped = binds, mapped
	v.layout.Files = slices.DeleteFunc(v.layout.Files, func(f wire.File) bool { return !named[f.Path] })
	v.layout.Links = slices.DeleteFunc(v.layout.Links, func(l wire.Link) bool { return !named[l.Path] })
	v.rules = slices.DeleteFunc(v.rules, func(r filter.PathRule) bool { return !named[r.Path] })
}
