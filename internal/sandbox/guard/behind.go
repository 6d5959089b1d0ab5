package guard

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/rootio"
)

// behind looks through links of working trees into directories where nothing is protected because nobody works there:
// installed packages, git's data, HOME. Whoever enters the link works there, and its tools find what lies there.
type behind struct {
	ctx   context.Context
	roots []WatchedRoot
	home  string // "" when the task's HOME does not outlive it
	// found is told each object that tools would run; true ends the search of this link.
	found func(v *rootio.Visit) bool

	known map[string]bool // directories that were searched as working trees, and whether something was found
}

// errFound ends a search.
var errFound = errors.New("found")

// link searches where a visited link leads. What cannot be followed leads nowhere.
func (b *behind) link(name string) (bool, error) {
	to, ok := b.follow(name)
	if !ok || !b.unswept(to) {
		return false, nil
	}
	if found, ok := b.known[to]; ok {
		return found, nil
	}
	dir, err := rootio.Exact(to)
	if err != nil {
		return false, nil
	}
	defer dir.Close()
	if dir.Info().Kind != rootio.Dir {
		return false, nil
	}
	if b.known == nil {
		b.known = map[string]bool{}
	}
	b.known[to] = false // a link in it may lead back
	err = b.walk(dir)
	if errors.Is(err, errFound) {
		b.known[to] = true
		return true, nil
	}
	return false, err
}

// follow resolves a path as far as it stays in the roots and HOME. Of what lies elsewhere, or behind a mount, nothing is asked:
// a link of the task's could name a server that never answers, or one that would learn of it.
func (b *behind) follow(name string) (string, bool) {
	cur, todo := "/", elements(name)
	for links := 0; len(todo) > 0; {
		next := path.Join(cur, todo[0])
		up := todo[0] == ".."
		todo = todo[1:]
		base, above := b.base(next)
		switch {
		case up || above:
			cur = next // on the way to a base there are no links
			continue
		case base == "":
			return "", false
		}
		target, ok := peek(base, strings.TrimPrefix(next, base))
		if !ok {
			return "", false
		}
		if target == "" {
			cur = next
			continue
		}
		if links++; links > maxLinks {
			return "", false
		}
		if path.IsAbs(target) {
			cur = "/"
		}
		todo = append(elements(target), todo...)
	}
	return cur, true
}

// base is the innermost root, or HOME, that a path lies in; above tells that it is one or lies on the way to one.
func (b *behind) base(name string) (base string, above bool) {
	bases := []string{b.home}
	for _, r := range b.roots {
		bases = append(bases, r.Path)
	}
	for _, p := range bases {
		if p == "" {
			continue
		}
		above = above || policy.Within(name, p)
		if policy.Within(p, name) && len(p) > len(base) {
			base = p
		}
	}
	return base, above
}

// peek tells where the link at rel below a base leads, or "" when there is no link. No element of rel but the last is one.
func peek(base, rel string) (target string, ok bool) {
	root, err := rootio.Exact(base)
	if err != nil {
		return "", false
	}
	defer root.Close()
	at := root.File()
	for _, e := range elements(rel) {
		next, _, to, err := rootio.Step(at, e)
		if at != root.File() {
			at.Close()
		}
		if err != nil {
			return "", false
		}
		at, target = next, to
	}
	if at != root.File() {
		at.Close()
	}
	return target, true
}

func (b *behind) walk(dir *rootio.Root) (err error) {
	if closed := dir.Walkable(); errors.Is(closed, os.ErrPermission) {
		if !own(dir.Info()) {
			return nil
		}
		restore, err := dir.MakeWritable()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, restore()) }()
		return dir.Walk(b.ctx, &behindWalk{behind: b, stack: []policy.Place{policy.Tree}})
	}
	return dir.Walk(b.ctx, &behindWalk{behind: b, stack: []policy.Place{policy.Tree}})
}

// unswept tells whether a process of the task may have made something at a path, and no working tree is swept there.
func (b *behind) unswept(to string) bool {
	if b.home != "" && policy.Within(b.home, to) {
		return true
	}
	root := ""
	for _, r := range b.roots {
		if policy.Within(r.Path, to) && len(r.Path) > len(root) {
			root = r.Path
		}
	}
	return root != "" && root != to && policy.Start(root).Below(strings.TrimPrefix(to, root), true, false) != policy.Tree
}

type behindWalk struct {
	*behind
	stack []policy.Place
}

// Visit implements rootio.Walker.
func (w *behindWalk) Visit(v *rootio.Visit) (bool, error) {
	if v.Mounted {
		return false, nil
	}
	around, place := enter(w.stack[len(w.stack)-1], v)
	if place == policy.ToolConfig {
		if !inert(around, v, w.roots) && w.found(v) {
			return false, errFound
		}
		return false, nil
	}
	if v.Link && place == policy.Tree {
		found, err := w.link(v.Path)
		if err == nil && found {
			err = errFound
		}
		return false, err
	}
	if v.Info.Kind != rootio.Dir {
		return false, nil
	}
	if found, ok := w.known[v.Path]; ok && place == policy.Tree {
		if found {
			return false, errFound
		}
		return false, nil
	}
	w.stack = append(w.stack, place)
	return true, nil
}

// Leave implements rootio.Walker.
func (w *behindWalk) Leave(name string) error {
	if w.stack[len(w.stack)-1] == policy.Tree {
		w.known[name] = false
	}
	w.stack = w.stack[:len(w.stack)-1]
	return nil
}

// Unreadable implements rootio.Walker, as the sweep does.
func (w *behindWalk) Unreadable(v *rootio.Visit, _ error) (func() (func() error, error), error) {
	if !own(v.Info) {
		return nil, w.Leave(v.Path)
	}
	return func() (func() error, error) { return rootio.MakeWritable(v.Dir, v.Name) }, nil
}

// own tells whether this user may open what its owner closed.
func own(i rootio.Info) bool {
	uid := os.Geteuid()
	return uid == 0 || i.UID == uid
}

// seen tells whether the object at that name is the one of a list, which is sorted by path.
func seen(list []Kept, name string, id sandbox.FileID) bool {
	i, found := slices.BinarySearchFunc(list, name, func(k Kept, p string) int { return strings.Compare(k.Path, p) })
	return found && list[i].ID == id
}
