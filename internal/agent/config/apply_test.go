package config

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent/config/applied"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

var update = flag.Bool("update", false, "write the transcripts in testdata anew")

// machineRow matches what differs between systems or belongs to other packages: the system's own roots and the baseline.
var machineRow = regexp.MustCompile(`(?m)^.*(os_runtime_root|  baseline  ).*\n`)

// homeName matches the name of a workspace's home, which tells its inode.
var homeName = regexp.MustCompile(`/ws-[0-9a-f]{16}`)

// golden compares with a transcript in testdata; what differs between machines is taken out.
func (w *world) golden(name, got string) {
	w.t.Helper()
	l, _ := Load(w.places)
	got = strings.ReplaceAll(got, w.path(""), "/DIR")
	got = strings.ReplaceAll(got, l.Fingerprint, "FINGERPRINT")
	got = homeName.ReplaceAllString(got, "/ws-IDENTITY")
	got = machineRow.ReplaceAllString(got, "")
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// proves A-CLI-02, A-CLI-03, A-CFG-04, A-POL-04, A-POL-08, A-LOC-02
func TestTranscripts(t *testing.T) {
	for _, lang := range []string{"en", "ja"} {
		t.Run(lang, func(t *testing.T) {
			w := newWorld(t, lang)
			var b strings.Builder
			step := func(title string, out string, err error) {
				fmt.Fprintf(&b, "=== %s\n%s", title, out)
				if err != nil {
					l, _ := Load(w.places)
					if werr := WriteError(&b, l.Locale, err); werr != nil {
						t.Fatal(werr)
					}
				}
			}
			out, err := w.show()
			step("show, never applied", out, err)
			out, err = w.apply("")
			step("apply without a terminal", out, err)
			out, err = w.apply("no\n")
			step("apply, answered no", out, err)
			out, err = w.apply("y\n")
			step("apply, answered yes", out, err)
			out, err = w.apply("--yes")
			step("apply again", out, err)
			out, err = w.show()
			step("show, applied", out, err)
			w.edit("access: read_only", "access: read_write")
			w.edit("- {alias: Shell, path: ../sh-link}\n", "- {alias: other, path: ../elsewhere/bash}\n  resources: {memory_mb: 512}\n")
			put(t, w.path("rt/bin/tool"), "program two")
			out, err = w.show()
			step("show, changed", out, err)
			_, r := w.load()
			step("start, changed", "", w.store.Compare(r.Snapshot))
			out, err = w.apply("--yes")
			step("apply the change", out, err)
			if err := os.Remove(w.path("data")); err != nil {
				t.Fatal(err)
			}
			out, err = w.show()
			step("show, a directory is gone", out, err)
			w.golden("transcript."+lang, b.String())
		})
	}
}

// proves A-CFG-03, A-CFG-04, ST-23
func TestApplyReplacesTheWholeSnapshotPrivately(t *testing.T) {
	w := newWorld(t, "en")
	for _, answer := range []string{"", "n\n", "\n", "maybe\n", "y", strings.Repeat("y", 300) + "\n"} {
		if _, err := w.apply(answer); fault.CodeOf(err) != fault.ConfigurationAbsent {
			t.Errorf("answer %.10q: %v", answer, err)
		}
		if w.stored() != nil {
			t.Fatalf("answer %.10q: something was stored", answer)
		}
	}
	if _, err := w.apply("YES\n"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{
		w.store.Path(w.places.Config):               0o600,
		filepath.Dir(w.store.Path(w.places.Config)): 0o700,
		w.places.StateRoot:                          0o700,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
	snap, err := w.store.Read(w.places.Config)
	if err != nil {
		t.Fatal(err)
	}
	if got := snap.Entries[1]; got.Alias != "tool" || got.SHA256 != hashOf("program one") || got.Class != sandbox.ClassEntry || got.RuntimeRoot == nil {
		t.Errorf("entry: %+v", got)
	}
	if got := snap.Entries[0]; got.Class != sandbox.ClassShell || got.Resolved != w.path("elsewhere/bash") || got.Logical != "../sh-link" {
		t.Errorf("a shell is one by its resolved name: %+v", got)
	}

	// An entry removed from the YAML leaves in the same transaction.
	w.edit("      - {alias: tool, path: ../rt/bin/tool, runtime_root: ../rt}\n", "")
	before := w.stored()
	if _, err := w.apply("n\n"); err == nil || !bytes.Equal(before, w.stored()) {
		t.Errorf("a declined change: %v", err)
	}
	if _, err := w.apply("--yes"); err != nil {
		t.Fatal(err)
	}
	if snap, err = w.store.Read(w.places.Config); err != nil || len(snap.Entries) != 1 {
		t.Errorf("after the removal: %+v, %v", snap.Entries, err)
	}
}

// proves A-CFG-05, A-POL-04, ST-24
func TestStartRefusesEveryDifference(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(w *world)
		want   string // a part of the differences; DIR stands for the world's directory
	}{
		{"nothing", func(w *world) {}, ""},
		{"a comment", func(w *world) { w.edit("sandbox:", "# note\nsandbox:") }, ""},
		{"a value outside the sandbox", func(w *world) { w.edit("sandbox:", "planner: {max_tasks: 9}\nsandbox:") }, "~ planner.max_tasks: 32 → 9"},
		{"the model's server", func(w *world) {
			put(w.t, w.path("conf/"+OverlayName), "ollama: {endpoint: 'http://127.0.0.1:1', model: other}\nlogging: {level: debug}\n")
		}, "~ logging.level: info → debug; ~ ollama.endpoint: http://localhost:11434 → http://127.0.0.1:1; ~ ollama.model: deepseek-v4-flash:cloud → other"},
		{"the order of a list", func(w *world) {
			w.edit("{alias: tool, path: ../rt/bin/tool, runtime_root: ../rt}\n      - {alias: Shell, path: ../sh-link}", "{alias: Shell, path: ../sh-link}\n      - {alias: tool, path: ../rt/bin/tool, runtime_root: ../rt}")
		}, "~ sandbox.execution.entries[0].alias: tool → Shell"},
		{"profile", func(w *world) { w.edit("sandbox:\n", "sandbox:\n  profile: readonly\n") }, "~ sandbox.profile: development → readonly"},
		{"the program's bytes", func(w *world) { put(w.t, w.path("rt/bin/tool"), "program two") },
			"~ sandbox.execution.entries.tool.sha256: " + hashOf("program one") + " → " + hashOf("program two")},
		{"where a link leads", func(w *world) {
			put(w.t, w.path("elsewhere/zsh"), "a shell by its resolved name")
			if err := os.Chmod(w.path("elsewhere/zsh"), 0o755); err != nil {
				w.t.Fatal(err)
			}
			replaceLink(w.t, "elsewhere/zsh", w.path("sh-link"))
		}, "~ sandbox.execution.entries.Shell: DIR/elsewhere/bash (../sh-link) → DIR/elsewhere/zsh (../sh-link)"},
		{"another directory under the same path", func(w *world) {
			if err := os.Rename(w.path("ws"), w.path("old")); err != nil {
				w.t.Fatal(err)
			}
			if err := os.Mkdir(w.path("ws"), 0o755); err != nil {
				w.t.Fatal(err)
			}
		}, "~ sandbox.workspaces (device:inode): DIR/ws "},
		{"an overlay", func(w *world) { put(w.t, w.path("conf/"+OverlayName), "sandbox: {resources: {process_limit: 3}}\n") },
			"~ sandbox.resources.process_limit: 16 → 3"},
		{"an added workspace", func(w *world) { w.edit("[../ws]", "[../ws, ../elsewhere]") }, "+ sandbox.workspaces: DIR/elsewhere (../elsewhere)"},
		{"a removed mount", func(w *world) { w.edit("    - {path: ../data, access: read_only}\n", "") }, "- sandbox.mounts: read_only DIR/data (../data)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, "en")
			if _, err := w.apply("--yes"); err != nil {
				t.Fatal(err)
			}
			before := w.stored()
			tt.change(w)
			_, r := w.load()
			err := w.store.Compare(r.Snapshot)
			if tt.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			f := fault.As(err)
			if f == nil || f.Code != fault.ConfigurationChanged {
				t.Fatalf("got %v, want configuration.changed", err)
			}
			if want := strings.ReplaceAll(tt.want, "DIR", w.path("")); !strings.Contains(f.Args["differences"], want) {
				t.Errorf("differences %q lack %q", f.Args["differences"], want)
			}
			if strings.Contains(f.Args["differences"], applied.FingerprintKey) {
				t.Errorf("differences %q name the fingerprint, which says nothing", f.Args["differences"])
			}
			if got, want := f.Args["command"], "/opt/agent-mcp apply "+w.places.Config; got != want {
				t.Errorf("command %q, want %q", got, want)
			}
			if !bytes.Equal(before, w.stored()) {
				t.Error("the start changed the record")
			}
		})
	}
	t.Run("never applied", func(t *testing.T) {
		w := newWorld(t, "en")
		_, r := w.load()
		if f := fault.As(w.store.Compare(r.Snapshot)); f == nil || f.Code != fault.ConfigurationAbsent || f.Variant != "" {
			t.Errorf("got %v", f)
		}
	})
}

func replaceLink(t *testing.T, target, link string) {
	t.Helper()
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
}

// proves A-CLI-03
func TestShowChangesNothing(t *testing.T) {
	w := newWorld(t, "en")
	if _, err := w.show(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(w.places.StateRoot); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("show made the state root: %v", err)
	}
}

func TestCancelledApplyStoresNothing(t *testing.T) {
	w := newWorld(t, "en")
	l, r := w.load()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Apply(ctx, l, r, w.store, UI{Out: io.Discard, Yes: true}); !errors.Is(err, context.Canceled) || w.stored() != nil {
		t.Errorf("got %v, stored %q", err, w.stored())
	}
}
