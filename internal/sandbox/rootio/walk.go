package rootio

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

const (
	maxLinks = 40  // as the kernel's MAXSYMLINKS
	maxDepth = 256 // directories held at once
	maxPath  = 4096
)

// node is one directory on the way from "/"; file is nil for a directory that only leads to roots.
type node struct {
	path   string
	name   string
	file   *os.File
	info   Info
	member *member
	isRoot bool
}

type walk struct {
	set   *Set
	asked string
	want  Want
	stack []node
	todo  []string // elements still to walk, the next one last
	links int
	// noFollow makes a link the error ErrLink.
	noFollow bool
}

// Resolve walks the absolute path and returns the object that it names now. Errors: *fault.Error policy.denied with
// variant outside_roots, link_cycle, special_file, mount_point or magic_link; sandbox.resolution_changed when a root below
// another is no longer the object of the policy; else a *fs.PathError (fs.ErrNotExist, fs.ErrPermission, ENOTDIR ...),
// which is only ever about objects inside the roots. The caller closes the Target.
func (s *Set) Resolve(path string, want Want) (*Target, error) {
	if !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) || len(path) > maxPath {
		return nil, pathError(path, syscall.EINVAL)
	}
	w := &walk{set: s, asked: path, want: want}
	t, err := w.walkFrom(path)
	for _, n := range w.stack {
		if n.file != nil {
			n.file.Close()
		}
	}
	return t, err
}

// walkFrom begins at "/", which is a root itself in tests only (A-POL-09 keeps every real configuration from it).
func (w *walk) walkFrom(path string) (*Target, error) {
	if err := w.start(); err != nil {
		return nil, err
	}
	w.push(path)
	return w.run()
}

func (w *walk) start() error {
	for _, n := range w.stack {
		closeAll(n.file)
	}
	w.stack = []node{{path: "/"}}
	if m := w.set.byPath["/"]; m != nil {
		return hold(&w.stack[0], m)
	}
	return nil
}

func (w *walk) push(path string) {
	elems := strings.Split(path, "/")
	for i := len(elems) - 1; i >= 0; i-- {
		if elems[i] != "" || i == len(elems)-1 && i > 0 { // a trailing slash demands a directory
			w.todo = append(w.todo, elems[i])
		}
	}
}

func (w *walk) run() (*Target, error) {
	for len(w.todo) > 0 {
		name := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		switch name {
		case "", ".":
			continue
		case "..":
			if top := len(w.stack) - 1; top > 0 {
				if f := w.stack[top].file; f != nil {
					f.Close()
				}
				w.stack = w.stack[:top]
			}
			continue
		}
		if len(w.stack) > maxDepth {
			return nil, pathError(w.asked, syscall.ENAMETOOLONG)
		}
		if t, err := w.step(name); t != nil || err != nil {
			return t, err
		}
	}
	top := w.top()
	if top.file == nil {
		return nil, denied("outside_roots", w.asked)
	}
	return w.target(*top, len(w.stack)-1)
}

// step enters one name below the top of the stack. A non-nil Target ends the walk.
func (w *walk) step(name string) (*Target, error) {
	cur := w.top()
	path := join(cur.path, name)
	if err := w.set.check(cur, search); err != nil {
		return nil, pathError(path, err)
	}
	m := w.set.byPath[path]
	if cur.file == nil {
		return w.stepOutside(name, path, m)
	}
	file, info, err := openChild(cur.file, name, m != nil)
	if errors.Is(err, fs.ErrNotExist) && m == nil {
		return w.missing(name)
	}
	if m != nil && (err != nil || info.ID != m.open.info.ID) {
		closeAll(file)
		return nil, changed(path, err)
	}
	if errors.Is(err, syscall.EXDEV) {
		if w.set.ancestors[path] { // of the mount nothing is seen but the way to the root in it
			w.stack = append(w.stack, node{path: path, name: name})
			return nil, nil
		}
		return nil, denied("mount_point", w.asked)
	}
	if err != nil {
		return nil, pathError(path, err)
	}
	n := node{path: path, name: name, file: file, info: info, member: cur.member, isRoot: m != nil}
	if m != nil {
		n.member = m
	}
	return w.enter(n)
}

