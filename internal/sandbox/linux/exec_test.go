//go:build linux && !cgo

package linux_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// script of a program in W that leaves a trace; a copy of sh is the program, so that its bytes can be changed.
const trace = "echo ran >trace"

// proves A-POL-04
func TestChangedProgramsDoNotRun(t *testing.T) {
	f := sandboxed(t)
	append1 := func(path string) {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		_, err = file.WriteString("\x00")
		must(t, err)
		must(t, file.Close())
	}
	for _, c := range []struct {
		name   string
		change func(path string)
		want   fault.Code
	}{
		{"one byte more, same file", append1, fault.ExecutableHashChanged},
		{"replaced by equal bytes", func(path string) {
			data, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path+".new", data, 0o755))
			must(t, os.Rename(path+".new", path))
		}, fault.ExecutableResolutionChanged},
		{"replaced by a link to the shell", func(path string) {
			must(t, os.Remove(path))
			must(t, os.Symlink("/bin/sh", path))
		}, fault.ExecutableResolutionChanged},
		{"gone", func(path string) { must(t, os.Remove(path)) }, fault.ExecutableStartFailed},
		{"no longer executable", func(path string) { must(t, os.Chmod(path, 0o600)) }, fault.ExecutableStartFailed},
	} {
		program := into(t, f.W, "/bin/sh")
		command := f.command(program, "-c", trace)
		f.run(command).ok(t)
		if err := os.Remove(f.W + "/trace"); err != nil {
			t.Fatalf("%s: control: unchanged, it left no trace: %v", c.name, err)
		}
		c.change(program)
		f.run(command).coded(t, c.want)
		if _, err := os.Lstat(f.W + "/trace"); err == nil {
			t.Errorf("%s: it ran", c.name)
		}
		os.Remove(program)
		f.sh("true").ok(t) // the sandbox goes on
	}
}

// proves A-POL-04, A-POL-05
func TestRunningProgramsCannotBeWritten(t *testing.T) {
	f := sandboxed(t)
	program := into(t, f.W, "/bin/sh")
	ready := make(writes, 1)
	c := f.command(program, "-c", "echo ready; until test -e released; do sleep 0.01; done")
	c.Stdout = ready
	p, err := f.job.Start(within(t), c)
	must(t, err)
	if _, err := os.OpenFile(program, os.O_WRONLY, 0); err == nil || !strings.Contains(err.Error(), syscall.ETXTBSY.Error()) {
		t.Errorf("writing the running program: got %v", err)
	}
	<-ready
	must(t, os.WriteFile(f.W+"/released", nil, 0o644))
	if exit, err := p.Wait(within(t)); err != nil || exit.Code != 0 {
		t.Errorf("got %+v %v", exit, err)
	}
	if file, err := os.OpenFile(program, os.O_WRONLY, 0); err != nil {
		t.Errorf("control: afterwards it can be written: %v", err)
	} else {
		// And one that somebody holds open for writing does not start.
		f.run(f.command(program, "-c", "true")).coded(t, fault.ExecutableStartFailed)
		file.Close()
	}
	f.run(f.command(program, "-c", "true")).ok(t)
}

// proves A-POL-01, A-SBX-01
func TestExecuteNeedsTheRight(t *testing.T) {
	f := declare(t)
	const x = sandbox.Read | sandbox.Execute
	must(t, os.Mkdir(f.dir+"/x", 0o755))
	f.grant(f.dir+"/x", x, sandbox.OriginRuntimeRoot)
	must(t, os.Mkdir(f.dir+"/entries", 0o755))
	entry, other := into(t, f.dir+"/entries", "/bin/echo"), into(t, f.dir+"/entries", "/bin/cat")
	f.grant(entry, x, sandbox.OriginApprovedEntry)
	inX, inR, inTemp := into(t, f.dir+"/x", "/bin/echo"), into(t, f.R, "/bin/echo"), into(t, f.dir+"/temp", "/bin/echo")
	f.policy.Profile = "readonly"
	f.open()
	for _, path := range []string{entry, inX} {
		if out := f.run(f.command(path, "hello")).ok(t); out != "hello\n" {
			t.Errorf("%s: %q", path, out)
		}
		if out := f.sh(`"$1" hello`, path).ok(t); out != "hello\n" {
			t.Errorf("%s from a shell: %q", path, out)
		}
	}
	f.run(f.command(inR, "hello")).coded(t, fault.ExecutableStartFailed)
	if r := f.sh(`test -r "$1" && ! "$1" hello && ! /lib64/ld-linux-x86-64.so.2 "$1" hello`, inR); r.ok(t) != "" {
		t.Errorf("ran from a read-only root: %q", r.out)
	}
	if r := f.sh(`cp "$1" /tmp/prog && test -r /tmp/echo && ! /tmp/echo hello && ! /tmp/prog hello && ! /lib64/ld-linux-x86-64.so.2 /tmp/prog hello`, inX); r.ok(t) != "" {
		t.Errorf("ran from the temporary directory: %q", r.out)
	}
	for _, path := range []string{inR, inTemp} {
		if out := f.control(`"$1" hello && /lib64/ld-linux-x86-64.so.2 "$1" hello`, path).ok(t); out != "hello\nhello\n" {
			t.Errorf("control: %s: %q", path, out)
		}
	}
	// An approved file says nothing about its neighbours.
	if out := f.sh(`ls "$1"; test -e "$2" || echo absent`, f.dir+"/entries", other).ok(t); out != "echo\nabsent\n" {
		t.Errorf("beside the entry: %q", out)
	}
}

// proves A-SBX-03
func TestTempRunsProgramsOnlyUnderDevelopment(t *testing.T) {
	f := sandboxed(t)
	if out := f.sh(`cp /bin/echo /tmp/prog && /tmp/prog temp; cp /bin/echo ~/prog && ~/prog home`).ok(t); out != "temp\nhome\n" {
		t.Errorf("got %q", out)
	}
	for _, path := range []string{"/temp/prog", "/home/prog"} {
		if _, err := os.Stat(f.dir + path); err != nil {
			t.Error(err)
		}
	}
}
