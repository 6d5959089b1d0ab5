package rootio

import (
	"errors"
	"io"
	"os"
	"slices"
	"syscall"

	"sekisho/internal/fileop"
)

// Entry is one name in a directory.
type Entry struct {
	Name string
	// Type is "file", "directory", "link" or "special file"; links are not followed.
	Type string
	Info Info
}

// OpenRead opens the object for reading; for a directory too. The caller closes the file. The file system's refusal is a
// *fs.PathError with fs.ErrPermission.
func (t *Target) OpenRead() (*os.File, error) {
	if t.object == nil {
		return nil, pathError(t.path, syscall.ENOENT)
	}
	if err := t.permitted(t.info, reading); err != nil {
		return nil, err
	}
	f, err := reopen(t.object, t.info.Kind)
	if err != nil {
		return nil, pathError(t.path, err)
	}
	return f, nil
}

// Stat describes the held object as it is now.
func (t *Target) Stat() (Info, error) {
	if t.object == nil {
		return Info{}, pathError(t.path, syscall.ENOENT)
	}
	i, err := stat(t.object)
	if err != nil {
		return Info{}, pathError(t.path, err)
	}
	return i, nil
}

// List returns the entries of a directory by name, at most limit of them, and whether there are more. Of a directory
// with more entries than limit, which ones are returned is not defined.
func (t *Target) List(limit int) (entries []Entry, more bool, err error) {
	if t.info.Kind != Dir {
		return nil, false, pathError(t.path, syscall.ENOTDIR)
	}
	f, err := t.OpenRead()
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	names, err := f.Readdirnames(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, pathError(t.path, err)
	}
	if len(names) > limit {
		names, more = names[:limit], true
	}
	slices.Sort(names)
	for _, name := range names {
		info, err := statChild(f, name)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, false, pathError(join(t.path, name), err)
		}
		entries = append(entries, Entry{Name: name, Type: info.Kind.String(), Info: info})
	}
	return entries, more, nil
}

// ErrLink tells that a name is a symbolic link, which Child does not follow.
var ErrLink = errors.New("is a symbolic link")

// Child opens one entry of a directory, for walking a tree without resolving paths again. It follows no link (ErrLink)
// and refuses what Resolve refuses. The caller closes the Target.
func (t *Target) Child(name string) (*Target, error) {
	if t.info.Kind != Dir {
		return nil, pathError(t.path, syscall.ENOTDIR)
	}
	if fileop.CheckName(name) != nil {
		return nil, pathError(join(t.path, name), syscall.EINVAL)
	}
	dir, err := duplicate(t.object)
	if err != nil {
		return nil, pathError(t.path, err)
	}
	w := &walk{set: t.set, asked: join(t.path, name), want: Existing, stack: []node{
		{path: "/"},
		{path: t.path, name: t.name, file: dir, info: t.info, member: t.member, isRoot: t.isRoot},
	}}
	child, err := w.child(name)
	for _, n := range w.stack {
		closeAll(n.file)
	}
	return child, err
}

func (w *walk) child(name string) (*Target, error) {
	w.noFollow = true
	if t, err := w.step(name); t != nil || err != nil {
		return t, err
	}
	return w.target(*w.top(), len(w.stack)-1)
}
