//go:build linux

package mounts

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/wire"
)

// originals is where private copies are made; nothing of it stays in sight.
const originals = "/.copies"

// private makes private copies: files in a memory file system of this sandbox alone, of which only the single files are
// attached anywhere. Whatever happens to a file of the host, such a copy stays as it is.
type private struct {
	root, at *os.File
	made     map[string]sandbox.FileID
}

// privately attaches the memory file system for the copies of binds, or does nothing when there are none.
func privately(root *os.File, binds []wire.Bind, passed []*os.File) (*private, error) {
	p := &private{root: root, made: map[string]sandbox.FileID{}}
	var size int64
	for _, b := range binds {
		if !b.Copy {
			continue
		}
		if b.FD < 0 || b.FD >= len(passed) {
			return nil, wire.Fail(wire.StageSource, b.Target, fmt.Errorf("descriptor %d was not handed over", b.FD))
		}
		var st unix.Stat_t
		if err := unix.Fstat(int(passed[b.FD].Fd()), &st); err != nil {
			return nil, wire.Fail(wire.StageSource, b.Target, err)
		}
		size += st.Size + 1<<16
	}
	if size == 0 {
		return p, nil
	}
	fs, err := tmpfs(size, Base, "0700")
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	if err := put(root, originals, fs, false, true); err != nil {
		return nil, err
	}
	p.at, err = place(root, originals, false, false)
	if err != nil {
		return nil, wire.Fail(wire.StageMount, originals, err)
	}
	return p, nil
}

// attach makes one copy and attaches it.
func (p *private) attach(b wire.Bind, content *os.File) error {
	name := strconv.Itoa(len(p.made))
	fd, err := unix.Openat(int(p.at.Fd()), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o555)
	if err != nil {
		return wire.Fail(wire.StageMount, b.Target, fmt.Errorf("creating a private copy: %w", err))
	}
	f := os.NewFile(uintptr(fd), b.Target)
	_, err = io.Copy(f, io.NewSectionReader(content, 0, 1<<62))
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	f.Close() // nobody may hold it for writing when it is executed
	if err != nil {
		return wire.Fail(wire.StageMount, b.Target, fmt.Errorf("writing a private copy: %w", err))
	}
	at, err := unix.Openat(int(p.at.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return wire.Fail(wire.StageMount, b.Target, fmt.Errorf("opening a private copy: %w", err))
	}
	source := os.NewFile(uintptr(at), b.Target)
	defer source.Close()
	mount, err := Clone(source, b.Attr, nil)
	if err != nil {
		return err
	}
	defer mount.Close()
	if err := put(p.root, b.Target, mount, true, b.Make); err != nil {
		return wire.Fail(wire.StageScript, b.Target, err) // somebody on the host has just taken the script's name away
	}
	p.made[b.Target] = sandbox.FileID{Dev: uint64(st.Dev), Ino: st.Ino}
	return nil
}

// hide takes the place of the copies away; the attached files stay.
func (p *private) hide() error {
	if p.at == nil {
		return nil
	}
	defer p.at.Close()
	if err := unix.Unmount(originals, unix.MNT_DETACH); err != nil {
		return wire.Fail(wire.StageMount, originals, fmt.Errorf("umount: %w", err))
	}
	if err := unix.Unlinkat(int(p.root.Fd()), originals[1:], unix.AT_REMOVEDIR); err != nil {
		return wire.Fail(wire.StageMount, originals, fmt.Errorf("rmdir: %w", err))
	}
	return nil
}
