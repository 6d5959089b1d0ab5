package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// proves A-POL-02, A-POL-03, A-CFG-01
func TestResolutionProblemsNameTheirLines(t *testing.T) {
	w := newWorld(t, "en")
	put(t, w.places.Config, `schema_version: 2
sandbox:
  profile: development
  workspaces:
    - ../ws
    - ../nowhere
    - ../rt/bin/tool
    - ../loop
  mounts:
    - path: ../ws/inner
      access: read_only
  execution:
    entries:
      - {alias: dir, path: ../rt}
      - {alias: plain, path: ../plain}
      - {alias: tool, path: ../rt/bin/tool, runtime_root: ../rt/bin/tool}
`)
	if err := os.Mkdir(w.path("ws/inner"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, w.path("plain"), "not executable")
	if err := os.Symlink("loop", w.path("loop")); err != nil {
		t.Fatal(err)
	}
	l, p := Load(w.places)
	if p.Err() != nil {
		t.Fatal(report(t, p, l.Locale, w.places))
	}
	_, p = Resolve(l)
	var got []string
	for _, e := range p.Errors {
		got = append(got, strings.TrimPrefix(e.Text.Key, "error.")+" "+e.Path+" "+strconv.Itoa(e.Pos.Line))
		if !l.Locale.Has(e.Text.Key) || !l.Locale.Has(e.Accepted.Key) {
			t.Errorf("%s or %s has no text", e.Text.Key, e.Accepted.Key)
		}
	}
	want := []string{
		"sandbox.resolution_unconfirmed.missing sandbox.workspaces[1] 6",
		"sandbox.resolution_unconfirmed.not_directory sandbox.workspaces[2] 7",
		"sandbox.resolution_unconfirmed.cycle sandbox.workspaces[3] 8",
		"configuration.invalid.policy_nested sandbox.mounts[0].path 10",
		"sandbox.resolution_unconfirmed.not_file sandbox.execution.entries[0].path 14",
		"sandbox.resolution_unconfirmed.not_executable sandbox.execution.entries[1].path 15",
		"sandbox.resolution_unconfirmed.not_directory sandbox.execution.entries[2].runtime_root 16",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if code := fault.CodeOf(p.Err()); code != fault.ConfigurationInvalid {
		t.Errorf("code %q", code)
	}
}

// proves A-POL-09
func TestProtectedPathsAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name    string
		yaml    string // sandbox section
		prepare func(w *world)
		refused bool
	}{
		{"the configuration's directory", "workspaces: [.]", nil, true},
		{"above the configuration", "workspaces: [..]", nil, true},
		{"above the configuration, as a mount", "mounts: [{path: .., access: read_only}]", nil, true},
		{"through a link", "workspaces: [../alias]", func(w *world) {
			if err := os.Symlink("conf", w.path("alias")); err != nil {
				w.t.Fatal(err)
			}
		}, true},
		{"the executable's directory", "workspaces: [../bin]", nil, true},
		{"the state root, which does not exist yet", "workspaces: [../home]", func(w *world) {
			w.places.StateRoot = w.path("home/state")
			if err := os.Mkdir(w.path("home"), 0o755); err != nil {
				w.t.Fatal(err)
			}
		}, true},
		{"inside the state root", "workspaces: [../state/x]", func(w *world) {
			if err := os.MkdirAll(w.path("state/x"), 0o700); err != nil {
				w.t.Fatal(err)
			}
		}, true},
		{"the log directory", "workspaces: [../ws]\nlogging: {directory: ../ws/logs}", nil, true},
		{"inside the log directory", "workspaces: [../ws]\nlogging: {directory: ..}", nil, true},
		{"the prompt file", "workspaces: [../ws]\nagent: {user_system_prompt: ../ws/prompt.md}", func(w *world) { put(w.t, w.path("ws/prompt.md"), "x") }, true},
		{"where the prompt's link lies", "workspaces: [../ws]\nagent: {user_system_prompt: ../ws/link.md}", func(w *world) {
			put(w.t, w.path("data/prompt.md"), "x")
			if err := os.Symlink("../data/prompt.md", w.path("ws/link.md")); err != nil {
				w.t.Fatal(err)
			}
		}, true},
		{"where the prompt's link leads", "workspaces: [../data]\nagent: {user_system_prompt: ../ws/link.md}", func(w *world) {
			put(w.t, w.path("data/prompt.md"), "x")
			if err := os.Symlink("../data/prompt.md", w.path("ws/link.md")); err != nil {
				w.t.Fatal(err)
			}
		}, true},
		{"the header value file", "workspaces: [../ws]\nollama: {header_value_file: ../ws/key}", func(w *world) { put(w.t, w.path("ws/key"), "x") }, true},
		{"the language directory", "workspaces: [../ws]\nlocalization: {directory: ../ws/l}", func(w *world) { put(w.t, w.path("ws/l/en.json"), "{}") }, true},
		{"a neighbour with the same beginning", "workspaces: [../configuration]", func(w *world) {
			if err := os.Mkdir(w.path("configuration"), 0o755); err != nil {
				w.t.Fatal(err)
			}
		}, false},
		{"something else", "workspaces: [../ws]", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, "en")
			if tt.prepare != nil {
				tt.prepare(w)
			}
			put(t, w.places.Config, "schema_version: 2\nsandbox:\n  "+tt.yaml+"\n")
			l, p := Load(w.places)
			if p.Err() != nil {
				t.Fatal(report(t, p, l.Locale, w.places))
			}
			_, p = Resolve(l)
			if !tt.refused {
				if p.Err() != nil {
					t.Error(report(t, p, l.Locale, w.places))
				}
				return
			}
			if len(p.Errors) != 1 || p.Errors[0].Text.Key != "error.configuration.invalid.policy_protected" || p.Errors[0].Pos.Line != 3 {
				t.Errorf("want one refusal in line 3, got:\n%s", report(t, p, l.Locale, w.places))
			}
		})
	}
}

