package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sekisho/internal/sandbox"
)

// as is d, declared by another path.
func (d Directory) as(declared string) Directory {
	d.Declared = declared
	return d
}

// proves A-POL-02, A-POL-08
func TestDeclaredSpellingsArePartOfThePolicy(t *testing.T) {
	d := base(ProfileDevelopment)
	d.Workspaces = []Directory{dir("/data/proj").as("/home/me/link"), dir("/data/proj").as("/home/me/link"), dir("/data/proj").as("/also")}
	m := mount("/data/proj/sub", AccessReadWriteDelete)
	d.Mounts = []Mount{{m.as("/home/me/link/sub"), AccessReadWriteDelete}, // reached through the first link
		{dir("/m2").as("/data/proj/inner"), AccessReadOnly}, // lies in a root
		{dir("/m3").as("/usr/share/x"), AccessReadOnly},     // lies in the system's root
		{dir("/m4"), AccessReadOnly}, {dir("/m5").as(""), AccessReadOnly},
		{dir("/m6").as("/home/me/link-b"), AccessReadOnly}}
	d.Mounts[0].Path = "/m1"
	d.Entries = []Entry{entry("tool", "/opt/tool-1.2/bin/tool", "/opt/tool-1.2"), entry("sh", "/usr/bin/dash", "")}
	d.Entries[0].Declared, d.Entries[0].RuntimeRoot.Declared = "/home/me/bin/tool", "/opt/tool"
	d.Entries[1].Declared = "/bin/sh"
	p := compile(t, d)
	want := []sandbox.Link{
		{Path: "/also", Target: "/data/proj"},
		{Path: "/home/me/bin/tool", Target: "/opt/tool-1.2/bin/tool"},
		{Path: "/home/me/link", Target: "/data/proj"},
		{Path: "/home/me/link-b", Target: "/m6"},
		{Path: "/opt/tool", Target: "/opt/tool-1.2"},
	}
	if diff := cmp.Diff(want, p.Links); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/also", "/home/me/link"}, p.DeclaredAs("/data/proj")); diff != "" {
		t.Errorf("spellings of a root (-want +got):\n%s", diff)
	}
	var rows []string
	for _, r := range Matrix(p) {
		if r.Group == GroupLink {
			rows = append(rows, r.Subject+" "+r.Value)
		}
	}
	if len(rows) != len(want) || rows[0] != "/also /data/proj" {
		t.Errorf("matrix: %v", rows)
	}
	if got := compile(t, base(ProfileDevelopment)).Links; got != nil {
		t.Errorf("a policy without links has %v", got)
	}
}

// proves A-POL-02
func TestLinkThatNeedsATakenPlaceIsRefused(t *testing.T) {
	for declared, taken := range map[string]string{
		"/tmp/link": "/tmp", "/tmp": "/tmp", "/etc/alternatives/x": "/etc", "/dev/x": "/dev", "/proc/x": "/proc", "/sys/x": "/sys",
		"/opt":           "/opt/go/bin/go", // a root lies below it
		"/usr/bin/dash":  "",               // in the system's root: its own content
		"/m":             "",               // a root
		"/opt/go/bin/go": "",               // in a root
		"/e/tool":        "/e/tool",        // a file that is a root
		"/e/tool/x":      "/e/tool",        // below a file
		"/home/agent":    "",               // HOME gives way
		"/twice":         "/elsewhere",     // leads to two places
		"relative":       "system path",    // never comes from a configuration
		"/a/../b":        "system path",    // nor does this
		"/tmpx":          "",               // by element
		"/opt/go-1":      "",               // by element
		"/w\x00":         "system path",    // no path
		"/":              "system or root", // holds everything
	} {
		d := base(ProfileDevelopment)
		d.Entries = append(d.Entries, entry("e", "/e/tool", ""))
		d.Mounts = append(d.Mounts, Mount{dir("/elsewhere").as("/twice"), AccessReadOnly}, Mount{dir("/target").as(declared), AccessReadOnly})
		_, err := Compile(d)
		if taken == "" {
			if err != nil {
				t.Errorf("%s: %v", declared, err)
			}
			continue
		}
		problems, _ := err.(Problems)
		if len(problems) != 1 || problems[0].Where() != "sandbox.mounts[2].path" {
			t.Errorf("%s: %v, want one problem of the mount", declared, err)
			continue
		}
		f := problems[0].Fault
		if strings.HasPrefix(taken, "system") {
			continue
		}
		if f.Variant != "policy_link" || f.Args["taken"] != taken || f.Args["resolved"] != "/target" || f.Target != declared {
			t.Errorf("%s: %v %v, want it taken by %s", declared, f, f.Args, taken)
		}
	}
}

// Whatever is declared, a kept link hides nothing: it is no root, no root lies below it, it lies in no root and below no
// other link, and what it leads to is a root.
//
// proves A-POL-02
func TestLinkLaws(t *testing.T) {
	kept := 0
	rapid.Check(t, func(rt *rapid.T) {
		d := base(ProfileDevelopment)
		d.Workspaces, d.Mounts, d.Entries = nil, nil, nil
		for range rapid.IntRange(1, 5).Draw(rt, "workspaces") {
			d.Workspaces = append(d.Workspaces, dir(anyPath(rt, "resolved")).as(anyPath(rt, "declared")))
		}
		p, err := Compile(d)
		if err != nil {
			return
		}
		kept += len(p.Links)
		if !slices.IsSortedFunc(p.Links, func(a, b sandbox.Link) int { return strings.Compare(a.Path, b.Path) }) {
			rt.Fatalf("not sorted: %v", p.Links)
		}
		for i, l := range p.Links {
			if !slices.ContainsFunc(p.Roots, func(r sandbox.Root) bool { return r.Path == l.Target }) {
				rt.Fatalf("%v leads to no root of %v", l, rootList(&p))
			}
			for _, r := range p.Roots {
				if Within(r.Path, l.Path) || Within(l.Path, r.Path) {
					rt.Fatalf("%v and the root %s hide each other", l, r.Path)
				}
			}
			for j, o := range p.Links {
				if i != j && Within(o.Path, l.Path) {
					rt.Fatalf("%v lies below %v", l, o)
				}
			}
		}
	})
	if kept == 0 {
		t.Error("no link was ever kept")
	}
}
