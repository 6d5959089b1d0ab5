package resolve

import (
	"bytes"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// proves A-POL-11
func TestParseLine(t *testing.T) {
	long := "#!/" + strings.Repeat("x", MaxLine)
	for _, c := range []struct {
		head    string
		name    string
		lookup  bool
		args    []string
		script  bool
		problem string
	}{
		{head: ""}, {head: "#"}, {head: "\x7fELF"}, {head: " #!/bin/sh\n"}, {head: "echo\n#!/bin/sh\n"},
		{head: "#!/bin/sh\n", script: true, name: "/bin/sh"},
		{head: "#!/bin/sh", script: true, name: "/bin/sh"},
		{head: "#! \t/bin/sh \t\nrest", script: true, name: "/bin/sh"},
		{head: "#!/bin/sh -e -u \n", script: true, name: "/bin/sh", args: []string{"-e -u"}},
		{head: "#!/usr/bin/env node\n", script: true, name: "node", lookup: true, args: []string{}},
		{head: "#!/bin/env  python3 \n", script: true, name: "python3", lookup: true, args: []string{}},
		{head: "#!/usr/bin/env /opt/node\n", script: true, name: "/opt/node", args: []string{}},
		{head: "#!/usr/bin/env -S node --no-warnings -r x\n", script: true, name: "node", lookup: true, args: []string{"--no-warnings", "-r", "x"}},
		{head: "#!/usr/bin/env -Snode\n", script: true, name: "node", lookup: true, args: []string{}},
		{head: "#!\n", script: true, problem: "executable.script_invalid"},
		{head: "#! \t \n", script: true, problem: "executable.script_invalid"},
		{head: "#!", script: true, problem: "executable.script_invalid"},
		{head: "#!/bin/sh\x00\n", script: true, problem: "executable.script_invalid"},
		{head: "#!/bin/sh\r\n", script: true, problem: "executable.script_invalid.crlf"},
		{head: "#!/usr/bin/env node\r\n", script: true, problem: "executable.script_invalid.crlf"},
		{head: "\xef\xbb\xbf#!/bin/sh\n", script: true, problem: "executable.script_invalid.bom"},
		{head: "#!sh\n", script: true, problem: "executable.script_invalid.relative"},
		{head: "#!./sh\n", script: true, problem: "executable.script_invalid.relative"},
		{head: "#!/usr/bin/env bin/node\n", script: true, problem: "executable.script_invalid.relative"},
		{head: long, script: true, problem: "executable.script_invalid.too_long"},
		{head: long[:MaxLine-1] + "\n", script: true, name: long[2 : MaxLine-1]},
		{head: "#!/usr/bin/env\n", script: true, problem: "executable.script_invalid.env"},
		{head: "#!/usr/bin/env node --flag\n", script: true, problem: "executable.script_invalid.env"},
		{head: "#!/usr/bin/env -i\n", script: true, problem: "executable.script_invalid.env"},
		{head: "#!/usr/bin/env A=b\n", script: true, problem: "executable.script_invalid.env"},
		{head: "#!/usr/bin/env -S\n", script: true, problem: "executable.script_invalid.env"},
		{head: "#!/usr/bin/env -S A=b node\n", script: true, problem: "executable.script_invalid.env"},
		{head: "#!/usr/bin/env -S -u X node\n", script: true, problem: "executable.script_invalid.env"},
		{head: "#!/usr/bin/env -S node '--a b'\n", script: true, problem: "executable.script_invalid.env"},
		{head: "#!/usr/bin/env -S node ${X}\n", script: true, problem: "executable.script_invalid.env"},
	} {
		l, script, err := parseLine([]byte(c.head))
		if word(err) != c.problem || script != c.script || err == nil && (l.name != c.name || l.lookup != c.lookup || !slices.Equal(l.args, c.args)) {
			t.Errorf("%q: %+v, script %v, %q; want %+v", c.head, l, script, word(err), c)
		}
	}
}

// Whatever a file begins with, what is understood is an absolute path or a plain name, and nothing of it that env or the
// kernel would understand otherwise.
//
// proves A-POL-11
func FuzzParseLine(f *testing.F) {
	for _, s := range []string{"#!/bin/sh -e\n", "#!/usr/bin/env -S node -x\n", "#!\r\n", "\xef\xbb\xbf#!", "\x7fELF"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		l, script, err := parseLine(head)
		switch {
		case err != nil && fault.CodeOf(err) != fault.ExecutableScriptInvalid:
			t.Fatalf("error %v", err)
		case err != nil || !script:
			if err == nil && bytes.HasPrefix(head, []byte("#!")) {
				t.Fatal("a script was taken for none")
			}
			return
		case l.lookup == path.IsAbs(l.name), l.name == "", strings.ContainsAny(l.name, " \t\r\n\x00"), l.lookup && strings.Contains(l.name, "/"):
			t.Fatalf("%q became %+v", head, l)
		}
		for _, a := range l.args {
			if a == "" || strings.ContainsAny(a, "\r\n\x00") {
				t.Fatalf("%q became %+v", head, l)
			}
		}
	})
}

func executableFile(t *testing.T, name, content string) string {
	t.Helper()
	must(t, os.WriteFile(name, []byte(content), 0o755))
	must(t, os.Chmod(name, 0o755))
	return name
}

