//go:build linux && !cgo

package linux_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/resolve"
)

// approve makes the script at path an approved entry, as apply does, and returns how it starts.
func (f *fixture) approve(path string) func(args ...string) sandbox.Command {
	f.t.Helper()
	exe, err := resolve.Executable(path)
	must(f.t, err)
	e := sandbox.Entry{Alias: filepath.Base(path), Class: sandbox.ClassEntry, Path: exe.Path, SHA256: exe.SHA256}
	f.grant(exe.Path, sandbox.Read|sandbox.Execute, sandbox.OriginApprovedEntry)
	var scripts []string
	for i, in := range exe.Interpreters {
		e.Interpreters = append(e.Interpreters, in.Interpreter)
		if !strings.HasPrefix(in.Path, "/usr/") && in.Path != exe.Path {
			f.grant(in.Path, sandbox.Read|sandbox.Execute, sandbox.OriginApprovedEntry)
		}
		scripts = append(scripts, exe.Path)
		if i > 0 {
			scripts[i] = exe.Interpreters[i-1].Path
		}
	}
	f.policy.Entries = append(f.policy.Entries, e)
	last := exe.Interpreters[len(exe.Interpreters)-1]
	return func(args ...string) sandbox.Command {
		native, before := sandbox.Launch(e.Path, e.Interpreters)
		return sandbox.Command{Path: native.Path, ID: last.ID, SHA256: native.SHA256, Argv0: native.Name, Args: append(before, args...), Dir: f.W, Scripts: scripts}
	}
}

func script(t *testing.T, path, text string) string {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o755))
	return path
}

// The task sees, at the script's own path and among its neighbours, the approved bytes, whatever the host's file becomes.
//
// proves A-POL-11
func TestAnApprovedScriptIsAPrivateCopy(t *testing.T) {
	f := declare(t)
	tools := f.dir + "/tools"
	must(t, os.MkdirAll(tools+"/lib", 0o755))
	must(t, os.WriteFile(tools+"/lib/neighbour", []byte("neighbour"), 0o644))
	f.grant(tools, sandbox.Read|sandbox.Execute, sandbox.OriginRuntimeRoot)
	const text = "#!/bin/sh -e\ncat \"${0%/*}/lib/neighbour\"; echo \" $0 $#\"\n"
	inRoot := f.approve(script(t, tools+"/tool", text))
	must(t, os.Mkdir(f.dir+"/alone", 0o755))
	alone := f.approve(script(t, f.dir+"/alone/tool", "#!/bin/sh\necho alone \"$@\"\n"))
	inW := f.approve(script(t, f.W+"/tool", "#!/usr/bin/env -S sh -e\necho from W\n"))
	through := f.approve(script(t, f.dir+"/alone/through", "#!"+f.dir+"/alone/tool -x\n"))
	f.open()
	if out := f.run(inRoot("a", "b c")).ok(t); out != "neighbour "+tools+"/tool 2\n" {
		t.Errorf("in a root: %q", out)
	}
	if out := f.run(alone("1", "")).ok(t); out != "alone 1 \n" {
		t.Errorf("alone: %q", out)
	}
	if out := f.run(through("2")).ok(t); out != "alone -x "+f.dir+"/alone/through 2\n" {
		t.Errorf("through another script: %q", out)
	}
	if out := f.sh("ls " + f.dir + "/alone").ok(t); out != "through\ntool\n" {
		t.Errorf("beside the entry: %q", out)
	}
	// The host's file changes in place: what runs, and what a descendant starts or reads, is the copy.
	for _, path := range []string{tools + "/tool", f.dir + "/alone/tool", f.W + "/tool"} {
		must(t, os.WriteFile(path, []byte("#!/bin/sh\necho evil\n"), 0o755))
		if out := f.control("exec " + path).ok(t); out != "evil\n" {
			t.Fatalf("control: %q", out)
		}
	}
	if out := f.run(inRoot()).ok(t); out != "neighbour "+tools+"/tool 0\n" {
		t.Errorf("in a root, changed: %q", out)
	}
	if out := f.run(inW()).ok(t); out != "from W\n" {
		t.Errorf("in the workspace, changed: %q", out)
	}
	if out := f.sh("cat " + tools + "/tool; " + f.dir + "/alone/tool by name").ok(t); out != text+"alone by name\n" {
		t.Errorf("a descendant: %q", out)
	}
	// Nobody inside can change the copy, nor take it away, although the workspace is writable.
	if r := f.sh("echo x >" + f.W + "/tool || rm -f " + f.W + "/tool || mv " + f.W + "/tool " + f.W + "/other || chmod 777 " + f.W + "/tool"); r.fault != nil || r.exit.Code == 0 {
		t.Errorf("the copy was changed: %+v", r)
	}
	if out := f.run(inW()).ok(t); out != "from W\n" {
		t.Errorf("after attempts: %q", out)
	}
	// Of where copies are made nothing is left.
	if out := f.sh("ls -A / | grep -c copies; grep -c /.copies /proc/self/mountinfo").out; out != "0\n0\n" {
		t.Errorf("left in sight: %q", out)
	}
}

