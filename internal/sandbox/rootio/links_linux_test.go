package rootio

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
)

// proves A-POL-02, A-TOOL-02
func TestDeclaredLinks(t *testing.T) {
	v := newWorld(t)
	must(t, os.MkdirAll(v.dir+"/home/me/link-evil", 0o755))
	must(t, os.MkdirAll(v.w+"/nested", 0o755))
	must(t, os.WriteFile(v.w+"/nested/f", nil, 0o644))
	must(t, os.WriteFile(v.dir+"/entry", nil, 0o755))
	must(t, os.Symlink(v.w, v.dir+"/home/me/link"))
	must(t, os.Symlink(v.w, v.dir+"/home/me/undeclared"))
	for name, to := range map[string]string{"back": v.dir + "/home/me/link/f", "loop": v.dir + "/home/me/link/loop", "up": "../home/me/link/d/f", "to": v.dir + "/home/me/undeclared/f"} {
		must(t, os.Symlink(to, v.w+"/"+name))
	}
	for i := range 42 {
		to := fmt.Sprintf("c%d", i+1)
		if i == 41 {
			to = "f"
		}
		must(t, os.Symlink(to, fmt.Sprintf("%s/c%d", v.w, i)))
	}
	links := []sandbox.Link{
		{Path: v.dir + "/bin/tool", Target: v.dir + "/entry"},
		{Path: v.dir + "/home/me/link", Target: v.w},
		{Path: v.dir + "/home/me/link/d", Target: v.r}, // below another: reached through that one
		{Path: v.dir + "/n", Target: v.w + "/nested"},
		{Path: v.w + "/d", Target: v.r}, // in a root: its own content
	}
	roots := append(v.roots(t), root(t, v.w+"/nested", rwdx, sandbox.OriginWorkspace), root(t, v.dir+"/entry", sandbox.Read|sandbox.Execute, sandbox.OriginApprovedEntry))
	s := newLinkedSet(t, links, roots...)
	cases := []struct {
		path string
		want Want
		got  string // resolved path below v.dir, or the error
	}{
		{"/home/me/link", Existing, "/w"},
		{"/home/me/link/", Existing, "/w"},
		{"/home/me/link/f", Existing, "/w/f"},
		{"/home/me/link/d/f", Existing, "/w/d/f"},
		{"/home//me/./link/d/../f", Existing, "/w/f"},
		{"/home/me/link/new", MayCreate, "/w/new"},
		{"/home/me/link/a/b", MayCreateParents, "/w/a/b"},
		{"/home/me/link/no", Existing, "missing"},
		{"/home/me/link/f/x", Existing, "not a directory"},
		{"/home/me/link/..", Existing, "outside_roots"},
		{"/home/me/link/../r/f", Existing, "/r/f"}, // as the kernel: the parent of where the link leads
		{"/home/me/link/../link/f", Existing, "outside_roots"},
		{"/home/me/link/../home/me/link/f", Existing, "/w/f"},
		{"/home/me/../me/link/f", Existing, "/w/f"},
		{"/home/me/link/../out/s", Existing, "outside_roots"},
		{"/w/../home/me/link/f", Existing, "/w/f"},
		{"/w/back", Existing, "/w/f"},
		{"/w/up", Existing, "/w/d/f"},
		{"/w/to", Existing, "outside_roots"},
		{"/w/loop", Existing, "link_cycle"},
		{"/w/c2", Existing, "/w/f"},
		{"/home/me/link/c3", Existing, "/w/f"},
		{"/home/me/link/c2", Existing, "link_cycle"}, // the declared link is one of the 40
		{"/home/me/link/nested/f", Existing, "/w/nested/f"},
		{"/n/f", Existing, "/w/nested/f"},
		{"/n/../f", Existing, "/w/f"},
		{"/bin/tool", Existing, "/entry"},
		{"/bin/tool/", Existing, "not a directory"},
		{"/bin/tool/x", Existing, "not a directory"},
		{"/bin", Existing, "outside_roots"},
		{"/home/me", Existing, "outside_roots"},
		{"/home/me/new", MayCreate, "outside_roots"},
		{"/home/me/link-evil", Existing, "outside_roots"},
		{"/home/me/linkx/f", Existing, "outside_roots"},
		{"/home/me/undeclared/f", Existing, "outside_roots"},
	}
	check := func(s *Set, when string) {
		for _, c := range cases {
			path, problem := resolve(t, s, v.dir+c.path, c.want)
			got := problem
			if problem == "" {
				got = strings.TrimPrefix(path, v.dir)
			}
			if got != c.got {
				t.Errorf("%s: Resolve(%q, %d) = %q, want %q", when, c.path, c.want, got, c.got)
			}
		}
	}
	check(s, "applied")
	target, err := s.Resolve(v.dir+"/home/me/link", Existing)
	must(t, err)
	defer target.Close()
	if err := target.CheckChange(); word(err) != "busy" {
		t.Errorf("removing a declared link: %v", err)
	}
	// The host's link is not read again: it stays what was applied.
	must(t, os.Remove(v.dir+"/home/me/link"))
	check(s, "link removed")
	must(t, os.Symlink(v.out, v.dir+"/home/me/link"))
	check(s, "link swapped")

	control := newSet(t, roots...)
	for _, path := range []string{"/home/me/link/f", "/n/f", "/bin/tool"} {
		if _, got := resolve(t, control, v.dir+path, Existing); got != "outside_roots" {
			t.Errorf("without the links %s: %q, want outside_roots", path, got)
		}
	}
}

// proves A-POL-02
func TestLinkThatWouldHideARootIsRefused(t *testing.T) {
	v := newWorld(t)
	must(t, os.MkdirAll(v.dir+"/a/b", 0o755))
	roots := append(v.roots(t), root(t, v.dir+"/a/b", sandbox.Read, sandbox.OriginMount))
	for _, l := range []sandbox.Link{{Path: v.dir + "/a", Target: v.w}, {Path: "/", Target: v.w}, {Path: "relative", Target: v.w}, {Path: v.dir + "/l/../l", Target: v.w}, {Path: v.dir + "/l", Target: "w"}, {}} {
		if s, err := NewSet(fileop.OS(), roots, []sandbox.Link{l}); err == nil {
			s.Close()
			t.Errorf("%+v was accepted", l)
		}
	}
}
