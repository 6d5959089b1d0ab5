package config

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// linkedWorld declares a workspace, a mount, a runtime root and an entry through links; one of them through two.
func linkedWorld(t *testing.T) *world {
	w := newWorld(t, "en")
	for name, to := range map[string]string{"ws-link": "hop", "hop": "ws", "data-link": w.path("data"), "rt-link": "rt", "ws/inner": "../data", "elsewhere/inner": "../data"} {
		if err := os.Symlink(to, w.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	w.edit("[../ws]", "[../ws-link, ../ws]")
	w.edit("{path: ../data, access: read_only}", "{path: "+w.path("data-link")+", access: read_only}\n    - {path: ../ws-link/inner, access: read_only}")
	w.edit("path: ../rt/bin/tool, runtime_root: ../rt}", "path: ../rt-link/bin/tool, runtime_root: ../rt-link}")
	return w
}

// proves A-POL-02, A-CFG-03, A-POL-08
func TestDeclaredLinksAreKept(t *testing.T) {
	w := linkedWorld(t)
	if out, err := w.apply("--yes"); err != nil {
		t.Fatal(out, err)
	}
	_, r := w.load()
	want := []sandbox.Link{
		{Path: w.path("data-link"), Target: w.path("data")},
		{Path: w.path("rt-link"), Target: w.path("rt")}, // leads to the tool too
		{Path: w.path("sh-link"), Target: w.path("elsewhere/bash")},
		{Path: w.path("ws-link"), Target: w.path("ws")}, // leads to inner too
	}
	if diff := cmp.Diff(want, r.Policy.Links); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
	applied, err := w.store.Read(w.places.Config)
	if err != nil {
		t.Fatal(err)
	}
	stored := compileApplied(applied, r.osRuntime)
	if stored == nil {
		t.Fatal("the record does not compile")
	}
	if diff := cmp.Diff(want, stored.Links); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if err := w.store.Compare(r.Snapshot); err != nil {
		t.Errorf("compared with itself: %v", err)
	}
	out, err := w.show()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range want {
		if line := l.Target + "  declared as " + l.Path + "\n"; !strings.Contains(out, line) {
			t.Errorf("show lacks %q:\n%s", line, out)
		}
	}
}

// proves A-CFG-05, A-POL-02, ST-24
func TestStartRefusesALinkThatLeadsElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world)
		want   []string // parts of the differences; DIR stands for the world's directory
	}{
		"another directory": {func(w *world) { replaceLink(w.t, "elsewhere", w.path("ws-link")) },
			[]string{"~ sandbox.workspaces: DIR/ws (../ws-link) → DIR/elsewhere (../ws-link)"}},
		"the link behind the link": {func(w *world) { replaceLink(w.t, "elsewhere", w.path("hop")) },
			[]string{"~ sandbox.workspaces: DIR/ws (../ws-link) → DIR/elsewhere (../ws-link)"}},
		"the same place by another way": {func(w *world) { replaceLink(w.t, w.path("ws"), w.path("ws-link")) }, nil},
		"a mount's": {func(w *world) { replaceLink(w.t, "elsewhere", w.path("data-link")) },
			[]string{"~ sandbox.mounts: read_only DIR/data (DIR/data-link) → read_only DIR/elsewhere (DIR/data-link)"}},
		"an entry's and its runtime root's": {func(w *world) {
			put(w.t, w.path("rt2/bin/tool"), "program one")
			if err := os.Chmod(w.path("rt2/bin/tool"), 0o755); err != nil {
				w.t.Fatal(err)
			}
			replaceLink(w.t, "rt2", w.path("rt-link"))
		}, []string{"~ sandbox.execution.entries.tool: DIR/rt/bin/tool (../rt-link/bin/tool) → DIR/rt2/bin/tool (../rt-link/bin/tool)",
			"~ sandbox.execution.entries.tool.runtime_root: DIR/rt (../rt-link) → DIR/rt2 (../rt-link)"}},
		"a directory that became a link to itself": {func(w *world) {
			if err := os.Rename(w.path("ws"), w.path("moved")); err != nil {
				w.t.Fatal(err)
			}
			if err := os.Symlink("moved", w.path("ws")); err != nil {
				w.t.Fatal(err)
			}
		}, []string{"~ sandbox.workspaces: DIR/ws (../ws) → DIR/moved (../ws)", "~ sandbox.workspaces (declared path): – → DIR/ws"}},
		"a link that became the directory": {func(w *world) {
			if err := os.Remove(w.path("data-link")); err != nil {
				w.t.Fatal(err)
			}
			if err := os.Rename(w.path("data"), w.path("data-link")); err != nil {
				w.t.Fatal(err)
			}
			if err := os.Symlink("data-link", w.path("data")); err != nil { // inner leads there still
				w.t.Fatal(err)
			}
		}, []string{"~ sandbox.mounts (declared path): DIR/data-link → –"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := linkedWorld(t)
			if out, err := w.apply("--yes"); err != nil {
				t.Fatal(out, err)
			}
			c.change(w)
			_, r := w.load()
			err := w.store.Compare(r.Snapshot)
			if c.want == nil {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			f := fault.As(err)
			if f == nil || f.Code != fault.ConfigurationChanged {
				t.Fatalf("got %v, want configuration.changed", err)
			}
			for _, want := range c.want {
				if want = strings.ReplaceAll(want, "DIR", w.path("")); !strings.Contains(f.Args["differences"], want) {
					t.Errorf("differences %q lack %q", f.Args["differences"], want)
				}
			}
		})
	}
}

// proves A-POL-02, A-CFG-01
func TestLinkInAPlaceOfTheSandboxIsRefusedAtItsLine(t *testing.T) {
	w := newWorld(t, "en")
	dir, err := os.MkdirTemp("/tmp", "sekisho-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Symlink(w.path("ws"), dir+"/link"); err != nil {
		t.Fatal(err)
	}
	w.edit("[../ws]", "["+dir+"/link]")
	l, _ := Load(w.places)
	_, p := Resolve(l)
	if len(p.Errors) != 1 || p.Errors[0].Text.Key != "error.configuration.invalid.policy_link" || p.Errors[0].Path != "sandbox.workspaces[0]" || p.Errors[0].Pos.Line != 4 {
		t.Fatalf("want one refusal in line 4, got:\n%s", report(t, p, l.Locale, w.places))
	}
	if got, want := report(t, p, l.Locale, w.places), "Declare the path that it leads to: DIR/ws\n"; !strings.Contains(got, want) {
		t.Errorf("no remedy %q:\n%s", want, got)
	}
}