// proves A-POL-01, A-POL-07, A-POL-08
func TestEffectivePolicy(t *testing.T) {
	w := newWorld(t, "en")
	_, r := w.load()
	want := map[string]string{
		w.path("ws"):             "read, write, delete, execute workspace",
		w.path("data"):           "read mount",
		w.path("rt"):             "read, execute runtime_root",
		w.path("rt/bin/tool"):    "read, execute approved_entry_executable",
		w.path("elsewhere/bash"): "read, execute approved_shell_executable",
	}
	got := map[string]string{}
	for _, root := range r.Policy.Roots {
		if root.Origins[0] != sandbox.OriginOSRuntimeRoot {
			got[root.Path] = root.Rights.String() + " " + string(root.Origins[0])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sandbox.ResourcePolicy{Profile: "normal", MemoryMB: 4096, ProcessLimit: 16, TimeoutSeconds: 1800, Cgroup: "auto"}, r.Policy.Resources); diff != "" {
		t.Error(diff)
	}
	if len(r.Policy.Baseline) == 0 || r.Policy.Network.Access != sandbox.NetworkNone {
		t.Errorf("baseline %v, network %v", r.Policy.Baseline, r.Policy.Network)
	}
}

// proves A-CFG-06
func TestLocate(t *testing.T) {
	got, err := Locate("", "/opt/agent/agent-mcp", "/state")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Places{Config: "/opt/agent/config/agent.yaml", Executable: "/opt/agent/agent-mcp", StateRoot: "/state", BuiltIn: true}, got); diff != "" {
		t.Error(diff)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got, err = Locate("a.yaml", "/opt/agent/agent-mcp", "/state"); err != nil || got.Config != filepath.Join(wd, "a.yaml") || got.BuiltIn {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err = Locate("/a\xff.yaml", "/opt/agent/agent-mcp", "/state"); err == nil {
		t.Error("a path that no record can name was accepted")
	}
}

// A script is approved together with its interpreter: both are shown, stored and compared.
//
// proves A-POL-11, A-CFG-05
func TestAScriptIsApprovedAsAPair(t *testing.T) {
	w := newWorld(t, "en")
	interpreter := w.path("elsewhere/interpreter")
	put(t, interpreter, "\x7fELF one")
	if err := os.Chmod(interpreter, 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, w.path("rt/bin/tool"), "#!"+interpreter+" -x\n")
	l, r := w.load()
	entry := r.Policy.Entries[0]
	if len(entry.Interpreters) != 1 || entry.Interpreters[0].Path != interpreter || entry.Interpreters[0].SHA256 != hashOf("\x7fELF one") || entry.Interpreters[0].Args[0] != "-x" {
		t.Fatalf("entry %+v", entry)
	}
	if !slices.ContainsFunc(r.Policy.Roots, func(root sandbox.Root) bool {
		return root.Path == interpreter && root.File && root.Rights == sandbox.Read|sandbox.Execute
	}) {
		t.Errorf("the interpreter is no root: %+v", r.Policy.Roots)
	}
	var shown bytes.Buffer
	if err := Apply(t.Context(), l, r, w.store, UI{Out: &shown, Yes: true}); err != nil {
		t.Fatal(err)
	}
	if err := Show(&shown, l, r, Problems{}, w.store); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(shown.String(), hashOf("\x7fELF one")); got != 2 {
		t.Errorf("the interpreter's digest is shown %d times by apply and show:\n%s", got, shown.String())
	}
	put(t, interpreter, "\x7fELF two")
	_, r = w.load()
	if err := w.store.Compare(r.Snapshot); fault.CodeOf(err) != fault.ConfigurationChanged || !strings.Contains(fault.As(err).Args["differences"], "tool.interpreter") {
		t.Errorf("another interpreter: %v", err)
	}
}

// proves A-POL-11, A-ERR-01
func TestScriptsThatAreNotApproved(t *testing.T) {
	for _, lang := range []string{"en", "ja"} {
		w := newWorld(t, lang)
		for variant, line := range map[string]string{
			"": "#!\n", "crlf": "#!/bin/sh\r\n", "bom": "\xef\xbb\xbf#!/bin/sh\n", "too_long": "#!/" + strings.Repeat("x", 300), "relative": "#!sh\n",
			"env": "#!/usr/bin/env a b\n", "missing": "#!/nowhere/sh\n", "too_deep": "#!" + w.path("rt/bin/tool") + "\n",
		} {
			put(t, w.path("rt/bin/tool"), line)
			l, p := Load(w.places)
			if p.Err() != nil {
				t.Fatal(p.Err())
			}
			_, p = Resolve(l)
			f := fault.As(errors.Join(p.faults...))
			if len(p.Errors) != 1 || p.Errors[0].Path != "sandbox.execution.entries[0].path" || f == nil || f.Code != fault.ExecutableScriptInvalid || f.Variant != variant {
				t.Errorf("%s: %+v, %v", variant, p.Errors, p.Err())
				continue
			}
			sentence, remedy := l.Locale.Error(f)
			if got := report(t, p, l.Locale, w.places); !strings.Contains(got, strings.ReplaceAll(sentence, w.path(""), "DIR")) || !strings.Contains(got, remedy) || !strings.Contains(got, "rt/bin/tool") {
				t.Errorf("%s: the report lacks sentence or remedy:\n%s", variant, got)
			}
		}
	}
}

// proves A-POL-11: on Windows
func TestAScriptMustBeRunByAShellOnWindows(t *testing.T) {
	old := scriptsNeedShell
	scriptsNeedShell = true
	t.Cleanup(func() { scriptsNeedShell = old })
	w := newWorld(t, "en")
	put(t, w.path("rt/bin/tool"), "#!/bin/sh\n")
	l, p := Load(w.places)
	if p.Err() != nil {
		t.Fatal(p.Err())
	}
	_, p = Resolve(l)
	if code := fault.CodeOf(p.Err()); code != fault.FeatureUnavailable {
		t.Errorf("code %q", code)
	}
	if got := report(t, p, l.Locale, w.places); !strings.Contains(got, "On Windows an approved entry must be native; scripts run through an approved shell or interpreter.") {
		t.Errorf("got:\n%s", got)
	}
}

// The interpreter of env is looked for in the PATH that the entry's process gets.
//
// proves A-POL-11, A-SBX-08
func TestEnvironmentBelongsToWhatIsApplied(t *testing.T) {
	w := newWorld(t, "en")
	put(t, w.path("elsewhere/lang"), "\x7fELF")
	if err := os.Chmod(w.path("elsewhere/lang"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, w.path("rt/bin/tool"), "#!/usr/bin/env lang\n")
	w.edit("sandbox:\n", "sandbox:\n  environment: {PATH: \""+w.path("elsewhere")+":/usr/bin\", LEVEL: \"1\"}\n")
	l, r := w.load()
	if in := r.Policy.Entries[0].Interpreters; len(in) != 1 || in[0].Path != w.path("elsewhere/lang") || in[0].Name != "lang" {
		t.Errorf("interpreters %+v", in)
	}
	if r.Policy.Environment["LEVEL"] != "1" {
		t.Errorf("environment %v", r.Policy.Environment)
	}
	var shown bytes.Buffer
	if err := Apply(t.Context(), l, r, w.store, UI{Out: &shown, Yes: true}); err != nil {
		t.Fatal(err)
	}
	w.edit(`LEVEL: "1"`, `LEVEL: "2"`)
	_, r = w.load()
	err := w.store.Compare(r.Snapshot)
	if f := fault.As(err); f == nil || f.Args["differences"] != "~ sandbox.environment.LEVEL: 1 → 2" {
		t.Errorf("another value: %v", err)
	}
}
