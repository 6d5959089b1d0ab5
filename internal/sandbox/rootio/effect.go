package rootio

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"strings"
	"syscall"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
)

// The operations below change what is under a root. Each acts on one name below the parent directory that the Target
// holds, through the Set's fileop.FS, and refuses when that name no longer leads to the object that was resolved. The
// kernel has no call that compares and replaces at once: a program that swaps the name within those microseconds loses
// its own swap, inside the same root, and nothing outside the root can be reached in any case.

// ErrSwapped tells that the name leads to another object than the one resolved.
var ErrSwapped = errors.New("another program replaced it meanwhile")

// Now describes what the name leads to now, without following a link; Kind Missing when nothing is there.
func (t *Target) Now() (Info, error) {
	if t.parent == nil {
		return t.Stat()
	}
	i, err := statChild(t.parent, t.name)
	if err == syscall.ENOENT {
		return Info{}, nil
	}
	if err != nil {
		return Info{}, pathError(t.path, err)
	}
	return i, nil
}

// NamePath is the path of the name below the held parent directory: Path, or for a missing object the path of its first
// missing element.
func (t *Target) NamePath() string {
	if len(t.rest) > 1 {
		return strings.TrimSuffix(t.path, "/"+strings.Join(t.rest[1:], "/"))
	}
	return t.path
}

// ParentID identifies the directory that holds the name; with NamePath it is what a journal needs to find it again.
func (t *Target) ParentID() sandbox.FileID { return t.above.ID }

// Slot stands on one name below the held directory without looking at it: Again does that. The caller closes it.
func (t *Target) Slot(name string) (*Target, error) {
	if t.info.Kind != Dir || fileop.CheckName(name) != nil {
		return nil, pathError(join(t.path, name), syscall.EINVAL)
	}
	dir, err := duplicate(t.object)
	if err != nil {
		return nil, pathError(t.path, err)
	}
	path := join(t.path, name)
	return &Target{set: t.set, member: t.member, path: path, parent: dir, above: t.info, name: name, rest: []string{name}, isRoot: t.set.byPath[path] != nil}, nil
}

// Beside stands on another name in the same held parent directory, without looking at it. The caller closes it.
func (t *Target) Beside(name string) (*Target, error) {
	if t.parent == nil || fileop.CheckName(name) != nil {
		return nil, pathError(t.path, syscall.EINVAL)
	}
	dir, err := duplicate(t.parent)
	if err != nil {
		return nil, pathError(t.path, err)
	}
	path := join(parent(t.NamePath()), name)
	return &Target{set: t.set, member: t.member, path: path, parent: dir, above: t.above, name: name, rest: []string{name}, isRoot: t.set.byPath[path] != nil}, nil
}

// Again looks at the same name in the held parent directory once more and returns what is there now: a file, a directory,
// or a missing name. A link or special file is ErrSwapped. The caller closes it.
func (t *Target) Again() (*Target, error) {
	if t.parent == nil {
		return nil, pathError(t.path, syscall.EBUSY)
	}
	dir, err := duplicate(t.parent)
	if err != nil {
		return nil, pathError(t.path, err)
	}
	next := &Target{set: t.set, member: t.member, path: t.NamePath(), parent: dir, above: t.above, name: t.name, isRoot: t.isRoot}
	file, info, err := openChild(dir, t.name, false)
	switch {
	case err == syscall.ENOENT:
		next.rest = []string{t.name}
		return next, nil
	case err != nil:
		closeAll(dir)
		return nil, pathError(next.path, err)
	case info.Kind != File && info.Kind != Dir:
		closeAll(dir, file)
		return nil, pathError(next.path, ErrSwapped)
	}
	next.object, next.info = file, info
	return next, nil
}

// CheckWrite tells whether a process of the sandbox could write the existing file, or create the missing name: EACCES as
// *fs.PathError when not, EBUSY when the object is a root itself.
func (t *Target) CheckWrite() error {
	if t.object == nil {
		return t.CheckChange()
	}
	if err := t.CheckChange(); err != nil {
		return err
	}
	if t.set.emulate {
		return t.permitted(t.info, writing)
	}
	if err := mayWrite(t.object); err != nil {
		return pathError(t.path, err)
	}
	return nil
}

