package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sekisho/internal/agent/config/applied"
	"sekisho/internal/fileop"
)

// world is a configuration on disk with a workspace, a mount and a program.
type world struct {
	t      *testing.T
	places Places
	store  *applied.Store
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
	w.places.Program = "/opt/agent-mcp"
	w.store = w.places.Store(fileop.OS())
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
