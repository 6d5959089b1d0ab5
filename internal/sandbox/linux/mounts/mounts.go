//go:build linux

package mounts

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/wire"
)

// The attributes of a copy. Base is on every one of them.
const (
	Base     = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	ReadOnly = unix.MOUNT_ATTR_RDONLY
	NoExec   = unix.MOUNT_ATTR_NOEXEC
)

// ErrReplaced reports that a source is another object than the one resolved at apply.
var ErrReplaced = errors.New("another object is there now")

// Attr returns the attributes that enforce rights on a root.
func Attr(r sandbox.Rights) uint64 {
	attr := uint64(Base)
	if !r.Has(sandbox.Write) && !r.Has(sandbox.Delete) {
		attr |= ReadOnly
	}
	if !r.Has(sandbox.Execute) {
		attr |= NoExec
	}
	return attr
}

// OpenSource opens the object at path without following a link in its last element and checks that it is the one with
// the given identity and kind. A zero id accepts any object of the kind.
func OpenSource(path string, id sandbox.FileID, file bool) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, wire.Fail(wire.StageSource, path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		f.Close()
		return nil, wire.Fail(wire.StageSource, path, err)
	}
	kind := st.Mode & unix.S_IFMT
	if id != (sandbox.FileID{}) && (uint64(st.Dev) != id.Dev || st.Ino != id.Ino) || !file && kind != unix.S_IFDIR || file && kind == unix.S_IFDIR {
		f.Close()
		return nil, wire.Fail(wire.StageSource, path, ErrReplaced)
	}
	return f, nil
}

// Clone makes a detached copy of the mount at source, its top only. With a mapping (a user namespace) the copy shows the
// files of the mapping's owner as those of the sandbox's user.
func Clone(source *os.File, attr uint64, mapping *os.File) (*os.File, error) {
	fd, err := unix.OpenTree(int(source.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return nil, wire.Fail(wire.StageMount, source.Name(), fmt.Errorf("open_tree: %w", err))
	}
	f := os.NewFile(uintptr(fd), source.Name())
	set := unix.MountAttr{Attr_set: attr, Propagation: unix.MS_PRIVATE}
	stage := wire.StageMount
	if mapping != nil {
		set.Attr_set |= unix.MOUNT_ATTR_IDMAP
		set.Userns_fd = uint64(mapping.Fd())
		stage = wire.StageIDMap
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &set); err != nil {
		f.Close()
		return nil, wire.Fail(stage, source.Name(), fmt.Errorf("mount_setattr: %w", err))
	}
	return f, nil
}
