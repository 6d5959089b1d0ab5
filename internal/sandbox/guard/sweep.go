package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/rootio"
)

// Watch is what Sweep needs to know of a task's start. It is journalled before anything runs, so that a later server can
// sweep after a crash.
type Watch struct {
	Roots  []WatchedRoot `json:"roots"`
	Kept   []Kept        `json:"kept,omitempty"` // sorted by path
	Extras []extra       `json:"extras,omitempty"`
	// Behind are objects of no protected place that a link of a working tree led to at the start; sorted by path.
	Behind []Kept `json:"behind,omitempty"`
	// Home is the task's HOME when it stays; nothing is swept in it, but no link of a root may lead to what tools run there.
	Home string `json:"home,omitempty"`
}

// Kept is an object that existed at the start and was bound read-only.
type Kept struct {
	Path string         `json:"path"`
	ID   sandbox.FileID `json:"id"`
}

// ErrGone tells that a root is another object by now, or none.
var ErrGone = errors.New("another object is there now")

// WatchedRoot is one writable root.
type WatchedRoot struct {
	Path string         `json:"path"`
	ID   sandbox.FileID `json:"id"`
}

// Watch makes the Watch of a survey of p; the zero one when nothing can be left that would have to be moved.
func (f *Findings) Watch(p *sandbox.EffectivePolicy) Watch {
	var w Watch
	if p.ToolConfigWrites {
		return w
	}
	for _, r := range guardable(p) {
		w.Roots = append(w.Roots, WatchedRoot{r.Path, r.ID})
	}
	for _, g := range f.Guards {
		if id, ok := f.ids[g.Path]; ok || g.Reason == sandbox.GuardToolConfig {
			w.Kept = append(w.Kept, Kept{g.Path, id})
		}
	}
	w.Extras, w.Behind = f.extras, f.behind
	return w
}

// Empty tells that there is nothing to sweep.
func (w *Watch) Empty() bool { return len(w.Roots) == 0 }

// Check refuses a Watch that no version of this program journals.
func (w *Watch) Check() error {
	var paths []string
	for _, k := range w.Kept {
		paths = append(paths, k.Path)
	}
	var links []string
	for _, k := range w.Behind {
		links = append(links, k.Path)
	}
	if !slices.IsSorted(paths) || !slices.IsSorted(links) {
		return errors.New("the kept paths are not sorted")
	}
	paths = append(paths, links...)
	if w.Home != "" {
		paths = append(paths, w.Home)
	}
	for _, r := range w.Roots {
		paths = append(paths, r.Path)
	}
	for _, e := range w.Extras {
		paths = append(paths, e.Path)
	}
	for _, p := range paths {
		if !path.IsAbs(p) || path.Clean(p) != p {
			return fmt.Errorf("watched path %q is not absolute and clean", p)
		}
	}
	return nil
}

// Sweep moves what tools would run and what the task's start did not know to q. It may run only when no process of the task
// lives, and may be repeated. An object that somebody on the host replaced while the task ran, and whose protection the
// kernel dropped therewith, stays; it is reported without a place. Moved is complete also beside an error, which means that something may be left. Gone lists
// the roots that are no longer the objects that were watched: whoever moved them took along what lies in them.
func Sweep(ctx context.Context, fsys fileop.FS, w Watch, q *Quarantine) (moved []sandbox.Quarantined, gone []string, err error) {
	s := &sweep{fsys: fsys, watch: w, quarantine: q}
	s.behind = &behind{ctx: ctx, roots: w.Roots, home: w.Home, found: func(v *rootio.Visit) bool {
		return !seen(w.Behind, v.Path, v.Info.ID) && !seen(w.Kept, v.Path, v.Info.ID)
	}}
	for _, r := range w.Roots {
		root, err := rootio.Open(r.Path, r.ID)
		if err != nil {
			gone = append(gone, r.Path)
			continue
		}
		err = s.walk(ctx, root, policy.Start(r.Path))
		root.Close()
		if err != nil {
			return s.moved, gone, err
		}
	}
	for _, e := range w.Extras {
		if err := s.extra(ctx, e); err != nil {
			return s.moved, gone, err
		}
	}
	return s.moved, gone, nil
}

type sweep struct {
	fsys       fileop.FS
	watch      Watch
	quarantine *Quarantine
	behind     *behind
	moved      []sandbox.Quarantined

	root  *rootio.Root
	stack []policy.Place
}

func (s *sweep) walk(ctx context.Context, root *rootio.Root, place policy.Place) (err error) {
	s.root, s.stack = root, []policy.Place{place}
	if closed := root.Walkable(); errors.Is(closed, fs.ErrPermission) && own(root.Info()) {
		restore, err := root.MakeWritable() // a task may close a root itself
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, restore()) }()
		return root.Walk(ctx, s)
	}
	return root.Walk(ctx, s)
}

