//go:build linux

package mounts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/sandbox"
)

const mountinfo = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw,nosuid shared:2 - proc proc rw
30 22 0:30 / /home/u/src/data rw - tmpfs tmpfs rw
31 30 0:31 / /home/u/src/data/inner rw - tmpfs tmpfs rw
32 22 0:32 / /home/u/src/data-b rw - tmpfs tmpfs rw
33 22 0:33 / /home/u/src/with\040blank\134 rw - tmpfs tmpfs rw
34 22 0:34 / /home/u/src-else rw - tmpfs tmpfs rw
35 22 0:35 / /home/u/src rw - tmpfs tmpfs rw
`

// proves A-POL-02, A-SBX-01
func TestMountsUnder(t *testing.T) {
	for path, want := range map[string][]string{
		"/home/u/src":      {"/data", "/data-b", `/with blank\`},
		"/home/u/src/data": {"/inner"},
		"/home/u/sr":       nil,
		"/usr":             nil,
		"/home":            {"/u/src", "/u/src-else"},
	} {
		if d := cmp.Diff(want, mountsUnder(mountPoints(mountinfo), path)); d != "" {
			t.Errorf("%s: (-want +got)\n%s", path, d)
		}
	}
}

// FuzzMountsUnder reads arbitrary text: every result lies below the path, and none below another.
func FuzzMountsUnder(f *testing.F) {
	f.Add(mountinfo, "/home/u/src")
	f.Add("1 2 3", "/")
	f.Fuzz(func(t *testing.T, info, path string) {
		found := mountsUnder(mountPoints(info), path)
		for i, rel := range found {
			if len(rel) < 2 || rel[0] != '/' {
				t.Fatalf("%q", rel)
			}
			for j, other := range found {
				if i != j && strings.HasPrefix(rel, other+"/") {
					t.Fatalf("%q lies below %q", rel, other)
				}
			}
		}
	})
}

// proves A-POL-01, A-SBX-01
func TestAttr(t *testing.T) {
	const r, w, d, x = sandbox.Read, sandbox.Write, sandbox.Delete, sandbox.Execute
	for rights, want := range map[sandbox.Rights]uint64{
		r:             Base | ReadOnly | NoExec,
		r | x:         Base | ReadOnly,
		r | w:         Base | NoExec,
		r | w | d:     Base | NoExec,
		r | w | d | x: Base,
	} {
		if got := Attr(rights); got != want {
			t.Errorf("%s: got %#x, want %#x", rights, got, want)
		}
	}
}
