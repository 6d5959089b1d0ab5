package rootio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sekisho/internal/sandbox"
)

// The walk agrees with an independent resolver: what resolves to a place inside the roots is the same object, everything
// else is refused. Links lead inside, to another root, outside, or nowhere; declared ones lie outside, lead to a root, directly
// or through one another, and are real links on the disk for the other resolver.
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
		for _, d := range []string{"/w", "/r", "/out", "/p"} {
			must(t, os.Mkdir(dir+d, 0o755))
			must(t, os.WriteFile(dir+d+"/f", nil, 0o644))
		}
		must(t, os.Symlink(rapid.SampledFrom([]string{"../w", "../r/.", dir + "/w", dir + "/p/../r"}).Draw(rt, "link"), dir+"/p/l"))
		must(t, os.Symlink(rapid.SampledFrom([]string{"p/l", "w", dir + "/p/l/", dir + "/r"}).Draw(rt, "chain"), dir+"/k"))
		var links []sandbox.Link
		for _, l := range []string{dir + "/k", dir + "/p/l"} {
			target, err := filepath.EvalSymlinks(l)
			must(t, err)
			links = append(links, sandbox.Link{Path: l, Target: target})
		}
		relative := func() string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "f", "..", ".", "k", "p", "l"}), 1, 4).Draw(rt, "elements"), "/")
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
						base := rapid.SampledFrom([]string{"/w", "/r", "/out", "/k", "/p/l", "/p", ""}).Draw(rt, "base")
						rest := relative()
						if base == "/out" { // no way back: the other resolver would go through what the walk may not see
							rest = strings.ReplaceAll(rest, "..", "a")
						}
						must(t, os.Symlink(dir+base+"/"+rest, p))
					}
				}
			}
		}
		v := world{dir, dir + "/w", dir + "/r", dir + "/out"}
		s := newLinkedSet(t, links, v.roots(t)...)
		defer s.Close()
		for range 10 {
			path := rapid.SampledFrom([]string{v.w, dir + "/k", dir + "/p/l", dir}).Draw(rt, "start") + "/" + relative()
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
