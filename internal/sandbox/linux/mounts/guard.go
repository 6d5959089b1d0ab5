//go:build linux

package mounts

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// guard binds what is visible at a path of the new root over itself (A-POL-10, A-POL-13). The copy comes from that very place, so it
// has the id mapping and the attributes of the root around it and can only be narrower. What is mounted below comes along.
// Something that is gone since the survey is a failure: a payload could make it anew, and it would pass for the old one.
func guard(root *os.File, g wire.Guard) error {
	at, err := place(root, g.Target, g.File, false)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return wire.Fail(wire.StageSource, g.Target, ErrReplaced)
	}
	if err != nil {
		return wire.Fail(wire.StageMount, g.Target, err)
	}
	defer at.Close()
	fd, err := unix.OpenTree(int(at.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return wire.Fail(wire.StageMount, g.Target, fmt.Errorf("open_tree: %w", err))
	}
	copied := os.NewFile(uintptr(fd), g.Target)
	defer copied.Close()
	set := unix.MountAttr{Propagation: unix.MS_PRIVATE}
	if g.ReadOnly {
		set.Attr_set = ReadOnly
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &set); err != nil {
		return wire.Fail(wire.StageMount, g.Target, fmt.Errorf("mount_setattr: %w", err))
	}
	return move(copied, at, g.Target)
}
