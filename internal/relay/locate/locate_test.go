package locate

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"sekisho/internal/fault"
)

const elf = "\x7fELF fake"

// tree makes files below a temporary directory: name → content; a content that begins with "-> " is a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(filepath.FromSlash(target), path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const (
	shimJS     = "#!/usr/bin/env node\n// Unified entry point for the Codex CLI.\n\"@openai/codex-linux-x64\""
	pkgJSON    = `{"name":"@openai/codex","version":"0.159.1-linux-x64"}`
	winPkgJSON = `{"name":"@openai/codex","version":"0.159.1-win32-x64"}`
	npmSh      = "#!/bin/sh\nbasedir=$(dirname \"$(echo \"$0\" | sed -e 's,\\\\,/,g')\")\nif [ -x \"$basedir/node\" ]; then\n  exec \"$basedir/node\"  \"$basedir/node_modules/@openai/codex/bin/codex.js\" \"$@\"\nelse\n  exec node  \"$basedir/node_modules/@openai/codex/bin/codex.js\" \"$@\"\nfi\n"
	npmCmd     = "@ECHO off\r\nGOTO start\r\n:find_dp0\r\nSET dp0=%~dp0\r\nEXIT /b\r\n:start\r\nSETLOCAL\r\nCALL :find_dp0\r\nendLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & \"%_prog%\"  \"%dp0%\\node_modules\\@openai\\codex\\bin\\codex.js\" %*\r\n"
	npmPs1     = "#!/usr/bin/env pwsh\n$basedir=Split-Path $MyInvocation.MyCommand.Definition -Parent\n& \"$basedir/node$exe\"  \"$basedir/node_modules/@openai/codex/bin/codex.js\" $args\n"
	linuxBin   = "vendor/x86_64-unknown-linux-musl/bin/codex"
	winBin     = "vendor/x86_64-pc-windows-msvc/bin/codex.exe"
)

// proves R-CONN-10
func TestFindsTheBinaryBehindShims(t *testing.T) {
	for _, test := range []struct {
		name, goos string
		files      map[string]string
		path       string // explicit; empty: PATH is the directory bin
		want       string
		version    string
	}{
		{name: "local install", files: map[string]string{
			"node_modules/.bin/codex": "-> ../@openai/codex/bin/codex.js", "node_modules/@openai/codex/bin/codex.js": shimJS,
			"node_modules/@openai/codex-linux-x64/package.json": pkgJSON, "node_modules/@openai/codex-linux-x64/" + linuxBin: elf,
		}, path: "node_modules/.bin/codex", want: "node_modules/@openai/codex-linux-x64/" + linuxBin, version: "0.159.1"},
		{name: "global install in PATH", files: map[string]string{
			"bin/codex": "-> ../lib/node_modules/@openai/codex/bin/codex.js", "lib/node_modules/@openai/codex/bin/codex.js": shimJS,
			"lib/node_modules/@openai/codex/node_modules/@openai/codex-linux-x64/package.json": pkgJSON,
			"lib/node_modules/@openai/codex/node_modules/@openai/codex-linux-x64/" + linuxBin:  elf,
		}, want: "lib/node_modules/@openai/codex/node_modules/@openai/codex-linux-x64/" + linuxBin, version: "0.159.1"},
		{name: "vendor in the package itself", files: map[string]string{
			"bin/codex": "-> ../codex/bin/codex.js", "codex/bin/codex.js": shimJS, "codex/" + linuxBin: elf,
		}, want: "codex/" + linuxBin},
		{name: "linked store", files: map[string]string{
			"bin/codex": "-> ../node_modules/@openai/codex/bin/codex.js", "node_modules/@openai/codex": "-> ../.store/codex@1/node_modules/@openai/codex",
			"node_modules/.store/codex@1/node_modules/@openai/codex/bin/codex.js":          shimJS,
			"node_modules/.store/codex@1/node_modules/@openai/codex-linux-x64/" + linuxBin: elf,
		}, want: "node_modules/.store/codex@1/node_modules/@openai/codex-linux-x64/" + linuxBin},
		{name: "script shim", files: map[string]string{
			"bin/codex": npmSh, "bin/node_modules/@openai/codex/bin/codex.js": shimJS, "bin/node_modules/@openai/codex-linux-x64/" + linuxBin: elf,
		}, want: "bin/node_modules/@openai/codex-linux-x64/" + linuxBin},
		{name: "Windows cmd", goos: "windows", files: map[string]string{
			"bin/codex": npmSh, "bin/codex.cmd": npmCmd, "bin/node_modules/@openai/codex/bin/codex.js": shimJS,
			"bin/node_modules/@openai/codex-win32-x64/package.json": winPkgJSON, "bin/node_modules/@openai/codex-win32-x64/" + winBin: "MZ fake",
		}, want: "bin/node_modules/@openai/codex-win32-x64/" + winBin, version: "0.159.1"},
		{name: "Windows PowerShell", goos: "windows", files: map[string]string{
			"bin/codex.ps1": npmPs1, "bin/node_modules/@openai/codex/bin/codex.js": shimJS, "bin/node_modules/@openai/codex-win32-x64/" + winBin: "MZ fake",
		}, want: "bin/node_modules/@openai/codex-win32-x64/" + winBin},
		{name: "binary itself", files: map[string]string{"bin/codex": elf}, want: "bin/codex"},
		{name: "link to a binary", files: map[string]string{"bin/codex": "-> ../opt/codex", "opt/codex": elf}, want: "opt/codex"},
		{name: "directory with node_modules", files: map[string]string{
			"p/node_modules/@openai/codex/bin/codex.js": shimJS, "p/node_modules/@openai/codex-linux-x64/" + linuxBin: elf,
		}, path: "p", want: "p/node_modules/@openai/codex-linux-x64/" + linuxBin},
		{name: "platform package", files: map[string]string{"p/" + linuxBin: elf, "p/package.json": pkgJSON}, path: "p", want: "p/" + linuxBin, version: "0.159.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := tree(t, test.files)
			o := Options{PATH: "relative" + string(os.PathListSeparator) + filepath.Join(root, "empty") + string(os.PathListSeparator) + filepath.Join(root, "bin"), GOOS: "linux", GOARCH: "amd64"}
			if test.goos != "" {
				o.GOOS = test.goos
			}
			if test.path != "" {
				o.Path = filepath.Join(root, filepath.FromSlash(test.path))
			}
			found, err := Codex(o)
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Join(root, filepath.FromSlash(test.want)); found.Binary != want || found.PackageVersion != test.version {
				t.Errorf("found %+v, want %s of %q", found, want, test.version)
			}
			if (found.Via == "") != (test.name == "binary itself" || strings.HasPrefix(test.name, "link to")) {
				t.Errorf("via %q", found.Via)
			}
		})
	}
}

