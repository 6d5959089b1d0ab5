package matrix

import (
	"errors"
	"os"
	"path/filepath"

	"sekisho/internal/sandbox/policy"
)

var protectedCases = []Case{
	{"ST-26", "read-only, ACL-bearing, immutable and foreign-owned roots: read, write, execute", "only permitted cases succeed; modes, ACLs, flags and xattrs are equal afterwards", func(ctx ctxt, env Env, r *Report) {
		if env.Given == "" {
			r.Block("fixtures", "only root can make them, and gave none to this run")
			return
		}
		for _, kind := range protections {
			guarded(ctx, env, r, kind)
		}
	}},
}

// guarded runs one kind as a mount with every right that a mount can have.
func guarded(ctx ctxt, env Env, r *Report, kind string) {
	root := filepath.Join(env.Given, kind)
	before, err := protection(root)
	if err != nil {
		r.Block(kind, "%v", err)
		return
	}
	in(development, func(w *world) {
		// The twin has the same files without the protection: there every attempt works.
		bare := w.twin.dir + "/bare"
		if err := errors.Join(os.Mkdir(bare, 0o755), w.twin.write(bare+"/f", "old"), w.twin.write(bare+"/g", "old")); err != nil {
			w.Block(kind, "%v", err)
			return
		}
		place := func(l *layout) string {
			if l == w.twin {
				return bare
			}
			return root
		}
		do := func(action, name string, rest ...string) func(l *layout) []string {
			return func(l *layout) []string { return append([]string{action, place(l) + "/" + name}, rest...) }
		}
		has := func(name, text string) func(l *layout, _ output) bool {
			return func(l *layout, _ output) bool { return reads(place(l)+"/"+name) == text }
		}
		made := func(name string) func(l *layout, _ output) bool {
			return func(l *layout, _ output) bool { return there(place(l) + "/" + name) }
		}
		lost := func(name string) func(l *layout, _ output) bool {
			return func(l *layout, _ output) bool { return !there(place(l) + "/" + name) }
		}
		w.succeeds(probe{kind + ": read", do("read", "f"), func(_ *layout, o output) bool { return o.Detail == "old" }, false})
		write := probe{kind + ": write", do("append", "f", "er"), has("f", "older"), false}
		unlink := probe{kind + ": unlink", do("unlink", "f"), lost("f"), false}
		create := probe{kind + ": create", do("create", "new", "x"), made("new"), false}
		switch kind {
		case "readonly":
			w.refused(write, create, unlink)
		case "acl":
			w.succeeds(write) // its owner may
		case "immutable":
			w.refused(write, unlink)
		case "foreign":
			guest := probe{kind + ": write a third user's file", do("append", "g", "er"), has("g", "older"), false}
			w.refused(guest)
			if os.Geteuid() == 0 {
				w.succeeds(write) // root grants the owner's rights, and the file stays the owner's
			} else {
				w.refused(write, create, unlink)
			}
		}
		w.Check(kind+": execute", !w.inside(w.real.Payload, "exec", root+"/f").OK, "it ran")
		w.shut()
		after, err := protection(root)
		w.Check(kind+": protection", err == nil && after == before, "%v\nbefore:\n%safter:\n%s", err, before, after)
	}, func(_ *world, p *policy.SandboxPolicy) error {
		d, err := directory(root)
		p.Mounts = append(p.Mounts, policy.Mount{Directory: d, Access: policy.AccessReadWriteDelete})
		return err
	})(ctx, env, r)
}
