package matrix

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/resolve"
)

// racing is how long each way of swapping a script is tried.
const racing = 2 * time.Second

var scriptCases = []Case{
	{"AC-58", "approved script swapped between approval, exec stop and the interpreter's read", "what a run that is done has run is what was hashed", in(development, swappedScript, approvedScript)},
}

// scriptArtifacts is the script's part of ST-04: one whose interpreter lies in an executable root starts, one whose
// interpreter lies in a root that grants no execution does not.
func (w *world) scriptArtifacts() {
	const body = "echo x >by-\"${0##*/}\"\n"
	w.both(func(l *layout) error {
		return errors.Join(os.WriteFile(l.W+"/script", []byte("#!/usr/bin/env sh\n"+body), 0o755),
			copyFile("/bin/sh", l.R+"/interpreter"), os.WriteFile(l.W+"/unrunnable", []byte("#!"+l.R+"/interpreter\n"+body), 0o755))
	})
	o, class := w.judgedStart(w.real.W + "/script")
	w.Check("a script", class == policy.WorkspaceArtifact && there(w.real.W+"/by-script"), "class %q, %v", class, o)
	if control := w.outside(w.twin.W + "/unrunnable"); !there(w.twin.W + "/by-unrunnable") {
		w.Block("the control", "%v", control)
	}
	o, _ = w.judgedStart(w.real.W + "/unrunnable")
	w.Check("a script of an interpreter that may not run", o.fault != nil && !there(w.real.W+"/by-unrunnable"), "%v", o)
	d := policy.Decide(&w.policy, policy.Request{Kind: policy.Filesystem, Path: w.real.R + "/interpreter", Want: sandbox.Read | sandbox.Execute})
	w.Check("the decision on that interpreter", !d.Allow, "it was allowed")
}

const (
	goodScript = "#!/bin/sh\necho good >good\n"
	evilScript = "#!/bin/sh\necho evil >evil\n"
)

// approvedScript declares W/bin/tool as an entry.
func approvedScript(w *world, p *policy.SandboxPolicy) error {
	for _, l := range []*layout{w.real, w.twin} {
		if err := errors.Join(os.Mkdir(l.W+"/bin", 0o755), os.WriteFile(l.W+"/bin/tool", []byte(goodScript), 0o755)); err != nil {
			return err
		}
	}
	e, err := entry("tool", w.real.W+"/bin/tool")
	p.Entries = append(p.Entries, e)
	return err
}

func swappedScript(w *world) {
	e := policy.Alias(&w.policy, "tool")
	if e == nil || len(e.Interpreters) != 1 {
		w.Fail("the approval", "%+v", e)
		return
	}
	id, err := resolve.VerifyEntry(w.ctx, *e)
	if err != nil {
		w.Block("the approval", "%v", err)
		return
	}
	native, args := sandbox.Launch(e.Path, e.Interpreters)
	command := sandbox.Command{Path: native.Path, ID: id, SHA256: native.SHA256, Argv0: native.Name, Args: args, Dir: w.real.W, Scripts: []string{e.Path}}
	if o := w.start(command); !there(w.real.W + "/good") {
		w.Block("unchanged", "it did not run: %v", o)
	}
	in := func(l *layout, text string) error { return os.WriteFile(l.W+"/bin/tool", []byte(text), 0o755) }
	over := func(l *layout, text string) error {
		path := l.W + "/bin/tool"
		return errors.Join(os.WriteFile(path+".new", []byte(text), 0o755), os.Rename(path+".new", path))
	}
	for name, swap := range map[string]func(*layout, string) error{"written in place": in, "another file renamed over it": over} {
		// The control: unconfined and unapproved, what is there when it starts is what runs.
		w.both(func(l *layout) error { return swap(l, evilScript) })
		if control := w.outside(w.twin.W + "/bin/tool"); !there(w.twin.W + "/evil") {
			w.Block(name, "the control: %v", control)
		}
		os.Remove(w.twin.W + "/evil")
		_, err := resolve.VerifyEntry(w.ctx, *e)
		w.Check(name+": the check before the start", fault.CodeOf(err) == fault.ExecutableHashChanged, "got %v", err)
		done, ran := w.swapping(func(n int) error { return swap(w.real, []string{goodScript, evilScript}[n%2]) }, command)
		w.Check(name+": all the time", ran == "", "%s", ran)
		if name == "written in place" {
			w.Check(name+": it goes on", done > 0, "no run was done")
		}
		w.both(func(l *layout) error { return over(l, goodScript) })
		os.Remove(w.real.W + "/good")
		if o := w.start(command); !there(w.real.W+"/good") || o.fault != nil {
			w.Fail(name+": restored", "%v", o)
		}
	}
	for _, name := range []string{"good", "evil"} {
		os.Remove(filepath.Join(w.real.W, name))
	}
}

// swapping starts a command again and again while swap works. ran describes a run that was done and had run the other bytes.
func (w *world) swapping(swap func(n int) error, command sandbox.Command) (done int, ran string) {
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				ended <- nil
				return
			default:
				if err := swap(n); err != nil {
					ended <- err
					return
				}
			}
		}
	}()
	for end := time.Now().Add(racing); time.Now().Before(end) && ran == ""; {
		os.Remove(w.real.W + "/evil")
		o := w.start(command)
		if o.fault != nil {
			continue
		}
		done++
		if there(w.real.W + "/evil") {
			ran = "other bytes ran: " + o.String()
		}
	}
	close(stop)
	if err := <-ended; err != nil {
		w.Block("the swapping", "%v", err)
	}
	os.Remove(w.real.W + "/evil")
	return done, ran
}