// stepOutside walks a directory that only leads to roots: what is no root, no way to one and no link of the system is
// refused without being looked at.
func (w *walk) stepOutside(name, path string, m *member) (*Target, error) {
	if m != nil {
		n := node{path: path, name: name}
		if err := hold(&n, m); err != nil {
			return nil, pathError(path, err)
		}
		return w.enter(n)
	}
	if w.set.ancestors[path] {
		w.stack = append(w.stack, node{path: path, name: name})
		return nil, nil
	}
	if to, ok := w.set.links[path]; ok {
		return nil, w.follow(to)
	}
	return nil, denied("outside_roots", w.asked)
}

// hold stands in a root through the descriptor that was verified.
func hold(n *node, m *member) error {
	file, err := duplicate(m.open.file)
	if err != nil {
		return err
	}
	info, err := stat(file)
	if err != nil {
		closeAll(file)
		return err
	}
	n.file, n.info, n.member, n.isRoot = file, info, m, true
	return nil
}

func (w *walk) enter(n node) (*Target, error) {
	switch n.info.Kind {
	case Dir:
		w.stack = append(w.stack, n)
		return nil, nil
	case link:
		defer n.file.Close()
		if w.noFollow {
			return nil, pathError(n.path, ErrLink)
		}
		to, err := readLink(n.file)
		if errors.Is(err, errMagic) {
			return nil, denied("magic_link", w.asked)
		}
		if err != nil {
			return nil, pathError(n.path, err)
		}
		return nil, w.follow(to)
	case File:
		w.stack = append(w.stack, n)
		if len(w.todo) > 0 {
			return nil, pathError(n.path, syscall.ENOTDIR)
		}
		return w.target(n, len(w.stack)-1)
	default:
		n.file.Close()
		return nil, denied("special_file", w.asked)
	}
}

func (w *walk) follow(to string) error {
	w.links++
	if w.links > maxLinks {
		return denied("link_cycle", w.asked)
	}
	if to == "" {
		return pathError(w.asked, fs.ErrNotExist)
	}
	if to[0] == '/' {
		if err := w.start(); err != nil {
			return pathError(w.asked, err)
		}
	}
	if len(w.todo) > maxPath {
		return pathError(w.asked, syscall.ENAMETOOLONG)
	}
	w.push(to)
	return nil
}

func (w *walk) top() *node { return &w.stack[len(w.stack)-1] }

// target takes the descriptors at index i and below it out of the stack.
func (w *walk) target(n node, i int) (*Target, error) {
	t := &Target{set: w.set, member: n.member, path: n.path, name: n.name, object: n.file, info: n.info, isRoot: n.isRoot}
	w.stack[i].file = nil
	if i == 0 {
		return t, nil
	}
	if above := w.stack[i-1]; above.file != nil && above.member != nil {
		t.parent, t.above = above.file, above.info
		w.stack[i-1].file = nil
	}
	return t, nil
}

// missing ends the walk at a name that does not exist below the top of the stack.
func (w *walk) missing(name string) (*Target, error) {
	cur := w.top()
	rest := []string{name}
	for i := len(w.todo) - 1; i >= 0; i-- {
		switch e := w.todo[i]; e {
		case "", ".":
		case "..":
			return nil, pathError(join(cur.path, name), fs.ErrNotExist)
		default:
			rest = append(rest, e)
		}
	}
	path := join(cur.path, strings.Join(rest, "/"))
	if w.want == Existing || w.want == MayCreate && len(rest) > 1 {
		return nil, pathError(path, fs.ErrNotExist)
	}
	for p := path; p != cur.path; p = parent(p) {
		if w.set.byPath[p] != nil {
			return nil, changed(p, fs.ErrNotExist) // a declared root is gone; nobody makes another in its place
		}
	}
	t := &Target{set: w.set, member: cur.member, path: path, name: name, parent: cur.file, above: cur.info, rest: rest}
	w.stack[len(w.stack)-1].file = nil
	return t, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

func pathError(path string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return &fs.PathError{Op: "resolve", Path: path, Err: err}
}

var errMagic = errors.New("link of a process file system")
