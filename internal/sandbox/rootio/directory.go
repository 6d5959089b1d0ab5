package rootio

import (
	"io/fs"
	"os"
	"syscall"
)

// Mkdir makes the first missing element a directory and returns the Target of it, together with the elements still missing
// below it. Like describes a removed directory to be made again; the zero Info means a new one, with mode 0755 and the
// owner of new files. The caller closes both Targets.
func (t *Target) Mkdir(like Info) (*Target, error) {
	if len(t.rest) == 0 {
		return nil, pathError(t.path, syscall.EEXIST)
	}
	if err := t.CheckChange(); err != nil {
		return nil, err
	}
	dir, err := t.dir()
	if err != nil {
		return nil, err
	}
	if err := t.set.fsys.Mkdir(dir, t.name, 0o700); err != nil {
		return nil, err
	}
	return t.descend(dir, like)
}

// descend opens the directory just made, gives it owner and mode, and stands in it.
func (t *Target) descend(dir *os.File, like Info) (*Target, error) {
	f, info, err := openChild(t.parent, t.name, false)
	if err != nil {
		return nil, pathError(t.path, err)
	}
	next := &Target{set: t.set, member: t.member, path: t.path, rest: t.rest[1:]}
	made, err := reopen(f, info.Kind)
	if err != nil {
		closeAll(f)
		return nil, pathError(t.path, err)
	}
	defer made.Close()
	if err := t.settle(made, dir, like); err != nil {
		closeAll(f)
		return nil, err
	}
	if info, err = stat(f); err != nil {
		closeAll(f)
		return nil, pathError(t.path, err)
	}
	if len(next.rest) == 0 {
		parent, err := duplicate(t.parent)
		if err != nil {
			closeAll(f)
			return nil, pathError(t.path, err)
		}
		next.parent, next.above, next.name, next.object, next.info = parent, t.above, t.name, f, info
		return next, nil
	}
	next.parent, next.above, next.name = f, info, next.rest[0]
	return next, nil
}

func (t *Target) settle(made, dir *os.File, like Info) error {
	if err := t.become(made, Dir, like, 0o755|t.above.Mode&fs.ModeSetgid); err != nil { // before the name leads to it
		return err
	}
	return t.set.fsys.Sync(dir)
}

// Rmdir removes the resolved directory, which must be empty (ENOTEMPTY).
func (t *Target) Rmdir() error {
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
	return t.set.fsys.Rmdir(dir, t.name)
}
