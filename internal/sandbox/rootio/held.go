package rootio

import (
	"io/fs"
	"os"
	"syscall"
)

// dir returns the parent directory as a descriptor that can be synced, opened once per Target.
func (t *Target) dir() (*os.File, error) {
	if t.parent == nil {
		return nil, pathError(t.path, syscall.EBUSY)
	}
	if t.sync == nil {
		f, err := reopen(t.parent, Dir)
		if err != nil {
			return nil, pathError(parent(t.path), err)
		}
		t.sync = f
	}
	return t.sync, nil
}

// CheckChange tells whether the name can be made, replaced or removed by this user: not (EBUSY) when it is a root itself (a mount
// point in the sandbox), and as root only when the sandbox's user could do it.
func (t *Target) CheckChange() error {
	if t.isRoot || t.parent == nil {
		return pathError(t.path, syscall.EBUSY)
	}
	if err := t.permitted(t.above, writing|search); err != nil {
		return err
	}
	if t.set.emulate && t.object != nil && t.info.foreign(t.member.owner) {
		return pathError(t.path, syscall.EACCES) // the sandbox's mounts let nobody remove it either
	}
	return nil
}

func (t *Target) permitted(i Info, want fs.FileMode) error {
	if !t.set.emulate {
		return nil
	}
	if err := permitted(i, t.member.owner, want); err != nil {
		return pathError(t.path, err)
	}
	return nil
}

// unswapped compares what the name leads to with the object that was resolved.
func (t *Target) unswapped() error {
	now, err := t.Now()
	if err != nil {
		return err
	}
	if now.Kind != t.info.Kind || now.ID != t.info.ID {
		return &fs.PathError{Op: "change", Path: t.path, Err: ErrSwapped}
	}
	return nil
}
