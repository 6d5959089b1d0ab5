//go:build linux

package mounts

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/wire"
)

// covered is where the new root is attached for the moment between its creation and the pivot: a directory that every
// system has.
const covered = "/proc"

// rootBytes bounds the private root: it holds names, links and a few generated files.
const rootBytes = 4 << 20

// Assemble gives the calling process the root that l describes and throws the host's away. passed are the descriptors that
// the binds count. It must run in a fresh mount namespace, before any payload exists; on error the process must exit. The
// result are the private copies that it made, by their target.
func Assemble(l wire.Layout, passed []*os.File) (map[string]sandbox.FileID, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, wire.Fail(wire.StageMount, "/", err)
	}
	copies := make([]*detached, len(l.Binds))
	for i, b := range l.Binds {
		if b.Copy {
			continue
		}
		var err error
		if copies[i], err = prepare(b, passed); err != nil {
			return nil, err
		}
		defer copies[i].mount.Close()
	}
	root, err := tmpfs(rootBytes, Base|NoExec, "0755")
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := pivot(root); err != nil {
		return nil, err
	}
	for _, f := range l.Files {
		if err := generate(root, f); err != nil {
			return nil, wire.Fail(wire.StageMount, f.Path, err)
		}
	}
	for _, k := range l.Links {
		dir, name, err := parent(root, k.Path)
		if err == nil {
			err = unix.Symlinkat(k.To, int(dir.Fd()), name)
			dir.Close()
		}
		if err != nil {
			return nil, wire.Fail(wire.StageMount, k.Path, fmt.Errorf("symlink: %w", err))
		}
	}
	private, err := privately(root, l.Binds, passed)
	if err != nil {
		return nil, err
	}
	for i, b := range l.Binds {
		if b.Copy {
			err = private.attach(b, passed[b.FD])
		} else {
			err = copies[i].attach(root, b, l.Binds)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := private.hide(); err != nil {
		return nil, err
	}
	for _, g := range l.Guards {
		if err := guard(root, g); err != nil {
			return nil, err
		}
	}
	set := unix.MountAttr{Attr_set: ReadOnly}
	if err := unix.MountSetattr(int(root.Fd()), "", unix.AT_EMPTY_PATH, &set); err != nil {
		return nil, wire.Fail(wire.StageMount, "/", fmt.Errorf("mount_setattr: %w", err))
	}
	return private.made, nil
}

// pivot makes root the root of this process and unmounts the old one, which stays below no name.
func pivot(root *os.File) error {
	if err := unix.MoveMount(int(root.Fd()), "", unix.AT_FDCWD, covered, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return wire.Fail(wire.StagePivot, covered, fmt.Errorf("move_mount: %w", err))
	}
	if err := unix.Fchdir(int(root.Fd())); err != nil {
		return wire.Fail(wire.StagePivot, "/", fmt.Errorf("fchdir: %w", err))
	}
	// The old root lands on top of the new one; the unmount then takes it, and all below it, away.
	if err := unix.PivotRoot(".", "."); err != nil {
		return wire.Fail(wire.StagePivot, "/", fmt.Errorf("pivot_root: %w", err))
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return wire.Fail(wire.StagePivot, "/", fmt.Errorf("umount: %w", err))
	}
	if err := unix.Chdir("/"); err != nil {
		return wire.Fail(wire.StagePivot, "/", fmt.Errorf("chdir: %w", err))
	}
	return nil
}

// detached is a mount that is not attached yet, with the places inside it that must be covered.
type detached struct {
	mount *os.File
	under []string // from its top on
}

func prepare(b wire.Bind, passed []*os.File) (*detached, error) {
	switch {
	case b.Proc:
		f, err := procfs()
		return &detached{mount: f}, err
	case b.Tmpfs > 0:
		f, err := tmpfs(b.Tmpfs, b.Attr, "1777")
		return &detached{mount: f}, err
	case b.FD >= 0 && b.FD >= len(passed):
		return nil, wire.Fail(wire.StageSource, b.Target, fmt.Errorf("descriptor %d was not handed over", b.FD))
	}
	var under []string
	if !b.File {
		var err error
		if under, err = below(b.Source); err != nil {
			return nil, wire.Fail(wire.StageMount, b.Target, err)
		}
	}
	if b.FD >= 0 {
		return &detached{passed[b.FD], under}, nil
	}
	source, err := OpenSource(b.Source, b.ID, b.File)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	f, err := clone(source, b.Attr, nil, 0)
	if err != nil && len(under) > 0 {
		// In a user's namespace a mount with mounts of the host below it can only be copied whole.
		f, err = clone(source, b.Attr, nil, unix.AT_RECURSIVE)
	}
	if err != nil {
		return nil, err
	}
	return &detached{f, under}, nil
}

func (d *detached) attach(root *os.File, b wire.Bind, all []wire.Bind) error {
	if err := put(root, b.Target, d.mount, b.File, b.Make); err != nil {
		return err
	}
	for _, rel := range d.under {
		if err := cover(root, b.Target+rel, all); err != nil {
			return err
		}
	}
	return nil
}

// put attaches a detached mount at an absolute path of the new root.
func put(root *os.File, target string, mount *os.File, file, create bool) error {
	at, err := place(root, target, file, create)
	if err != nil {
		return wire.Fail(wire.StageMount, target, err)
	}
	defer at.Close()
	return move(mount, at, target)
}

func move(mount, at *os.File, target string) error {
	err := unix.MoveMount(int(mount.Fd()), "", int(at.Fd()), "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	if err != nil {
		return wire.Fail(wire.StageMount, target, fmt.Errorf("move_mount: %w", err))
	}
	return nil
}

// elements splits an absolute path; "/" has none.
func elements(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}
