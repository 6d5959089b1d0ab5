//go:build linux

package mounts

import (
	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/wire"
)

// covered is where the new root is attached for the moment between its creation and the pivot: a directory that every
// system has.
const covered = "/proc"

// rootBytes bounds the private root: it holds names, links and a few generated files.
const rootBytes = 4 << 20

// Assemble writes what gives the process the root that l describes and throws the host's away. passed are the descriptors that
// the binds count. The process is in a fresh mount namespace, no payload exists, and after a failure it ends. The result are the
// private copies, in the order of their binds.
func Assemble(to *opcode.Builder, l wire.Layout, passed func(int) opcode.Arg) []Copy {
	b := &builder{Builder: to, empty: to.Text("")}
	b.For(wire.StageMount, "/")
	b.Call(unix.SYS_MOUNT, b.empty, b.Text("/"), b.empty, opcode.Int(unix.MS_REC|unix.MS_PRIVATE), b.empty)
	mounted := make([]detached, len(l.Binds))
	for i, bind := range l.Binds {
		if !bind.Copy {
			mounted[i] = b.prepare(bind, passed, l.Limits)
		}
	}
	b.root = b.tmpfs(rootBytes, Base|NoExec, "0755")
	b.pivot()
	for _, f := range l.Files {
		b.generate(f)
	}
	for _, k := range l.Links {
		b.link(k)
	}
	private := b.privately(l.Binds)
	for i, bind := range l.Binds {
		if bind.Copy {
			private.attach(bind, passed(bind.FD))
		} else {
			b.attach(mounted[i], bind, l.Binds)
		}
	}
	private.hide()
	for _, g := range l.Guards {
		b.guard(g)
	}
	b.For(wire.StageMount, "/")
	b.setattr(b.root, ReadOnly, 0, 0)
	b.close(b.root)
	return private.made
}

// pivot makes root the root of the process and unmounts the old one, which stays below no name.
func (b *builder) pivot() {
	b.For(wire.StagePivot, covered)
	b.Call(unix.SYS_MOVE_MOUNT, opcode.Value(b.root), b.empty, opcode.Int(unix.AT_FDCWD), b.Text(covered), opcode.Int(unix.MOVE_MOUNT_F_EMPTY_PATH))
	b.For(wire.StagePivot, "/")
	b.Call(unix.SYS_FCHDIR, opcode.Value(b.root))
	// The old root lands on top of the new one; the unmount then takes it, and all below it, away.
	b.Call(unix.SYS_PIVOT_ROOT, b.Text("."), b.Text("."))
	b.Call(unix.SYS_UMOUNT2, b.Text("."), opcode.Int(unix.MNT_DETACH))
	b.Call(unix.SYS_CHDIR, b.Text("/"))
}

// detached is a mount that is not attached yet, with the places inside it that must be covered.
type detached struct {
	mount opcode.Arg
	under []string // from its top on
}

func (b *builder) prepare(bind wire.Bind, passed func(int) opcode.Arg, limits []wire.Sysctl) detached {
	switch {
	case bind.Proc:
		return detached{mount: opcode.Value(b.procfs(limits))}
	case bind.Tmpfs > 0:
		return detached{mount: opcode.Value(b.tmpfs(bind.Tmpfs, bind.Attr, "1777"))}
	}
	under := bind.Hidden
	if bind.FD >= 0 {
		return detached{passed(bind.FD), under}
	}
	source := b.source(bind)
	b.For(wire.StageMount, bind.Source)
	op, mount := b.copyMount(opcode.Value(source), 0)
	recursive := 0
	if len(under) > 0 {
		// In a user's namespace a mount with mounts of the host below it can only be copied whole.
		recursive = unix.AT_RECURSIVE
		whole, copied := b.NewLabel(), b.NewLabel()
		op.Then(copied).On(0, whole)
		b.Mark(whole)
		again, _ := b.copyMount(opcode.Value(source), recursive)
		again.Into(mount)
		b.Mark(copied)
	}
	b.setattr(mount, bind.Attr, unix.MS_PRIVATE, recursive)
	b.close(source)
	return detached{opcode.Value(mount), under}
}

// source opens the host's object of a bind and checks that it is the one that was judged, as OpenSource does.
func (b *builder) source(bind wire.Bind) opcode.Ref {
	b.For(wire.StageSource, bind.Source)
	_, fd := b.open(opcode.Int(unix.AT_FDCWD), bind.Source, unix.O_PATH, 0)
	st := b.Reserve(statSize)
	b.Call(unix.SYS_FSTAT, opcode.Value(fd), opcode.At(st))
	b.same(st, bind.ID.Dev, bind.ID.Ino)
	isDir, other := b.NewLabel(), b.NewLabel()
	b.Mask(st+statMode, unix.S_IFMT, unix.S_IFDIR, unix.EINVAL).Then(isDir).On(0, other)
	right, wrong := isDir, other
	if bind.File {
		right, wrong = other, isDir
	}
	b.Mark(wrong)
	b.Fail(ErrReplaced)
	b.Mark(right)
	return fd
}

// same requires the identity of a struct stat, unless it is zero.
func (b *builder) same(st opcode.Ref, dev, ino uint64) {
	if dev == 0 && ino == 0 {
		return
	}
	changed, ok := b.NewLabel(), b.NewLabel()
	b.Equal(st, b.Words(dev, ino), 16, unix.ESTALE).Then(ok).On(0, changed)
	b.Mark(changed)
	b.Fail(ErrReplaced)
	b.Mark(ok)
}

func (b *builder) attach(d detached, bind wire.Bind, all []wire.Bind) {
	b.For(wire.StageMount, bind.Target)
	b.put(bind.Target, d.mount, bind.File, bind.Make)
	for _, rel := range d.under {
		b.cover(bind.Target+rel, all)
	}
}

// guard binds what is visible at a path of the new root over itself (A-POL-10, A-POL-13). The copy comes from that very place, so it
// has the id mapping and the attributes of the root around it and can only be narrower. What is mounted below comes along.
// Something that is gone since the survey is a failure: a payload could make it anew, and it would pass for the old one.
func (b *builder) guard(g wire.Guard) {
	b.For(wire.StageMount, g.Target)
	gone, there := b.NewLabel(), b.NewLabel()
	op, at := b.place(b.root, g.Target, g.File)
	op.Then(there)
	for _, errno := range replaced {
		op.On(errno, gone)
	}
	b.Mark(gone)
	b.For(wire.StageSource, g.Target)
	b.Fail(ErrReplaced)
	b.For(wire.StageMount, g.Target)
	b.Mark(there)
	_, copied := b.copyMount(opcode.Value(at), unix.AT_RECURSIVE)
	set := uint64(0)
	if g.ReadOnly {
		set = ReadOnly
	}
	b.setattr(copied, set, unix.MS_PRIVATE, 0)
	b.move(opcode.Value(copied), at)
}
