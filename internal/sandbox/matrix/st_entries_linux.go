package matrix

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/resolve"
)

var entryCases = []Case{
	{"ST-04", "development Workspace Artifact as entry", "starts without approval (ELF file, script)", in(development, func(w *world) {
		w.both(func(l *layout) error { return copyFile(l.Payload, l.W+"/artifact") })
		o, class := w.judgedStart(w.real.W+"/artifact", "create", w.real.W+"/marker", "x")
		w.Check("the artifact", class == policy.WorkspaceArtifact && reads(w.real.W+"/marker") == "x", "class %q, %v", class, o)
		w.scriptArtifacts()
	})},
	{"ST-07", "approved executable, equal hash", "starts", in(readonly, func(w *world) {
		e := policy.Alias(&w.policy, "payload")
		if e == nil {
			w.Fail("the approval", "no entry")
			return
		}
		id, err := resolve.VerifyEntry(w.ctx, *e)
		if err != nil {
			w.Fail("the approval", "%v", err)
			return
		}
		o := w.start(sandbox.Command{Path: e.Path, ID: id, SHA256: e.SHA256, Args: []string{"read", w.real.W + "/f"}, Dir: w.real.W})
		w.Check("the start", o.OK && o.Detail == "old", "%v", o)
	})},
	{"ST-08", "executable changed, other hash", "refused", in(development, changedEntry)},
	{"ST-09", "shell class, by resolved name", "only approved shells start as shells; another name is no shell", in(development, shellClass, func(w *world, p *policy.SandboxPolicy) error {
		link := w.real.Tools + "/tool"
		if err := os.Symlink("/bin/sh", link); err != nil {
			return err
		}
		plain := w.real.Tools + "/interpreter"
		if err := copyFile("/bin/sh", plain); err != nil {
			return err
		}
		for alias, path := range map[string]string{"by-link": link, "by-copy": plain} {
			e, err := entry(alias, path)
			if err != nil {
				return err
			}
			p.Entries = append(p.Entries, e)
		}
		return nil
	})},
	{"ST-20", "unapproved program of the system as entry", "refused", in(development, func(w *world) {
		touch, err := filepath.EvalSymlinks("/usr/bin/touch")
		if err != nil {
			w.Block("touch", "%v", err)
			return
		}
		if control := w.outside(touch, w.twin.W+"/marker"); !there(w.twin.W + "/marker") {
			w.Block("the control", "%v", control)
		}
		o, _ := w.judgedStart(touch, w.real.W+"/marker")
		w.Check("the start", fault.CodeOf(o.fault) == fault.ExecutableApprovalMissing && !there(w.real.W+"/marker"), "%v", o)
	})},
	{"ST-25", "entry × descendant: {bash, python, node, Go binary} × {sh, python, coreutils, Workspace Artifact}", "runs without own approval, stays confined", in(development, entriesTimesDescendants)},
}

// judgedStart starts a program named by its path as process_run does: policy first, then the backend.
func (w *world) judgedStart(path string, args ...string) (output, policy.ProcessClass) {
	d := policy.Decide(&w.policy, policy.Request{Kind: policy.Process, Path: path})
	if !d.Allow {
		return output{fault: d.Fault(path)}, ""
	}
	return w.inside(path, args...), d.Class
}

func changedEntry(w *world) {
	w.both(func(l *layout) error { return copyFile(l.Payload, l.W+"/program") })
	path, marker := w.real.W+"/program", w.real.W+"/marker"
	e, err := entry("program", path)
	if err != nil {
		w.Block("the approval", "%v", err)
		return
	}
	approved := sandbox.Entry{Alias: "program", Class: sandbox.ClassEntry, Path: e.Path, SHA256: e.SHA256}
	command := sandbox.Command{Path: e.Path, ID: e.ID, SHA256: e.SHA256, Args: []string{"create", marker, "x"}, Dir: w.real.W}
	if o := w.start(command); reads(marker) != "x" {
		w.Block("unchanged", "it did not run: %v", o)
	}
	os.Remove(marker)
	for _, c := range []struct {
		name   string
		change func(path string) error
	}{
		{"content edited in place", func(p string) error { return extend(p, os.O_APPEND|os.O_WRONLY) }},
		{"another file moved over it", func(p string) error {
			return errors.Join(copyFile(w.env.Payload, p+".new"), extend(p+".new", os.O_APPEND|os.O_WRONLY), os.Rename(p+".new", p))
		}},
	} {
		w.both(func(l *layout) error { return c.change(l.W + "/program") })
		if control := w.outside(w.twin.W+"/program", "write", w.twin.W+"/marker", "x"); reads(w.twin.W+"/marker") != "x" {
			w.Block(c.name, "the changed program does not run: %v", control)
		}
		_, err := resolve.VerifyEntry(w.ctx, approved)
		w.Check(c.name+": the check before the start", fault.CodeOf(err) == fault.ExecutableHashChanged, "got %v", err)
		o := w.start(command)
		w.Check(c.name+": the exec stop", o.fault != nil && !there(marker), "%v", o)
	}
}

