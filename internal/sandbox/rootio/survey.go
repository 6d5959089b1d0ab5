package rootio

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"
)

// maxWalkDepth is how many directories deep Walk looks. Nothing that people or their tools make is deeper; one descriptor
// is held for each.
const maxWalkDepth = 256

// Visit is one name that Walk met, described without having been opened.
type Visit struct {
	// Path is the root's path and the names below it.
	Path string
	Name string
	// Dir is the directory that holds Name, open for reading as long as the visit lasts.
	Dir  *os.File
	Info Info
	// Link is true for a symbolic link, Mounted when another mount begins here: nothing behind it was asked for.
	Link, Mounted bool
	// TooDeep is true for a directory below which nothing is visited.
	TooDeep bool
}

// FoldsCase tells whether the directory that holds the name knows no case.
func (v *Visit) FoldsCase() bool { return foldsCase(v.Dir) }

// Beside tells whether the directory that holds the name has another one.
func (v *Visit) Beside(name string) bool {
	_, _, err := describe(v.Dir, name)
	return err == nil
}

// Target reads the symbolic link.
func (v *Visit) Target() (string, error) {
	f, _, err := openChild(v.Dir, v.Name, false)
	if err != nil {
		return "", pathError(v.Path, err)
	}
	defer f.Close()
	return readLink(f)
}

// Content reads a regular file of at most limit bytes; a larger one, or one of another kind by now, is an error.
func (v *Visit) Content(limit int64) ([]byte, error) {
	f, info, err := openChild(v.Dir, v.Name, false)
	if err != nil {
		return nil, pathError(v.Path, err)
	}
	defer f.Close()
	if info.Kind != File || info.Size > limit {
		return nil, pathError(v.Path, errNotSmall)
	}
	r, err := reopen(f, File)
	if err != nil {
		return nil, pathError(v.Path, err)
	}
	defer r.Close()
	b := make([]byte, limit+1)
	n, err := readFull(r, b)
	if err == nil && int64(n) > limit {
		err = errNotSmall
	}
	return b[:min(n, int(limit))], err
}

var errNotSmall = errors.New("not a small regular file")

// Walker decides what Walk does.
type Walker interface {
	// Visit is called for every name, before what lies below it. For a directory true means to look inside.
	Visit(v *Visit) (enter bool, err error)
	// Leave is called after everything below a directory for which Visit said enter, but not after Unreadable gave up.
	Leave(path string) error
	// Unreadable is called for a directory that could not be opened. open makes it readable for a second try and returns
	// what puts its mode back; nil gives up on this directory.
	Unreadable(v *Visit, err error) (open func() (restore func() error, err error), giveUp error)
}

// Walk visits everything below the root, names in order. It follows no link, enters no mount, opens directories only, so that
// no pipe, device or server behind a mount can make it wait, and ends when ctx does.
func (r *Root) Walk(ctx context.Context, w Walker) error {
	dir, err := reopen(r.file, Dir)
	if err != nil {
		return pathError(r.path, err)
	}
	defer dir.Close()
	return walkDir(ctx, dir, r.path, 1, w)
}

func walkDir(ctx context.Context, dir *os.File, path string, depth int, w Walker) error {
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return pathError(path, err)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := visitName(ctx, dir, name, path, depth, w); err != nil {
			return err
		}
	}
	return nil
}

// maxChanges is how often one name is visited anew because it became another kind of object while it was looked at.
const maxChanges = 64

// visitName visits one name. Somebody on the host may replace it at any moment: what it has become is then visited.
func visitName(ctx context.Context, dir *os.File, name, path string, depth int, w Walker) error {
	for range maxChanges {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		v := &Visit{Path: join(path, name), Name: name, Dir: dir}
		var err error
		if v.Info, v.Mounted, err = describe(dir, name); errors.Is(err, os.ErrNotExist) {
			return nil // removed meanwhile
		} else if err != nil {
			return pathError(v.Path, err)
		}
		v.Link = v.Info.Kind == link
		v.TooDeep = v.Info.Kind == Dir && depth >= maxWalkDepth
		enter, err := w.Visit(v)
		if err != nil || !enter || v.Info.Kind != Dir || v.Mounted || v.TooDeep {
			return err
		}
		if changed, err := into(ctx, v, depth, w); !changed {
			return err
		}
	}
	return pathError(join(path, name), errChanging)
}