// CreateBeside makes a new file, readable by its owner only, in the directory of the Target. The caller closes it and
// gives it its place with Replace or Publish, or removes it with Discard.
func (t *Target) CreateBeside(name string) (*os.File, error) {
	dir, err := t.dir()
	if err != nil {
		return nil, err
	}
	return t.set.fsys.Create(dir, name, 0o600)
}

// Write writes p to a file of CreateBeside.
func (t *Target) Write(f *os.File, p []byte) error { return t.set.fsys.Write(f, p) }

// Finish gives the new file owner and mode and flushes it. Like describes the file to be replaced; the zero Info means a
// new one, which gets mode 0644 and, when the server runs as root, the owner of the root directory. Setuid and setgid are
// never kept, nor are capabilities: new content was not what somebody let run with more rights.
func (t *Target) Finish(f *os.File, like Info) error {
	like.Mode &^= fs.ModeSetuid | fs.ModeSetgid
	like.Attributes = maps.Clone(like.Attributes)
	delete(like.Attributes, capability)
	return t.FinishOld(f, like)
}

// FinishOld is Finish for the very bytes that the object described by like had: nothing of its mode is taken away.
func (t *Target) FinishOld(f *os.File, like Info) error {
	return t.become(f, File, like, 0o644)
}

// become gives a new object of a kind owner, attributes and mode of the one that like describes, or, when that is of no such kind,
// those of a new one, and flushes it.
func (t *Target) become(f *os.File, kind Kind, like Info, mode fs.FileMode) error {
	who := t.newOwner()
	if like.Kind == kind {
		mode, who = like.Mode, owner{like.UID, like.GID}
	}
	if err := own(f, who); err != nil {
		return err
	}
	if like.Kind == kind {
		if err := like.Attributes.give(f); err != nil {
			return pathError(t.path, err)
		}
	}
	if err := t.set.fsys.Chmod(f, mode); err != nil {
		return err
	}
	return t.set.fsys.Sync(f)
}

// own changes the owner where it differs. For a server that is not root a foreign owner cannot be kept: the file is left
// alone then (EPERM), because a new owner would change who may read and write it.
func own(f *os.File, who owner) error {
	now, err := stat(f)
	if err != nil {
		return err
	}
	if who == nobody || now.UID == who.uid && now.GID == who.gid {
		return nil
	}
	return chown(f, who)
}

// newOwner is the owner of what is created: the root directory's when the server runs as root, so that the sandbox's
// processes can work with it, else nobody, which leaves the owner as it is.
func (t *Target) newOwner() owner {
	if !t.set.emulate {
		return nobody
	}
	return t.member.owner
}

// Replace puts the file made beside in the place of the resolved object.
func (t *Target) Replace(name string) error {
	if err := t.unswapped(); err != nil {
		return err
	}
	return t.rename(name, t.name, true)
}

// Publish gives what was made beside, a file or directory, the missing name; fs.ErrExist when something is there by now.
func (t *Target) Publish(name string) error { return t.rename(name, t.name, false) }

func (t *Target) rename(from, to string, replace bool) error {
	dir, err := t.dir()
	if err != nil {
		return err
	}
	return t.set.fsys.Rename(dir, from, dir, to, replace)
}

// Discard removes a file of CreateBeside.
func (t *Target) Discard(name string) error {
	dir, err := t.dir()
	if err != nil {
		return err
	}
	return t.set.fsys.Unlink(dir, name)
}

// Unlink removes the resolved file.
func (t *Target) Unlink() error {
	if err := t.CheckChange(); err != nil {
		return err
	}
	if err := t.unswapped(); err != nil {
		return err
	}
	dir, err := t.dir()
	if err != nil {
		return err
	}
	return t.set.fsys.Unlink(dir, t.name)
}

// MoveTo renames the resolved file to the missing name of dst; an existing one is fs.ErrExist, another volume EXDEV, both
// from the kernel.
func (t *Target) MoveTo(dst *Target) error {
	if err := t.CheckChange(); err != nil {
		return err
	}
	if err := dst.CheckChange(); err != nil {
		return err
	}
	if err := t.unswapped(); err != nil {
		return err
	}
	from, err := t.dir()
	if err != nil {
		return err
	}
	to, err := dst.dir()
	if err != nil {
		return err
	}
	return t.set.fsys.Rename(from, t.name, to, dst.name, false)
}

// SyncParent flushes the directory that holds the name.
func (t *Target) SyncParent() error {
	dir, err := t.dir()
	if err != nil {
		return err
	}
	return t.set.fsys.Sync(dir)
}
