package guard

import (
	"os"
	"path/filepath"
	"testing"

	"sekisho/internal/sandbox/rootio"
)

// A link behind a mount of a root leads nowhere: reading it could ask a server that never answers, or tell one that we look. What a
// root has below its own mount is followed.
//
// proves A-POL-13
func TestALinkBehindAMountLeadsNowhere(t *testing.T) {
	const mounted = "/dev/shm" // another mount than /, or behind one, on every Linux
	dir, err := os.MkdirTemp(mounted, "sekisho-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Mkdir(dir+"/d", 0o755))
	must(t, os.Symlink("d", dir+"/link"))
	within := func(root string) *behind {
		r, err := rootio.Exact(root)
		must(t, err)
		defer r.Close()
		return &behind{ctx: t.Context(), roots: []WatchedRoot{{root, r.Info().ID}}}
	}
	real, err := filepath.EvalSymlinks(dir)
	must(t, err)
	if to, ok := within(filepath.Dir(real)).follow(real + "/link"); !ok || to != real+"/d" {
		t.Errorf("the control: a link of a root leads to %q, %v", to, ok)
	}
	if to, ok := within("/").follow(real + "/link"); ok {
		t.Errorf("behind a mount a link leads to %q", to)
	}
}
