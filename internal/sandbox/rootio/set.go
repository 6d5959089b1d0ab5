package rootio

import (
	"errors"
	"os"
	"slices"
	"strings"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
)

// Set is the open roots of one policy. It is safe for concurrent use.
type Set struct {
	fsys      fileop.FS
	roots     []*Root
	byPath    map[string]*member
	ancestors map[string]bool   // directories that lead to a root, "/" included
	links     map[string]string // the system's links beside an os_runtime_root, such as /bin
	emulate   bool              // apply permission bits ourselves: the server runs as root
}

// member is one root of the set.
type member struct {
	root  sandbox.Root
	open  *Root
	owner owner
}

// NewSet opens the roots and verifies the identity of each. A file root inside a directory root that grants at least
// the same is not kept apart: the directory covers it. The caller closes the Set.
func NewSet(fsys fileop.FS, roots []sandbox.Root) (*Set, error) {
	s := &Set{
		fsys:      fsys,
		byPath:    map[string]*member{},
		ancestors: map[string]bool{"/": true},
		links:     map[string]string{},
		emulate:   os.Geteuid() == 0,
	}
	for _, r := range roots {
		if r.File && coveredBy(roots, r) {
			continue
		}
		if err := s.add(r); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func (s *Set) add(r sandbox.Root) error {
	open, err := Open(r.Path, r.ID)
	if err != nil {
		return err
	}
	s.roots = append(s.roots, open)
	want := Dir
	if r.File {
		want = File
	}
	if open.info.Kind != want {
		return changed(r.Path, nil)
	}
	m := &member{root: r, open: open, owner: owner{open.info.UID, open.info.GID}}
	if slices.Contains(r.Origins, sandbox.OriginOSRuntimeRoot) {
		m.owner = nobody // the system's files are shown as they are, never as the task's own
		addSystemLinks(s.links, r.Path)
	}
	s.byPath[r.Path] = m
	for p := parent(r.Path); p != "/"; p = parent(p) {
		s.ancestors[p] = true
	}
	return nil
}

// Roots lists the roots that are kept open.
func (s *Set) Roots() []sandbox.Root {
	var out []sandbox.Root
	for _, r := range s.roots {
		out = append(out, s.byPath[r.path].root)
	}
	return out
}

// Close releases every root. Targets that are still open keep working.
func (s *Set) Close() error {
	var errs []error
	for _, r := range s.roots {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

func coveredBy(roots []sandbox.Root, file sandbox.Root) bool {
	return slices.ContainsFunc(roots, func(d sandbox.Root) bool {
		return !d.File && d.Rights.Has(file.Rights) && within(d.Path, file.Path)
	})
}

func within(root, path string) bool {
	rest, ok := strings.CutPrefix(path, root)
	return ok && (rest == "" || root == "/" || rest[0] == '/')
}

func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}
