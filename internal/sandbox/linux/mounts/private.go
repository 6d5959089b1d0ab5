//go:build linux

package mounts

import (
	"strconv"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/wire"
)

// originals is where private copies are made; nothing of it stays in sight.
const originals = "/.copies"

// Copy is a private copy, and where the program puts the first bytes of its struct stat: device and inode.
type Copy struct {
	Target   string
	Identity opcode.Ref
}

// The struct stat of this architecture begins with device and inode, 8 bytes each.
const statSize = 256

// private makes private copies: files in a memory file system of this sandbox alone, of which only the single files are
// attached anywhere. Whatever happens to a file of the host, such a copy stays as it is.
type private struct {
	*builder
	at   opcode.Ref // of the directory; 0 without any
	made []Copy
}

// privately attaches the memory file system for the copies of binds, or does nothing when there are none.
func (b *builder) privately(binds []wire.Bind) *private {
	p := &private{builder: b}
	var size int64
	for _, bind := range binds {
		if bind.Copy {
			size += bind.Size + 1<<16
		}
	}
	if size == 0 {
		return p
	}
	fs := b.tmpfs(size, Base, "0700")
	b.For(wire.StageMount, originals)
	b.put(originals, opcode.Value(fs), false, true)
	_, p.at = b.place(b.root, originals, false)
	return p
}

// attach makes one copy and attaches it.
func (p *private) attach(bind wire.Bind, content opcode.Arg) {
	name := strconv.Itoa(len(p.made))
	p.For(wire.StageMount, bind.Target)
	_, fd := p.open(opcode.Value(p.at), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o555)
	if bind.Size > 0 {
		p.Call(unix.SYS_SENDFILE, opcode.Value(fd), content, opcode.At(p.Words(0)), opcode.Int(bind.Size)).Exactly(int(bind.Size))
	}
	identity := p.Reserve(statSize)
	p.Call(unix.SYS_FSTAT, opcode.Value(fd), opcode.At(identity))
	p.close(fd) // nobody may hold it for writing when it is executed
	p.closeArg(content)
	_, source := p.open(opcode.Value(p.at), name, unix.O_PATH, 0)
	_, mount := p.copyMount(opcode.Value(source), 0)
	p.setattr(mount, bind.Attr, unix.MS_PRIVATE, 0)
	p.close(source)
	p.For(wire.StageScript, bind.Target) // somebody on the host has just taken the script's name away
	p.put(bind.Target, opcode.Value(mount), true, bind.Make)
	p.made = append(p.made, Copy{bind.Target, identity})
}

// hide takes the place of the copies away; the attached files stay.
func (p *private) hide() {
	if p.at == 0 {
		return
	}
	p.For(wire.StageMount, originals)
	p.close(p.at)
	p.Call(unix.SYS_UMOUNT2, p.Text(originals), opcode.Int(unix.MNT_DETACH))
	p.Call(unix.SYS_UNLINKAT, opcode.Value(p.root), p.Text(originals[1:]), opcode.Int(unix.AT_REMOVEDIR))
}