// proves R-CONN-10
func TestWhyThereIsNoBinary(t *testing.T) {
	for _, test := range []struct {
		name  string
		files map[string]string
		path  string
		code  fault.Code
	}{
		{"nothing in PATH", map[string]string{"bin/other": elf}, "", fault.CodexNotFound},
		{"a directory of that name", map[string]string{"bin/codex/x": ""}, "", fault.CodexNotFound},
		{"no such path", nil, "nowhere", fault.CodexNotFound},
		{"a directory without codex", map[string]string{"p/node_modules/x": ""}, "p", fault.CodexNotFound},
		{"shim without its platform package", map[string]string{"bin/codex": "-> ../codex/bin/codex.js", "codex/bin/codex.js": shimJS}, "", fault.CodexNoBinary},
		{"platform package of another system", map[string]string{"bin/codex": npmSh, "bin/node_modules/@openai/codex/bin/codex.js": shimJS,
			"bin/node_modules/@openai/codex-win32-x64/" + winBin: "MZ"}, "", fault.CodexNoBinary},
		{"vendor binary is a script", map[string]string{"bin/codex": "-> ../codex/bin/codex.js", "codex/bin/codex.js": shimJS, "codex/" + linuxBin: "#!/bin/sh"}, "", fault.CodexNoBinary},
		{"somebody's wrapper", map[string]string{"bin/codex": "#!/bin/sh\nexec /opt/codex \"$@\"\n"}, "", fault.CodexUnusable},
		{"an empty file", map[string]string{"bin/codex": ""}, "", fault.CodexUnusable},
		{"a dead link", map[string]string{"bin/codex": "-> gone"}, "bin/codex", fault.CodexNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := tree(t, test.files)
			o := Options{PATH: filepath.Join(root, "bin"), GOOS: "linux", GOARCH: "amd64"}
			if test.path != "" {
				o.Path = filepath.Join(root, test.path)
			}
			found, err := Codex(o)
			if fault.CodeOf(err) != test.code {
				t.Errorf("found %+v, %v; want %s", found, err, test.code)
			}
		})
	}
	if _, err := Codex(Options{GOOS: "plan9", GOARCH: "amd64"}); fault.CodeOf(err) != fault.CodexUnusable {
		t.Errorf("a system without a package: %v", err)
	}
}

// A shim is read, never run: this one would leave a mark.
//
// proves R-CONN-10
func TestShimsAreNotRun(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	root := tree(t, map[string]string{"bin/codex": "#!/bin/sh\ntouch " + mark + "\n# $basedir/node_modules/@openai/codex/bin/codex.js\n",
		"bin/node_modules/@openai/codex/bin/codex.js": shimJS, "bin/node_modules/@openai/codex-linux-x64/" + linuxBin: elf})
	if _, err := Codex(Options{Path: filepath.Join(root, "bin", "codex"), GOOS: "linux", GOARCH: "amd64"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the shim was run")
	}
}

// proves R-CON-06
func TestVersion(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // the stand-ins are shell scripts
	}
	for _, test := range []struct{ script, want string }{
		{"echo codex-cli 0.159.1", "0.159.1"},
		{"echo WARNING: something >&2; echo codex-cli 0.172.0-alpha.3", "0.172.0-alpha.3"},
		{"echo codex 1.2.3", "1.2.3"},
		{"echo hello", ""},
		{"echo codex-cli 0.159.1 and more", ""},
		{"echo codex-cli 0.159.1; exit 3", ""},
		{"head -c 100000 /dev/zero", ""},
	} {
		root := tree(t, map[string]string{"codex": "#!/bin/sh\n[ \"$1\" = --version ] || exit 9\n" + test.script + "\n"})
		got, err := Version(t.Context(), filepath.Join(root, "codex"))
		if got != test.want || (err == nil) != (test.want != "") || err != nil && fault.CodeOf(err) != fault.CodexUnusable {
			t.Errorf("%s: got %q, %v", test.script, got, err)
		}
	}
}