func extend(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\x00")
	return errors.Join(err, f.Close())
}

func shellClass(w *world) {
	for alias, want := range map[string]sandbox.Class{"by-link": sandbox.ClassShell, "by-copy": sandbox.ClassEntry, "sh": sandbox.ClassShell, "payload": sandbox.ClassEntry} {
		e := policy.Alias(&w.policy, alias)
		w.Check("class of "+alias, e != nil && e.Class == want, "got %+v", e)
	}
	// A shell under a shell's name in the workspace is no artifact that starts; the same bytes under another name are.
	for _, name := range []string{"bash", "sh", "zsh"} {
		w.both(func(l *layout) error { return copyFile("/bin/sh", l.W+"/"+name) })
		script := func(l *layout) []string { return []string{"-c", "echo x >" + l.W + "/by-" + name} }
		if control := w.outside(w.twin.W+"/"+name, script(w.twin)...); !there(w.twin.W + "/by-" + name) {
			w.Block(name, "the control: %v", control)
		}
		o, _ := w.judgedStart(w.real.W+"/"+name, script(w.real)...)
		w.Check(name, fault.CodeOf(o.fault) == fault.ExecutableShellUnsupported && !there(w.real.W+"/by-"+name), "%v", o)
	}
	if err := copyFile("/bin/sh", w.real.W+"/other"); err != nil {
		w.Block("other", "%v", err)
	}
	o, class := w.judgedStart(w.real.W+"/other", "-c", "echo x >"+w.real.W+"/by-other")
	w.Check("the same bytes under another name", class == policy.WorkspaceArtifact && there(w.real.W+"/by-other"), "class %q: %v", class, o)
}

// descendant is a program that leaves a mark in W (what) and then tries to carry the secret there (leak).
type descendant struct {
	name       string
	mark, leak func(l *layout) []string
}

func entriesTimesDescendants(w *world) {
	python, perr := filepath.EvalSymlinks("/usr/bin/python3")
	node, nerr := filepath.EvalSymlinks("/usr/bin/node")
	bash, berr := filepath.EvalSymlinks("/usr/bin/bash")
	if err := errors.Join(perr, nerr, berr); err != nil {
		w.Block("programs", "%v", err)
		return
	}
	w.both(func(l *layout) error { return copyFile(l.Payload, l.W+"/artifact") })
	entries := map[string]struct {
		path string
		args []string // before the descendant's own
	}{
		"bash":      {bash, []string{"-c", `"$@"`, "bash"}},
		"python":    {python, []string{"-c", "import subprocess,sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"}},
		"node":      {node, []string{"-e", `const r=require("child_process").spawnSync(process.argv[1],process.argv.slice(2),{stdio:"inherit"});process.exit(r.status)`}},
		"Go binary": {"", []string{"exec"}}, // the payload
	}
	descendants := []descendant{
		{"sh", func(l *layout) []string { return []string{"/bin/sh", "-c", "echo ok >" + l.W + "/mark"} },
			func(l *layout) []string {
				return []string{"/bin/sh", "-c", "read x <" + l.S + "; echo $x >" + l.W + "/leak"}
			}},
		{"python", func(l *layout) []string { return []string{python, "-c", "open('" + l.W + "/mark','w').write('ok')"} },
			func(l *layout) []string {
				return []string{python, "-c", "open('" + l.W + "/leak','w').write(open('" + l.S + "').read())"}
			}},
		{"coreutils", func(l *layout) []string { return []string{"/usr/bin/cp", l.R + "/f", l.W + "/mark"} },
			func(l *layout) []string { return []string{"/usr/bin/cp", l.S, l.W + "/leak"} }},
		{"Workspace Artifact", func(l *layout) []string { return []string{l.W + "/artifact", "copy", l.R + "/f", l.W + "/mark"} },
			func(l *layout) []string { return []string{l.W + "/artifact", "copy", l.S, l.W + "/leak"} }},
	}
	for _, name := range []string{"bash", "python", "node", "Go binary"} {
		e := entries[name]
		for _, d := range descendants {
			pair := fmt.Sprintf("%s × %s", name, d.name)
			run := func(l *layout, do func(string, ...string) output, args []string) output {
				path := e.path
				if path == "" {
					path = l.Payload
				}
				return do(path, append(append([]string(nil), e.args...), args...)...)
			}
			w.both(func(l *layout) error { os.Remove(l.W + "/mark"); os.Remove(l.W + "/leak"); return nil })
			control := run(w.twin, w.outside, d.leak(w.twin))
			if !contains(reads(w.twin.W+"/leak"), w.twin.Secret) {
				w.Block(pair, "the control: %v", control)
			}
			o := run(w.real, w.inside, d.mark(w.real))
			w.Check(pair+" runs", there(w.real.W+"/mark"), "%v", o)
			o = run(w.real, w.inside, d.leak(w.real))
			w.Check(pair+" is confined", strings.TrimSpace(reads(w.real.W+"/leak")) == "", "it carried the secret out: %v", o)
		}
	}
}
