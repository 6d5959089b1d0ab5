//go:build linux

package mounts

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/wire"
)

// elements splits an absolute path; "/" has none.
func elements(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// place opens the mount point at an absolute path below root, never through a link: a directory of the task may hold links that
// an earlier payload planted. The last element may itself be a link where a file is asked for; it is opened, not followed.
func (b *builder) place(root opcode.Ref, path string, file bool) (opcode.Op, opcode.Ref) {
	at := b.Slot()
	names := elements(path)
	if len(names) == 0 {
		return b.Call(unix.SYS_FCNTL, opcode.Value(root), opcode.Int(unix.F_DUPFD_CLOEXEC), opcode.Int(3)).Into(at), at
	}
	how := b.Words(openPlace(file), 0, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_BENEATH)
	return b.Call(unix.SYS_OPENAT2, opcode.Value(root), b.Text(strings.Join(names, "/")), opcode.At(how), opcode.Int(openHow)).Into(at), at
}

// openHow is the size of a struct open_how.
const openHow = 24

func openPlace(file bool) uint64 {
	if file {
		return unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	}
	return unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_DIRECTORY
}

// made is place for a mount point that is made, with the directories on the way, when it is missing.
func (b *builder) made(root opcode.Ref, target string, file bool) opcode.Ref {
	there := b.NewLabel()
	names := elements(target)
	op, at := b.place(root, target, file)
	if len(names) == 0 {
		return at
	}
	missing := b.NewLabel()
	op.Then(there).On(unix.ENOENT, missing)
	b.Mark(missing)
	// Element by element: what mkdirat makes goes nowhere but into the directory that was opened.
	dir := root
	for i, name := range names {
		last := i == len(names)-1
		if last && file {
			b.Call(unix.SYS_MKNODAT, opcode.Value(dir), b.Text(name), opcode.Int(unix.S_IFREG|0o444), opcode.Int(0)).Accept(unix.EEXIST)
		} else {
			b.Call(unix.SYS_MKDIRAT, opcode.Value(dir), b.Text(name), opcode.Int(0o755)).Accept(unix.EEXIST)
		}
		next := at
		if !last {
			next = b.Slot()
		}
		b.Call(unix.SYS_OPENAT, opcode.Value(dir), b.Text(name), opcode.Int(openPlace(last && file)), opcode.Int(0)).Into(next)
		if dir != root {
			b.close(dir)
		}
		dir = next
	}
	b.Mark(there)
	return at
}

// put attaches a detached mount at an absolute path of the new root.
func (b *builder) put(target string, mount opcode.Arg, file, create bool) {
	var at opcode.Ref
	if create {
		at = b.made(b.root, target, file)
	} else {
		_, at = b.place(b.root, target, file)
	}
	b.move(mount, at)
}

// generate writes one file of the private root, before anything is mounted in it.
func (b *builder) generate(f wire.File) {
	b.For(wire.StageMount, f.Path)
	dir := b.made(b.root, path.Dir(f.Path), false)
	_, fd := b.open(opcode.Value(dir), path.Base(f.Path), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o444)
	if f.Text != "" {
		b.Call(unix.SYS_WRITE, opcode.Value(fd), opcode.At(b.Bytes([]byte(f.Text))), opcode.Int(len(f.Text))).Exactly(len(f.Text))
	}
	b.close(fd)
	b.close(dir)
}

// link makes one symbolic link of the private root.
func (b *builder) link(k wire.Link) {
	b.For(wire.StageMount, k.Path)
	dir := b.made(b.root, path.Dir(k.Path), false)
	b.Call(unix.SYS_SYMLINKAT, b.Text(k.To), opcode.Value(dir), b.Text(path.Base(k.Path)))
	b.close(dir)
}
