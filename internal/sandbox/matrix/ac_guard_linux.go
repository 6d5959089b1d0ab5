package matrix

import (
	"errors"
	"os"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/guard"
	"sekisho/internal/sandbox/policy"
)

// repository makes what a person's workspace holds that tools run later.
func repository(w *world, _ *policy.SandboxPolicy) error {
	make := func(l *layout) error {
		return errors.Join(os.MkdirAll(l.W+"/.git/hooks", 0o755), l.write(l.W+"/.git/config", "old"), os.Mkdir(l.W+"/.vscode", 0o755),
			l.write(l.W+"/.vscode/tasks.json", "old"), os.MkdirAll(l.W+"/sub", 0o755), l.write(l.W+"/sub/CLAUDE.md", "old"))
	}
	return errors.Join(make(w.real), make(w.twin))
}

// scripted is a probe that runs a script in the layout's workspace.
func scripted(name, script string, effect func(l *layout, o output) bool) probe {
	return probe{name, func(l *layout) []string { return []string{"exec", "/bin/sh", "-c", "cd " + l.W + "; " + script} }, effect, false}
}

var attackGuardCases = []Case{
	{"AC-8", "a hard link that leads out of a writable root", "the task is refused naming the file; a directory of such files is read-only", func(ctx ctxt, env Env, r *Report) {
		apart(development, func(w *world) {
			w.both(func(l *layout) error { return os.Link(l.S, l.W+"/h") })
			w.outside(w.twin.Payload, "write", w.twin.W+"/h", "new")
			if reads(w.twin.S) != "new" {
				w.Block("one file", "the control did not change the file outside")
			}
			err := w.open()
			e := fault.As(err)
			w.Check("one file", e != nil && e.Variant == "hard_link" && e.Target == w.real.W+"/h" && reads(w.real.S) == w.real.Secret, "opening gave %v", err)
		})(ctx, env, r)
		in(development, func(w *world) {
			script := "echo new >pkg/h; chmod 777 pkg/h; mv pkg/h x; rm -rf pkg"
			w.refused(scripted("a directory of them", script, func(l *layout, _ output) bool { return reads(l.S) != l.Secret || !there(l.W+"/pkg/h") }))
		}, func(w *world, _ *policy.SandboxPolicy) error {
			make := func(l *layout) error { return errors.Join(os.Mkdir(l.W+"/pkg", 0o755), os.Link(l.S, l.W+"/pkg/h")) }
			return errors.Join(make(w.real), make(w.twin))
		})(ctx, env, r)
	}},
	{"AC-21", "files that the host's tools run later", "existing ones cannot be changed; new ones are moved to the quarantine", in(development, func(w *world) {
		w.refused(
			scripted("a hook", "echo x >.git/hooks/post-checkout", exists("W/.git/hooks/post-checkout")),
			scripted("git's configuration", "echo x >>.git/config; rm -f .git/config", func(l *layout, _ output) bool { return reads(l.W+"/.git/config") != "old" }),
			scripted("an editor's tasks", "echo x >.vscode/tasks.json; echo x >n; mv n .vscode/tasks.json", func(l *layout, _ output) bool { return reads(l.W+"/.vscode/tasks.json") != "old" }),
			scripted("an agent's instructions", "rm -f sub/CLAUDE.md; echo x >sub/CLAUDE.md", func(l *layout, _ output) bool { return reads(l.W+"/sub/CLAUDE.md") != "old" }),
		)
		plant := scripted("", "mkdir -p new/.git/hooks .husky; echo x >new/.git/hooks/pre-push; echo x >.husky/pre-commit; chmod 0 new", nil)
		w.outside(w.twin.Payload, plant.args(w.twin)...)
		os.Chmod(w.twin.W+"/new", 0o700)
		w.inside(w.real.Payload, plant.args(w.real)...)
		w.shut()
		left, err := w.sweep()
		os.Chmod(w.real.W+"/new", 0o700)
		for _, path := range []string{"/new/.git/hooks", "/.husky"} {
			if !there(w.twin.W + path) {
				w.Block("new: "+path, "the control made nothing")
			}
			w.Check("new: "+path, err == nil && !there(w.real.W+path), "it is still there: %v, %v", left, err)
		}
		w.Check("in quarantine", len(left) == 2, "moved %v", left)
	}, repository)},
	{"AC-57", "renaming the directory above a protected one", "EBUSY", in(development, func(w *world) {
		w.refused(
			scripted("the repository", "mv .git .g2; mkdir -p .git/hooks; echo x >.git/hooks/post-commit", exists("W/.git/hooks/post-commit")),
			scripted("a directory of the workspace", "mv sub s2; mkdir sub; echo x >sub/CLAUDE.md", func(l *layout, _ output) bool { return reads(l.W+"/sub/CLAUDE.md") != "old" }),
		)
		w.succeeds(scripted("work beside it", "echo new >sub/f; mkdir sub/d; echo x >.git/index; mv .git/index .git/index2", is("W/sub/f", "new\n")))
	}, repository)},
}

// survey guards the roots as the broker does.
func (w *world) survey() error {
	found, err := guard.Survey(w.ctx, &w.policy)
	if err != nil {
		return err
	}
	w.watch, w.policy.Task.Guards = found.Watch(&w.policy), found.Guards
	return found.Close()
}

// sweep moves what the task left, when its tree is dead.
func (w *world) sweep() ([]sandbox.Quarantined, error) {
	dir := w.real.dir + "/quarantine"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	state, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer state.Close()
	q := guard.NewQuarantine(fileop.OS(), state, "task")
	left, _, err := guard.Sweep(w.ctx, fileop.OS(), w.watch, q)
	return left, errors.Join(err, q.Close())
}
