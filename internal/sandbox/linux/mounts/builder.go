//go:build linux

package mounts

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/wire"
)

// builder writes the part of a program that makes a file system.
type builder struct {
	*opcode.Builder
	root  opcode.Ref // the descriptor of the new root
	empty opcode.Arg // ""
}

// attributes is a struct mount_attr.
func (b *builder) attributes(set, propagation uint64) opcode.Arg {
	return opcode.At(b.Words(set, 0, propagation, 0))
}

const attributesSize = 32

func (b *builder) setattr(mount opcode.Ref, set, propagation uint64, recursive int) opcode.Op {
	return b.Call(unix.SYS_MOUNT_SETATTR, opcode.Value(mount), b.empty, opcode.Int(unix.AT_EMPTY_PATH|recursive), b.attributes(set, propagation), opcode.Int(attributesSize))
}

// fresh makes a detached mount of a new file system.
func (b *builder) fresh(kind string, attr uint64, options ...[2]string) (mount opcode.Ref) {
	ctx, mount := b.Slot(), b.Slot()
	b.Call(unix.SYS_FSOPEN, b.Text(kind), opcode.Int(unix.FSOPEN_CLOEXEC)).Into(ctx)
	for _, o := range options {
		b.Call(unix.SYS_FSCONFIG, opcode.Value(ctx), opcode.Int(unix.FSCONFIG_SET_STRING), b.Text(o[0]), b.Text(o[1]), opcode.Int(0))
	}
	b.Call(unix.SYS_FSCONFIG, opcode.Value(ctx), opcode.Int(unix.FSCONFIG_CMD_CREATE), opcode.Int(0), opcode.Int(0), opcode.Int(0))
	b.Call(unix.SYS_FSMOUNT, opcode.Value(ctx), opcode.Int(unix.FSMOUNT_CLOEXEC), opcode.Int(attr)).Into(mount)
	b.close(ctx)
	return mount
}

// tmpfs makes a detached tmpfs of at most size bytes.
func (b *builder) tmpfs(size int64, attr uint64, mode string) opcode.Ref {
	b.For(wire.StageMount, "tmpfs")
	return b.fresh("tmpfs", attr, [2]string{"size", strconv.FormatInt(size, 10)}, [2]string{"mode", mode})
}

func (b *builder) close(fd opcode.Ref) { b.Call(unix.SYS_CLOSE, opcode.Value(fd)) }

func (b *builder) closeArg(fd opcode.Arg) { b.Call(unix.SYS_CLOSE, fd) }

// open opens a name in a directory into a new place.
func (b *builder) open(dir opcode.Arg, name string, flags int, mode uint32) (opcode.Op, opcode.Ref) {
	fd := b.Slot()
	return b.Call(unix.SYS_OPENAT, dir, b.Text(name), opcode.Int(flags|unix.O_NOFOLLOW|unix.O_CLOEXEC), opcode.Int(mode)).Into(fd), fd
}

// copyMount copies the mount at a descriptor.
func (b *builder) copyMount(source opcode.Arg, recursive int) (opcode.Op, opcode.Ref) {
	fd := b.Slot()
	flags := unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_EMPTY_PATH | recursive
	return b.Call(unix.SYS_OPEN_TREE, source, b.empty, opcode.Int(flags)).Into(fd), fd
}

// move attaches a detached mount at an open place and closes both.
func (b *builder) move(mount opcode.Arg, at opcode.Ref) {
	b.Call(unix.SYS_MOVE_MOUNT, mount, b.empty, opcode.Value(at), b.empty, opcode.Int(unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH))
	b.closeArg(mount)
	b.close(at)
}

// replaced are the failures that mean that another object is in the way of a path.
var replaced = []syscall.Errno{unix.ENOENT, unix.ENOTDIR, unix.ELOOP}
