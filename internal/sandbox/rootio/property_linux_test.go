package rootio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The walk agrees with an independent resolver: what resolves to a place inside the roots is the same object, everything
// else is refused. Links lead inside, to another root, outside, or nowhere.
//
// proves A-POL-02
func TestResolveAgreesWithAnotherResolver(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		must(t, err)
		dir, err = filepath.EvalSymlinks(dir)
		must(t, err)
		defer os.RemoveAll(dir)
		names := []string{"a", "b", "c"}
		for _, d := range []string{"/w", "/r", "/out"} {
			must(t, os.Mkdir(dir+d, 0o755))
			must(t, os.WriteFile(dir+d+"/f", nil, 0o644))
		}
		relative := func() string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "f", "..", "."}), 1, 4).Draw(rt, "elements"), "/")
		}
		for _, top := range []string{dir + "/w", dir + "/r"} {
			for _, sub := range append([]string{""}, "/a", "/a/b", "/b") {
				if st, err := os.Lstat(top + sub); err != nil || !st.IsDir() {
					continue
				}
				for _, name := range names {
					p := top + sub + "/" + name
					if _, err := os.Lstat(p); err == nil {
						continue // made already, through a link
					}
					switch rapid.IntRange(0, 5).Draw(rt, "kind") {
					case 0, 1:
						must(t, os.Mkdir(p, 0o755))
					case 2:
						must(t, os.WriteFile(p, nil, 0o644))
					case 3:
						must(t, os.Symlink(relative(), p))
					case 4:
						base := rapid.SampledFrom([]string{"/w", "/r", "/out", ""}).Draw(rt, "base")
						must(t, os.Symlink(dir+base+"/"+relative(), p))
					}
				}
			}
		}
		v := world{dir, dir + "/w", dir + "/r", dir + "/out"}
		s := newSet(t, v.roots(t)...)
		defer s.Close()
		for range 10 {
			path := v.w + "/" + relative()
			got, problem := resolve(t, s, path, Existing)
			want, err := filepath.EvalSymlinks(path)
			inside := err == nil && (within(v.w, want) || within(v.r, want))
			if problem == "link_cycle" {
				continue // the other resolver allows longer chains
			}
			if inside != (problem == "") || inside && got != want {
				rt.Fatalf("Resolve(%q) = %q, %q; the other resolver says %q, %v", path, got, problem, want, err)
			}
		}
	})
}