var errChanging = errors.New("it is replaced all the time")

// into walks one directory; changed tells that the name is no directory any more, and that nothing came of it.
func into(ctx context.Context, v *Visit, depth int, w Walker) (changed bool, err error) {
	f, err := openEntered(v)
	if errors.Is(err, os.ErrPermission) {
		open, giveUp := w.Unreadable(v, err)
		if open == nil {
			return false, giveUp
		}
		restore, oerr := open()
		if errors.Is(oerr, os.ErrNotExist) || errors.Is(oerr, os.ErrInvalid) {
			return true, w.Leave(v.Path)
		}
		if oerr != nil {
			return false, oerr
		}
		defer func() { err = errors.Join(err, restore()) }()
		f, err = openEntered(v)
	}
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return true, w.Leave(v.Path)
	}
	if err != nil {
		return false, pathError(v.Path, err)
	}
	err = walkDir(ctx, f, v.Path, depth+1, w)
	f.Close()
	if err != nil {
		return false, err
	}
	return false, w.Leave(v.Path)
}

// openEntered opens a directory of which the names can be read and described: for the one its mode must allow reading, for the other
// searching.
func openEntered(v *Visit) (*os.File, error) {
	f, err := openBelow(v.Dir, v.Name)
	if err == nil {
		if err = searchable(f); err != nil {
			f.Close()
		}
	}
	return f, err
}

func searchable(dir *os.File) error {
	_, _, err := describe(dir, ".")
	return err
}

// Walkable is nil for a directory that Walk can begin with, and a permission error for one whose owner closed it.
func (r *Root) Walkable() error {
	dir, err := reopen(r.file, Dir)
	if err == nil {
		err = searchable(dir)
		dir.Close()
	}
	if err != nil {
		return pathError(r.path, err)
	}
	return nil
}

// FoldsCase tells whether a name in the directory that the object lies in, or is to lie in, means the same in another case.
func (t *Target) FoldsCase() bool {
	if t.parent == nil {
		return false
	}
	dir, err := reopen(t.parent, Dir)
	if err != nil {
		return true // what cannot be asked is taken for the stricter answer
	}
	defer dir.Close()
	return foldsCase(dir)
}

// MakeWritable gives the owner of a directory all rights on it and returns what takes them back.
func MakeWritable(dir *os.File, name string) (restore func() error, err error) {
	f, info, err := openChild(dir, name, false)
	if err != nil {
		return nil, err
	}
	if info.Kind != Dir {
		f.Close()
		return nil, pathError(name, os.ErrInvalid)
	}
	if err := chmodHeld(f, info.Mode|0o700); err != nil {
		f.Close()
		return nil, pathError(name, err)
	}
	return func() error {
		defer f.Close()
		return chmodHeld(f, info.Mode)
	}, nil
}

// MakeWritable is MakeWritable for the root itself.
func (r *Root) MakeWritable() (restore func() error, err error) { return MakeHeldWritable(r.file) }

// MakeHeldWritable is MakeWritable for an open directory.
func MakeHeldWritable(dir *os.File) (restore func() error, err error) {
	info, err := stat(dir)
	if err != nil {
		return nil, err
	}
	if err := chmodHeld(dir, info.Mode|0o700); err != nil {
		return nil, pathError(dir.Name(), err)
	}
	return func() error { return chmodHeld(dir, info.Mode) }, nil
}

// Describe describes one name below an open directory without following or opening it.
func Describe(dir *os.File, name string) (Info, error) {
	info, _, err := describe(dir, name)
	return info, err
}

// OpenBelow opens a directory for reading its names, through no link and into no other mount.
func OpenBelow(dir *os.File, name string) (*os.File, error) { return openBelow(dir, name) }

// Step opens the object name of a directory to walk on from, through no link and into no other mount. For a link, target is
// where it leads. The caller closes it.
func Step(dir *os.File, name string) (at *os.File, info Info, target string, err error) {
	if at, info, err = openChild(dir, name, false); err != nil {
		return nil, info, "", err
	}
	if info.Kind == link {
		if target, err = readLink(at); err != nil {
			at.Close()
			return nil, info, "", err
		}
	}
	return at, info, target, nil
}

// Again is another descriptor of the same open directory.
func Again(dir *os.File) (*os.File, error) { return duplicate(dir) }