// proves A-POL-11, A-POL-04
func TestAScriptThatIsNoLongerTheApprovedOneDoesNotStart(t *testing.T) {
	f := declare(t)
	must(t, os.Mkdir(f.dir+"/alone", 0o755))
	path := f.dir + "/tools/tool"
	must(t, os.Mkdir(f.dir+"/tools", 0o755))
	f.grant(f.dir+"/tools", sandbox.Read|sandbox.Execute, sandbox.OriginRuntimeRoot)
	const good, evil = "#!/bin/sh\necho good\n", "#!/bin/sh\necho evil >trace\n"
	tool := f.approve(script(t, path, good))
	f.open()
	f.run(tool()).ok(t)
	replace := func(text string) {
		must(t, os.WriteFile(path+".new", []byte(text), 0o755))
		must(t, os.Rename(path+".new", path))
	}
	// Renaming over it takes the copy's mount away: a new sandbox would show the host's file, so nothing starts.
	replace(evil)
	f.run(tool()).coded(t, fault.ExecutableHashChanged)
	must(t, os.Remove(path))
	f.run(tool()).coded(t, fault.ExecutableHashChanged)
	must(t, os.Symlink("/bin/sh", path))
	f.run(tool()).coded(t, fault.ExecutableHashChanged)
	must(t, os.Remove(path))
	must(t, os.Rename(f.dir+"/tools", f.dir+"/away"))
	must(t, os.Mkdir(f.dir+"/tools", 0o755))
	script(t, path, evil)
	if r := f.run(tool()); r.fault == nil {
		t.Errorf("another directory: it ran: %+v", r)
	}
	must(t, os.RemoveAll(f.dir+"/tools"))
	must(t, os.Rename(f.dir+"/away", f.dir+"/tools"))
	// Everything else goes on, and the approved bytes start again.
	f.sh("true").ok(t)
	replace(good)
	if out := f.run(tool()).ok(t); out != "good\n" {
		t.Errorf("restored: %q", out)
	}
	if _, err := os.Lstat(f.W + "/trace"); err == nil {
		t.Error("the other script ran")
	}
	if out := f.control("printf '#!/bin/sh\\necho evil >trace\\n' >s; chmod +x s; ./s; cat trace").ok(t); out != "evil\n" {
		t.Errorf("control: %q", out)
	}
}