// extra sweeps a place that is protected for what it is used for.
func (s *sweep) extra(ctx context.Context, e extra) error {
	root, err := rootio.Exact(e.Path)
	switch {
	case err == nil && root.Info().Kind == rootio.Dir && e.Place != policy.ToolConfig:
		defer root.Close()
		return s.walk(ctx, root, e.Place)
	case err == nil:
		root.Close()
	default:
		if _, err := os.Stat(e.Path); err != nil { // still missing; a way that was made through links counts as there
			return nil
		}
	}
	return s.take(ctx, e.Path)
}

// take moves what lies at, or leads to, a path that was missing at the start: the first name of it that is new.
func (s *sweep) take(ctx context.Context, name string) error {
	for _, w := range s.watch.Roots {
		if !policy.Within(w.Path, name) || name == w.Path {
			continue
		}
		dir, rest := w.Path, elements(strings.TrimPrefix(name, w.Path))
		for i, e := range rest {
			parent, err := rootio.Exact(dir)
			if err != nil {
				return nil // what is no directory any more leads nowhere
			}
			at := path.Join(dir, e)
			if st, err := os.Lstat(at); i == len(rest)-1 || err == nil && st.Mode()&fs.ModeSymlink != 0 {
				err = s.only(ctx, parent, e)
				parent.Close()
				return err
			}
			parent.Close()
			dir = at
		}
	}
	return nil
}

// only moves one name below a directory.
func (s *sweep) only(ctx context.Context, dir *rootio.Root, name string) error {
	s.root, s.stack = dir, nil
	return dir.Walk(ctx, onlyName{s, name})
}

type onlyName struct {
	*sweep
	name string
}

func (o onlyName) Visit(v *rootio.Visit) (bool, error) {
	if v.Name != o.name || v.Mounted || o.kept(v) {
		return false, nil
	}
	return false, o.move(v)
}

// Visit implements rootio.Walker.
func (s *sweep) Visit(v *rootio.Visit) (bool, error) {
	if v.Mounted {
		return false, nil // no process of the task saw it
	}
	around := s.stack[len(s.stack)-1]
	around, place := enter(around, v)
	if place == policy.ToolConfig && s.kept(v) {
		return false, nil
	}
	if place == policy.ToolConfig && !inert(around, v, s.watch.Roots) || v.TooDeep {
		return false, s.move(v)
	}
	if writtenThrough(around, v) {
		if s.kept(v) {
			return false, nil
		}
		return false, s.move(v)
	}
	if v.Link && place == policy.Tree {
		found, err := s.behind.link(v.Path)
		if err == nil && found {
			err = s.move(v)
		}
		return false, err
	}
	if place == policy.ToolConfig || v.Info.Kind != rootio.Dir {
		return false, nil
	}
	s.stack = append(s.stack, place)
	return true, nil
}

// kept tells whether the name existed at the task's start, and notes when it is another object by now.
func (s *sweep) kept(v *rootio.Visit) bool {
	i, found := slices.BinarySearchFunc(s.watch.Kept, v.Path, func(k Kept, p string) int { return strings.Compare(k.Path, p) })
	if found && s.watch.Kept[i].ID != v.Info.ID {
		s.moved = append(s.moved, sandbox.Quarantined{Path: v.Path})
	}
	return found
}

// Leave implements rootio.Walker.
func (s *sweep) Leave(string) error {
	s.stack = s.stack[:len(s.stack)-1]
	return nil
}

// Unreadable implements rootio.Walker: a task may have closed what it left, and whoever opens it finds it.
func (s *sweep) Unreadable(v *rootio.Visit, _ error) (func() (func() error, error), error) {
	if !own(v.Info) {
		return nil, s.Leave(v.Path) // somebody else's; no process of the task could look inside, either
	}
	return func() (func() error, error) { return rootio.MakeWritable(v.Dir, v.Name) }, nil
}

// move takes one name away. A directory that its owner may not write keeps its names until it is made writable.
func (s *sweep) move(v *rootio.Visit) error {
	to, err := s.quarantine.take(s.root, v)
	if errors.Is(err, fs.ErrPermission) {
		to, err = s.opened(v)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, derr := rootio.Describe(v.Dir, v.Name); errors.Is(derr, fs.ErrNotExist) {
			return nil // somebody on the host took it away
		}
	}
	if err != nil {
		return fmt.Errorf("moving %s to the quarantine: %w", v.Path, err)
	}
	s.moved = append(s.moved, sandbox.Quarantined{Path: v.Path, To: to})
	return nil
}

func (s *sweep) opened(v *rootio.Visit) (to string, err error) {
	restore, err := rootio.MakeHeldWritable(v.Dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, restore()) }()
	if v.Info.Kind == rootio.Dir { // moving a directory changes its own ".."
		if _, err := rootio.MakeWritable(v.Dir, v.Name); err != nil {
			return "", err
		}
	}
	return s.quarantine.take(s.root, v)
}
