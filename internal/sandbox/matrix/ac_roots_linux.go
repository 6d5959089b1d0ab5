package matrix

import (
	"errors"
	"os"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox/policy"
)

var attackRootCases = []Case{
	{"AC-11", "moving a directory between nested roots of different rights", "no right is gained", in(development, func(w *world) {
		w.refused(
			probe{"read-only into the writable root inside it", at("rename", "R/d", "R/inner/d"), exists("R/inner/d/f"), false},
			probe{"out of the inner root into the read-only one", at("rename", "R/inner/sub", "R/sub"), exists("R/sub"), false},
			probe{"exchange", at("exchange", "R/inner/other", "R/empty"), exists("R/empty/f"), false},
			probe{"write beside the inner root", at("write", "R/f", "new"), is("R/f", "new"), false},
			probe{"rename the inner root away", at("rename", "R/inner", "R/away"), exists("R/away"), false},
		)
		w.succeeds(probe{"write in the inner root", at("write", "R/inner/sub/f", "new"), is("R/inner/sub/f", "new"), false})
	}, func(w *world, p *policy.SandboxPolicy) error {
		make := func(l *layout) error {
			return errors.Join(os.MkdirAll(l.R+"/inner/sub", 0o755), l.write(l.R+"/inner/sub/f", "old"), os.Mkdir(l.R+"/inner/other", 0o755), l.write(l.R+"/inner/other/f", "old"))
		}
		if err := errors.Join(make(w.real), make(w.twin)); err != nil {
			return err
		}
		inner, err := directory(w.real.R + "/inner")
		p.Workspaces = append(p.Workspaces, inner)
		return err
	})},
	{"AC-20", "a root that contains the configuration or the state", "refused when the policy is compiled", func(_ ctxt, env Env, r *Report) {
		dir, err := os.MkdirTemp(env.Dir, "case-")
		if err != nil {
			r.Block("fixture", "%v", err)
			return
		}
		defer os.RemoveAll(dir)
		if err := os.MkdirAll(dir+"/w/.agent", 0o755); err != nil {
			r.Block("fixture", "%v", err)
			return
		}
		w, err := directory(dir + "/w")
		if err != nil {
			r.Block("fixture", "%v", err)
			return
		}
		p := policy.SandboxPolicy{Profile: development, Workspaces: []policy.Directory{w}, Resources: policy.Resources{Profile: "normal", Cgroup: env.Cgroup}}
		p.Network.Access = "none"
		if _, err := policy.Compile(p); err != nil {
			r.Block("the control", "without anything to protect: %v", err)
		}
		for _, c := range []policy.Protected{
			{Kind: "configuration", Path: dir + "/w/.agent/agent.yaml"},
			{Kind: "state_root", Path: dir + "/w/state", Directory: true},
			{Kind: "state_root", Path: dir, Directory: true},
		} {
			p.Protected = []policy.Protected{c}
			_, err := policy.Compile(p)
			r.Check(c.Kind+" "+c.Path, err != nil, "it was compiled")
		}
	}},
	{"AC-24", "a root swapped for a link, or replaced, between check and mount", "refused", func(ctx ctxt, env Env, r *Report) {
		for name, swap := range map[string]func(l *layout) error{
			"a link": func(l *layout) error {
				return errors.Join(os.Rename(l.R, l.R+"-kept"), os.Symlink(l.dir+"/outside", l.R))
			},
			"another directory": func(l *layout) error {
				return errors.Join(os.Rename(l.R, l.R+"-kept"), os.Rename(l.dir+"/outside", l.R))
			},
		} {
			apart(development, func(w *world) {
				w.both(swap)
				// The control: whoever trusts the path reads the secret.
				if !contains(reads(w.twin.R+"/secret"), w.twin.Secret) {
					w.Block(name, "the path does not lead to the secret")
				}
				err := w.open()
				w.Check(name, fault.CodeOf(err) == fault.SandboxResolutionChanged, "opening gave %v", err)
				if err == nil {
					o := w.inside(w.real.Payload, "read", w.real.R+"/secret")
					w.Check(name, !knows(w.real, o), "%v", o)
				}
				_, err = w.env.Roots(w.policy.Roots)
				w.Check(name+": file tools", err != nil, "they opened it")
			})(ctx, env, r)
		}
	}},
}
