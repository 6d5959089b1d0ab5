package config

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
)

var update = flag.Bool("update", false, "write the transcripts in testdata anew")

// world is a configuration on disk with a workspace, a mount and a program.
type world struct {
	t      *testing.T
	places Places
	store  *Store
}

const worldYAML = `schema_version: 2
application: {language: LANG}
sandbox:
  workspaces: [../ws]
  mounts:
    - {path: ../data, access: read_only}
  execution:
    entries:
      - {alias: tool, path: ../rt/bin/tool, runtime_root: ../rt}
      - {alias: Shell, path: ../sh-link}
`

func newWorld(t *testing.T, lang string) *world {
	w := &world{t: t, places: place(t, strings.Replace(worldYAML, "LANG", lang, 1), "")}
	for _, d := range []string{"ws", "data", "rt/bin", "elsewhere"} {
		if err := os.MkdirAll(w.path(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, w.path("rt/bin/tool"), "program one")
	put(t, w.path("elsewhere/bash"), "a shell by its resolved name")
	for _, f := range []string{"rt/bin/tool", "elsewhere/bash"} {
		if err := os.Chmod(w.path(f), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("elsewhere/bash", w.path("sh-link")); err != nil {
		t.Fatal(err)
	}
	w.store = NewStore(fileop.OS(), w.places.StateRoot)
	return w
}

func (w *world) path(rel string) string {
	return filepath.Join(filepath.Dir(filepath.Dir(w.places.Config)), rel)
}

func (w *world) edit(old, new string) {
	w.t.Helper()
	data, err := os.ReadFile(w.places.Config)
	if err != nil {
		w.t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		w.t.Fatalf("nothing to edit: %q", old)
	}
	put(w.t, w.places.Config, strings.Replace(string(data), old, new, 1))
}

// load resolves without errors.
func (w *world) load() (*Loaded, *Resolved) {
	w.t.Helper()
	l, p := Load(w.places)
	if p.Err() != nil {
		w.t.Fatal(report(w.t, p, l.Locale, w.places))
	}
	r, p := Resolve(l)
	if p.Err() != nil {
		w.t.Fatal(report(w.t, p, l.Locale, w.places))
	}
	return l, r
}

// apply runs Apply with an answer; "--yes" skips the question, "" is no terminal.
func (w *world) apply(answer string) (string, error) {
	w.t.Helper()
	l, r := w.load()
	var out strings.Builder
	ui := UI{In: strings.NewReader(answer), Out: &out, Terminal: answer != "", Yes: answer == "--yes"}
	err := Apply(context.Background(), l, r, w.store, ui)
	return out.String(), err
}

// show runs Show, also with problems.
func (w *world) show() (string, error) {
	w.t.Helper()
	l, p := Load(w.places)
	if p.Err() != nil {
		w.t.Fatal(report(w.t, p, l.Locale, w.places))
	}
	r, p := Resolve(l)
	var out strings.Builder
	err := Show(&out, l, r, p, w.store)
	return out.String(), err
}

// stored is the snapshot's bytes, nil when there is none.
func (w *world) stored() []byte {
	w.t.Helper()
	data, err := os.ReadFile(w.store.Path(w.places.Config))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	return data
}

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// machineRow matches what differs between systems or belongs to other packages: the system's own roots and the baseline.
var machineRow = regexp.MustCompile(`(?m)^.*(os_runtime_root|  baseline  ).*\n`)

// golden compares with a transcript in testdata; what differs between machines is taken out.
func (w *world) golden(name, got string) {
	w.t.Helper()
	l, _ := Load(w.places)
	got = strings.ReplaceAll(got, w.path(""), "/DIR")
	got = strings.ReplaceAll(got, l.Fingerprint, "FINGERPRINT")
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
		{"a value outside the sandbox", func(w *world) { w.edit("sandbox:", "planner: {max_tasks: 9}\nsandbox:") }, "~ yaml.fingerprint: "},
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
			if got, want := f.Args["command"], "agent-mcp apply "+w.places.Config; got != want {
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

// proves A-CFG-04, A-CFG-05, ST-23
func TestCorruptRecordIsRefusedAndLeftAlone(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(data []byte, path string) []byte
	}{
		{"empty", func([]byte, string) []byte { return nil }},
		{"cut", func(d []byte, _ string) []byte { return d[:len(d)/2] }},
		{"unknown member", func(d []byte, _ string) []byte { return bytes.Replace(d, []byte("{"), []byte(`{"x":1,`), 1) }},
		{"other schema", func(d []byte, _ string) []byte {
			return bytes.Replace(d, []byte(`"schema_version":1`), []byte(`"schema_version":2`), 1)
		}},
		{"short hash", func(d []byte, _ string) []byte {
			return bytes.Replace(d, []byte(hashOf("program one")), []byte("abc"), 1)
		}},
		{"upper-case hash", func(d []byte, _ string) []byte {
			return bytes.Replace(d, []byte(hashOf("program one")), []byte(strings.ToUpper(hashOf("program one"))), 1)
		}},
		{"relative path", func(d []byte, _ string) []byte {
			return regexp.MustCompile(`"resolved":"/`).ReplaceAll(d, []byte(`"resolved":"`))
		}},
		{"unknown access", func(d []byte, _ string) []byte {
			return bytes.Replace(d, []byte(`"read_only"`), []byte(`"execute"`), 1)
		}},
		{"alias twice", func(d []byte, _ string) []byte { return bytes.Replace(d, []byte(`"Shell"`), []byte(`"TOOL"`), 1) }},
		{"another configuration's", func(d []byte, _ string) []byte {
			return bytes.Replace(d, []byte(`conf/agent.yaml`), []byte(`conf/other.yaml`), 1)
		}},
		{"writable by the group", func(d []byte, path string) []byte {
			if err := os.Chmod(path, 0o620); err != nil {
				panic(err)
			}
			return d
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, "en")
			if _, err := w.apply("--yes"); err != nil {
				t.Fatal(err)
			}
			path := w.store.Path(w.places.Config)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			damaged := tt.damage(w.stored(), path)
			if err := os.WriteFile(path, damaged, info.Mode()); err != nil {
				t.Fatal(err)
			}
			want := fault.New(fault.ConfigurationAbsent, fault.Variant("corrupt"))
			_, r := w.load()
			if err := w.store.Compare(r.Snapshot); !errors.Is(err, want) {
				t.Errorf("start: %v", err)
			}
			if _, err := w.apply("--yes"); !errors.Is(err, want) {
				t.Errorf("apply: %v", err)
			}
			if _, err := w.show(); !errors.Is(err, want) {
				t.Errorf("show: %v", err)
			}
			if !bytes.Equal(w.stored(), damaged) {
				t.Error("the record was repaired")
			}
		})
	}
}

// failing is an FS whose n-th effect fails.
type failing struct {
	fileop.FS
	left int
}

var errInjected = errors.New("injected")

func (f *failing) step() error {
	if f.left--; f.left < 0 {
		return errInjected
	}
	return nil
}

func (f *failing) Create(dir *os.File, name string, perm os.FileMode) (*os.File, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	return f.FS.Create(dir, name, perm)
}

func (f *failing) Write(file *os.File, p []byte) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.Write(file, p)
}

func (f *failing) Sync(file *os.File) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.Sync(file)
}

func (f *failing) Rename(a *os.File, an string, b *os.File, bn string, replace bool) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.Rename(a, an, b, bn, replace)
}

// proves A-CFG-03, ST-23
func TestSnapshotIsReplacedWholeOrNotAtAll(t *testing.T) {
	w := newWorld(t, "en")
	if _, err := w.apply("--yes"); err != nil {
		t.Fatal(err)
	}
	old := w.stored()
	w.edit("[../ws]", "[../ws, ../elsewhere]")
	l, r := w.load()
	for n := 0; ; n++ {
		fsys := &failing{FS: fileop.OS(), left: n}
		err := Apply(context.Background(), l, r, NewStore(fsys, w.places.StateRoot), UI{Out: io.Discard, Yes: true})
		now := w.stored()
		if err == nil {
			if bytes.Equal(now, old) {
				t.Error("applied, but the old record is there")
			}
			if n < 3 {
				t.Errorf("only %d effects were tried", n)
			}
			break
		}
		if !bytes.Equal(now, old) {
			if _, derr := decodeSnapshot(now); derr != nil {
				t.Fatalf("after a failure of effect %d: %v", n, derr)
			}
		}
	}
	entries, err := os.ReadDir(filepath.Dir(w.store.Path(w.places.Config)))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("failed attempts left files: %v", entries)
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
