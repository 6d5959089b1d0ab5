package guard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
)

// world is a writable workspace w, with room for quarantines and a place outside.
type world struct {
	t             *testing.T
	w, out, state string
	policy        sandbox.EffectivePolicy
}

func newWorld(t *testing.T) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	v := &world{t: t, w: base + "/w", out: base + "/out", state: base + "/quarantine"}
	for _, d := range []string{v.w, v.out, v.state} {
		must(t, os.Mkdir(d, 0o700))
	}
	v.grant(v.w)
	return v
}

func (v *world) grant(path string) {
	v.t.Helper()
	r, err := rootio.Exact(path)
	must(v.t, err)
	defer r.Close()
	v.policy.Roots = append(v.policy.Roots, sandbox.Root{Path: path, ID: r.Info().ID, Origins: []sandbox.Origin{sandbox.OriginWorkspace},
		Rights: sandbox.Read | sandbox.Write | sandbox.Delete | sandbox.Execute})
}

// make creates paths below the base of w: one that ends in "/" is a directory, one with " -> " a link, one with " = " a hard
// link, any other a file with its path as content, or what stands behind ": ".
func (v *world) make(paths ...string) {
	v.t.Helper()
	base := filepath.Dir(v.w)
	for _, p := range paths {
		name, text, isText := strings.Cut(p, ": ")
		if name, to, ok := strings.Cut(p, " -> "); ok && !isText {
			must(v.t, os.MkdirAll(filepath.Dir(base+"/"+name), 0o755))
			must(v.t, os.Symlink(to, base+"/"+name))
			continue
		}
		if name, to, ok := strings.Cut(p, " = "); ok && !isText {
			must(v.t, os.MkdirAll(filepath.Dir(base+"/"+name), 0o755))
			must(v.t, os.Link(base+"/"+to, base+"/"+name))
			continue
		}
		if dir, ok := strings.CutSuffix(p, "/"); ok {
			must(v.t, os.MkdirAll(base+"/"+dir, 0o755))
			continue
		}
		must(v.t, os.MkdirAll(filepath.Dir(base+"/"+name), 0o755))
		must(v.t, os.WriteFile(base+"/"+name, []byte(text), 0o644))
	}
}

func (v *world) survey() *Findings {
	v.t.Helper()
	f, err := Survey(v.t.Context(), &v.policy)
	must(v.t, err)
	v.t.Cleanup(func() { f.Close() })
	return f
}

// guards lists the guards as "reason path", paths from the base on.
func (v *world) guards() []string {
	v.t.Helper()
	var out []string
	for _, g := range v.survey().Guards {
		out = append(out, string(g.Reason)+" "+strings.TrimPrefix(g.Path, filepath.Dir(v.w)+"/"))
	}
	return out
}

// sweep moves what a survey of before did not know, and lists it by its path from the base on.
func (v *world) sweep(w Watch) []string {
	v.t.Helper()
	state, err := os.Open(v.state)
	must(v.t, err)
	defer state.Close()
	q := NewQuarantine(fileop.OS(), state, "task")
	moved, gone, err := Sweep(v.t.Context(), fileop.OS(), w, q)
	must(v.t, err)
	must(v.t, q.Close())
	if len(gone) > 0 {
		v.t.Errorf("gone: %v", gone)
	}
	var out []string
	for _, m := range moved {
		rel := strings.TrimPrefix(m.Path, filepath.Dir(v.w)+"/")
		switch _, err := os.Lstat(m.Path); {
		case m.To == "":
			rel += " (replaced)"
		case !errors.Is(err, fs.ErrNotExist):
			v.t.Errorf("%s is still there", m.Path)
		}
		if m.To != "" {
			if _, err := os.Lstat(m.To); err != nil {
				v.t.Errorf("%s is not at %s: %v", m.Path, m.To, err)
			}
		}
		out = append(out, rel)
	}
	slices.Sort(out)
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