// proves A-POL-11
func TestInterpreters(t *testing.T) {
	d := tempDir(t)
	for _, dir := range []string{"/bin", "/first", "/second", "/venv"} {
		must(t, os.Mkdir(d+dir, 0o755))
	}
	native := executableFile(t, d+"/bin/native", "\x7fELF native")
	must(t, os.Symlink("../bin/native", d+"/venv/python"))
	must(t, os.Symlink(native, d+"/second/lang"))
	must(t, os.WriteFile(d+"/first/lang", []byte("not executable"), 0o644))
	must(t, os.Mkdir(d+"/first/other", 0o755))
	search := "relative:" + d + "/first:" + d + "/second"
	one := executableFile(t, d+"/one", "#!"+native+" -1\n")
	two := executableFile(t, d+"/two", "#!"+one+" -2\n")
	for name, c := range map[string]struct {
		content string
		want    []string // path < found (name) args
		problem string
	}{
		"native":             {"\x7fELF", nil, ""},
		"direct":             {"#!" + native + "\n", []string{native + " < " + native + " (" + native + ")"}, ""},
		"link of a venv":     {"#!" + d + "/venv/python -I\n", []string{native + " < " + d + "/venv/python (" + d + "/venv/python) -I"}, ""},
		"uncleaned":          {"#!" + d + "/venv/../venv/python\n", []string{native + " < " + native + " (" + d + "/venv/../venv/python)"}, ""},
		"env":                {"#!/usr/bin/env -S lang -a -b\n", []string{native + " < " + d + "/second/lang (lang) -a -b"}, ""},
		"levels":             {"#!" + two + "\n", []string{two + " < " + two + " (" + two + ")", one + " < " + one + " (" + one + ") -2", native + " < " + native + " (" + native + ") -1"}, ""},
		"missing":            {"#!" + d + "/none\n", nil, "executable.script_invalid.missing"},
		"directory":          {"#!" + d + "\n", nil, "executable.script_invalid.missing"},
		"not executable":     {"#!" + d + "/first/lang\n", nil, "executable.script_invalid.missing"},
		"env, not in PATH":   {"#!/usr/bin/env other\n", nil, "executable.script_invalid.missing"},
		"env, relative PATH": {"#!/usr/bin/env native\n", nil, "executable.script_invalid.missing"},
		"itself":             {"#!" + d + "/script\n", nil, "executable.script_invalid.too_deep"},
	} {
		script := executableFile(t, d+"/script", c.content)
		got, err := ExecutableIn(script, search)
		var chain []string
		for _, in := range got.Interpreters {
			text := in.Path + " < " + in.Found + " (" + in.Name + ")"
			chain = append(chain, strings.Join(append([]string{text}, in.Args...), " "))
		}
		if diff := cmp.Diff(c.want, chain); diff != "" || word(err) != c.problem {
			t.Errorf("%s: %q (-want +got):\n%s", name, word(err), diff)
		}
		if f := fault.As(err); f != nil && f.Target != script {
			t.Errorf("%s: about %q", name, f.Target)
		}
	}
	at := native
	for level := range 5 {
		at = executableFile(t, d+"/level"+string(rune('0'+level)), "#!"+at+"\n")
		_, err := Executable(at)
		if want := map[bool]string{true: "executable.script_invalid.too_deep"}[level == 4]; word(err) != want {
			t.Errorf("%d levels: %v", level+1, err)
		}
	}
	must(t, os.WriteFile(d+"/a", []byte("#!"+d+"/b\n"), 0o755))
	executableFile(t, d+"/b", "#!"+d+"/a\n")
	if _, err := Executable(d + "/a"); word(err) != "executable.script_invalid.too_deep" {
		t.Errorf("loop: %v", err)
	}
	big := executableFile(t, d+"/big", "#!"+native+"\n")
	must(t, os.Truncate(big, MaxScript+1))
	if _, err := Executable(big); word(err) != "executable.script_invalid.too_large" {
		t.Errorf("large: %v", err)
	}
}

// A changed script, interpreter between or native interpreter that was replaced does not start.
//
// proves A-POL-11, A-POL-04
func TestVerifyScriptEntry(t *testing.T) {
	d := tempDir(t)
	native := executableFile(t, d+"/native", "\x7fELF")
	between := executableFile(t, d+"/between", "#!"+native+"\n")
	script := executableFile(t, d+"/script", "#!"+between+"\n")
	e, err := Executable(script)
	must(t, err)
	entry := sandbox.Entry{Path: e.Path, SHA256: e.SHA256}
	for _, in := range e.Interpreters {
		entry.Interpreters = append(entry.Interpreters, in.Interpreter)
	}
	if id, err := VerifyEntry(t.Context(), entry); err != nil || id != e.Interpreters[1].ID {
		t.Fatalf("unchanged: %v, %v", id, err)
	}
	for _, c := range []struct{ path, want string }{
		{script, "executable.hash_changed"}, {between, "executable.hash_changed"},
		{native, ""}, // its bytes are proven at the exec stop
	} {
		old, err := os.ReadFile(c.path)
		must(t, err)
		executableFile(t, c.path, string(old)+"#")
		if _, err := VerifyEntry(t.Context(), entry); word(err) != c.want {
			t.Errorf("%s changed: %v", c.path, err)
		}
		must(t, os.Rename(c.path, c.path+".away"))
		if _, err := VerifyEntry(t.Context(), entry); word(err) != "executable.resolution_changed" {
			t.Errorf("%s gone: %v", c.path, err)
		}
		executableFile(t, c.path, string(old))
	}
}

// proves A-POL-11
func TestLaunch(t *testing.T) {
	native, args := sandbox.Launch("/s", []sandbox.Interpreter{{Name: "i1", Path: "/i1", Args: []string{"-a"}}, {Name: "i2", Path: "/i2"}, {Name: "/link", Path: "/i3", Args: []string{"-b", "-c"}}})
	if diff := cmp.Diff([]string{"-b", "-c", "/i2", "/i1", "-a", "/s"}, args); diff != "" || native.Path != "/i3" || native.Name != "/link" {
		t.Errorf("%+v (-want +got):\n%s", native, diff)
	}
}