// Case 58: somebody on the host swaps the script all the time. What a run that is reported as done has run are the approved
// bytes; what is written into the file itself never runs at all.
//
// proves A-POL-11: case 58
func TestAScriptSwappedAllTheTime(t *testing.T) {
	const good, evil = "#!/bin/sh\necho good\n", "#!/bin/sh\necho evil >trace; echo evil\n"
	for _, way := range []struct {
		name   string
		strict bool
		swap   func(path string, n int) error
	}{
		{"written in place", true, func(path string, n int) error {
			return os.WriteFile(path, []byte([]string{good, evil}[n%2]), 0o755)
		}},
		{"renamed over", false, func(path string, n int) error {
			return errors.Join(os.WriteFile(path+".new", []byte([]string{good, evil}[n%2]), 0o755), os.Rename(path+".new", path))
		}},
		{"directory swapped", false, func(path string, n int) error {
			dir := filepath.Dir(path)
			return errors.Join(os.Rename(dir, dir+".x"), os.Rename(dir+".2", dir), os.Rename(dir+".x", dir+".2"))
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			f := declare(t)
			must(t, os.MkdirAll(f.dir+"/t/bin", 0o755))
			must(t, os.MkdirAll(f.dir+"/t/bin.2", 0o755))
			script(t, f.dir+"/t/bin.2/tool", evil)
			path := f.dir + "/t/bin/tool"
			f.grant(f.dir+"/t", sandbox.Read|sandbox.Execute, sandbox.OriginRuntimeRoot)
			tool := f.approve(script(t, path, good))
			f.open()
			stop, done := make(chan struct{}), make(chan error, 1)
			go func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						done <- nil
						return
					default:
						if err := way.swap(path, n); err != nil {
							done <- err
							return
						}
					}
				}
			}()
			ran, refused, swapped := 0, 0, 0
			for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
				r := f.run(tool())
				switch {
				case r.fault == nil && r.out == "good\n":
					ran++
				case fault.CodeOf(r.fault) == fault.ExecutableHashChanged, fault.CodeOf(r.fault) == fault.ExecutableResolutionChanged:
					refused++
				default:
					t.Fatalf("got %+v, fault %v", r, r.fault)
				}
				if _, err := os.Lstat(f.W + "/trace"); err == nil {
					swapped++
					if way.strict || r.fault == nil {
						t.Fatalf("the other bytes ran: %+v", r)
					}
					must(t, os.Remove(f.W+"/trace"))
				}
			}
			close(stop)
			must(t, <-done)
			t.Logf("%d runs of the approved bytes, %d refused or ended, other bytes begun and ended in %d", ran, refused, swapped)
			// The control: without approval as a script the file that is there when it is read is what runs.
			must(t, os.WriteFile(path, []byte(evil), 0o755))
			unapproved := tool()
			unapproved.Scripts = nil
			f.policy.Entries = nil
			g := f.again()
			if r := g.run(unapproved); r.out != "evil\n" {
				t.Errorf("control: %+v", r)
			}
		})
	}
}

// again is another sandbox on the same directories.
func (f *fixture) again() *fixture {
	f.t.Helper()
	f.close()
	g := &fixture{t: f.t, backend: f.backend, policy: f.policy, dir: f.dir, W: f.W, R: f.R, S: f.S}
	f.undos, f.job = nil, nil
	return g.open()
}

// A guard that covers the script's directory covers no approved script: the copy stays in its place.
//
// proves A-POL-11, A-POL-10, A-POL-13
func TestAnApprovedScriptInAGuardedDirectory(t *testing.T) {
	f := declare(t)
	must(t, os.MkdirAll(f.W+"/node_modules/tool/bin", 0o755))
	must(t, os.MkdirAll(f.W+"/node_modules/.bin", 0o755))
	must(t, os.WriteFile(f.W+"/node_modules/tool/neighbour", []byte("neighbour\n"), 0o644))
	script(t, f.W+"/node_modules/tool/bin/tool", "#!/bin/sh\ncat \"${0%/*}/../neighbour\"\n")
	must(t, os.Symlink("../tool/bin/tool", f.W+"/node_modules/.bin/tool"))
	tool := f.approve(f.W + "/node_modules/.bin/tool")
	hook := f.approve(script(t, f.W+"/hook", "#!/bin/sh\necho hook\n"))
	f.policy.Task.Guards = []sandbox.Guard{
		{Path: f.W + "/hook", Reason: sandbox.GuardToolConfig, Kind: "file"},
		{Path: f.W + "/node_modules", Reason: sandbox.GuardHardLinks, Kind: "directory"},
	}
	f.open()
	must(t, os.WriteFile(f.W+"/hook", []byte("#!/bin/sh\necho evil\n"), 0o755))
	if out := f.run(tool()).ok(t) + f.run(hook()).ok(t); out != "neighbour\nhook\n" {
		t.Errorf("got %q", out)
	}
	if r := f.sh("echo x >node_modules/tool/neighbour"); r.fault != nil || r.exit.Code == 0 {
		t.Errorf("the guard is gone: %+v", r)
	}
}
