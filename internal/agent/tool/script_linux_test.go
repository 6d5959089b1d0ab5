package tool

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/resolve"
)

// A script of the workspace or of a runtime root starts as its interpreter, which must lie where programs may run.
//
// proves A-POL-11, A-POL-05, A-TOOL-04, A-AUD-01
func TestRunStartsScriptsByTheirInterpreter(t *testing.T) {
	w := newWorld(t)
	w.write("rt/bin/lang", "\x7fELF language")
	lang := w.mode("rt/bin/lang")
	w.write("app/own", "\x7fELF own")
	own := w.mode("app/own")
	w.link("../rt/bin/lang", "app/venv-python")
	for name, line := range map[string]string{
		"app/direct": "#!" + lang + " -x y", "app/env": "#!/usr/bin/env -S lang -I", "app/artifact": "#!" + own, "app/venv": "#!" + w.ws + "/venv-python", "rt/component": "#!" + lang,
		"app/two": "#!" + w.ws + "/direct -z",
	} {
		w.write(name, line+"\nbody\n")
		w.mode(name)
	}
	w.policy.Environment = map[string]string{"PATH": w.rt + "/bin:/usr/bin"}
	w.open()
	for _, tc := range []struct {
		executable, native, argv0 string
		args                      []string
	}{
		{"./direct", lang, lang, []string{"-x y", w.ws + "/direct"}},
		{"env", lang, "lang", []string{"-I", w.ws + "/env"}},
		{"artifact", own, own, []string{w.ws + "/artifact"}},
		{"venv", lang, w.ws + "/venv-python", []string{w.ws + "/venv"}},
		{w.rt + "/component", lang, lang, []string{w.rt + "/component"}},
		{"two", lang, lang, []string{"-x y", w.ws + "/direct", "-z", w.ws + "/two"}},
	} {
		*w.job = fakeJob{}
		w.audit.reset()
		if r := w.call("process_run", arg{"executable": tc.executable, "args": []string{"own"}, "cwd": "."}); !r.OK {
			t.Fatalf("%s: %+v", tc.executable, r)
		}
		now, err := resolve.Executable(tc.native)
		if err != nil {
			t.Fatal(err)
		}
		got := w.job.started[0]
		if got.Path != tc.native || got.ID != now.ID || got.SHA256 != now.SHA256 || got.Argv0 != tc.argv0 || got.Scripts != nil {
			t.Errorf("%s: %+v", tc.executable, got)
		}
		if diff := cmp.Diff(append(tc.args, "own"), got.Args); diff != "" {
			t.Errorf("%s: arguments (-want +got):\n%s", tc.executable, diff)
		}
		start := w.audit.events[1]
		if !strings.HasSuffix(start.Exe, tc.executable[strings.LastIndex(tc.executable, "/")+1:]) || start.SHA256 == now.SHA256 || start.Interpreter != tc.native || start.InterpreterSHA256 != now.SHA256 {
			t.Errorf("%s: audit %+v", tc.executable, start)
		}
	}
}

// proves A-POL-11, A-TOOL-09
func TestRunRefusesScriptsWithoutAnInterpreter(t *testing.T) {
	w := newWorld(t)
	w.write("out/lang", "\x7fELF outside")
	w.mode("out/lang")
	w.write("ro/lang", "\x7fELF in a mount")
	w.mode("ro/lang")
	w.write("app/plain", "not executable")
	w.link(w.out+"/lang", "app/away")
	w.open()
	for variant, lines := range map[string][]string{
		"outside":  {"#!" + w.out + "/lang", "#!/etc/passwd", "#!" + w.ws + "/away", "#!" + w.ro + "/lang", "#!/usr/bin/env lang"},
		"missing":  {"#!" + w.ws + "/none", "#!" + w.ws, "#!" + w.ws + "/plain"},
		"crlf":     {"#!" + w.ws + "/own\r"},
		"bom":      {"\xef\xbb\xbf#!/bin/sh"},
		"relative": {"#!own"},
		"too_deep": {"#!" + w.ws + "/script"},
		"too_long": {"#!/" + strings.Repeat("x", 300)},
		"env":      {"#!/usr/bin/env -i lang"},
		"":         {"#!"},
	} {
		for _, line := range lines {
			w.write("app/script", line+"\n")
			w.mode("app/script")
			w.audit.reset()
			r := w.call("process_run", arg{"executable": "./script", "args": []string{}, "cwd": "."})
			if r.OK || r.ErrorCode != fault.ExecutableScriptInvalid || w.job.opened > 0 {
				t.Errorf("%q: %+v", line, r)
			}
			if got := w.audit.names(); len(got) != 3 || !strings.HasPrefix(got[0], "policy.deny") || got[1] != "process.start deny" {
				t.Errorf("%q: audit %v", line, got)
			}
			if hint := scriptProblems[variant]; !strings.Contains(r.Content, hint) {
				t.Errorf("%q: the model is not told %q:\n%s", line, hint, r.Content)
			}
		}
	}
}

// An approved script is named to the sandbox, which must show its approved bytes, and gets the variables of its entry.
//
// proves A-POL-11, A-SBX-08
func TestRunNamesApprovedScriptsToTheSandbox(t *testing.T) {
	w := newWorld(t)
	w.write("rt/lang", "\x7fELF language")
	w.mode("rt/lang")
	w.write("rt/between", "#!"+w.rt+"/lang\n")
	w.mode("rt/between")
	w.write("rt/tool", "#!"+w.rt+"/between\n")
	path := w.mode("rt/tool")
	exe, err := resolve.Executable(path)
	if err != nil {
		t.Fatal(err)
	}
	entry := sandbox.Entry{Alias: "tool", Class: sandbox.ClassEntry, Path: path, SHA256: exe.SHA256, Environment: map[string]string{"B": "2", "A": "1"}}
	for _, in := range exe.Interpreters {
		entry.Interpreters = append(entry.Interpreters, in.Interpreter)
	}
	w.policy.Entries = append(w.policy.Entries, entry)
	w.open()
	if r := w.call("process_run", arg{"executable": "TOOL", "args": []string{}, "cwd": "."}); !r.OK {
		t.Fatalf("%+v", r)
	}
	got := w.job.started[0]
	if diff := cmp.Diff([]string{path, w.rt + "/between"}, got.Scripts); diff != "" {
		t.Errorf("scripts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"A=1", "B=2"}, got.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	w.write("rt/between", "#!"+w.rt+"/lang -e evil\n")
	w.mode("rt/between")
	if r := w.call("process_run", arg{"executable": "tool", "args": []string{}, "cwd": "."}); r.ErrorCode != fault.ExecutableHashChanged || len(w.job.started) != 1 {
		t.Errorf("a changed interpreter between: %+v", r)
	}
}

// proves A-SBX-10, A-SBX-08
func TestFileToolsSayWhoseTheTemporaryDirectoryIs(t *testing.T) {
	w := newWorld(t).open()
	for path, want := range map[string]bool{"/tmp/out.txt": true, "/home/agent/.cache/x": true, "/tmpfile": false, "/etc/passwd": false} {
		r := w.call("file_read", arg{"path": path, "mode": "whole"})
		if r.OK || strings.Contains(r.Content, "belongs to the task's programs") != want {
			t.Errorf("%s: %s", path, r.Content)
		}
	}
}
