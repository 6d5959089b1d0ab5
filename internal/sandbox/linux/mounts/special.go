//go:build linux

package mounts

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// tmpfs makes a detached tmpfs of at most size bytes.
func tmpfs(size int64, attr uint64, mode string) (*os.File, error) {
	f, err := fresh("tmpfs", attr, [][2]string{{"size", strconv.FormatInt(size, 10)}, {"mode", mode}})
	if err != nil {
		return nil, wire.Fail(wire.StageMount, "tmpfs", err)
	}
	return f, nil
}

// procfs makes a detached, read-only procfs of the calling process's pid namespace that hides processes which the reader
// may not trace. On the way it takes away the right to make user namespaces below this one (A-SBX-04): the sysctl belongs
// to the user namespace and can be written only here, before the mount is sealed.
func procfs() (*os.File, error) {
	f, err := fresh("proc", Base|NoExec, [][2]string{{"hidepid", "invisible"}})
	if err != nil {
		return nil, wire.Fail(wire.StageProc, "/proc", err)
	}
	if err := forbidNamespaces(f); err != nil {
		f.Close()
		return nil, wire.Fail(wire.StageSysctl, "user.max_user_namespaces", err)
	}
	set := unix.MountAttr{Attr_set: ReadOnly}
	if err := unix.MountSetattr(int(f.Fd()), "", unix.AT_EMPTY_PATH, &set); err != nil {
		f.Close()
		return nil, wire.Fail(wire.StageProc, "/proc", fmt.Errorf("mount_setattr: %w", err))
	}
	return f, nil
}

func forbidNamespaces(proc *os.File) error {
	fd, err := unix.Openat(int(proc.Fd()), "sys/user/max_user_namespaces", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "max_user_namespaces")
	defer f.Close()
	if _, err := f.WriteString("0"); err != nil {
		return err
	}
	back := make([]byte, 8)
	if n, err := f.ReadAt(back, 0); n == 0 || back[0] != '0' {
		return fmt.Errorf("reading back %q: %w", back[:n], err)
	}
	return nil
}

// fresh makes a detached mount of a new file system.
func fresh(kind string, attr uint64, options [][2]string) (*os.File, error) {
	ctx, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("fsopen: %w", err)
	}
	defer unix.Close(ctx)
	for _, o := range options {
		if err := unix.FsconfigSetString(ctx, o[0], o[1]); err != nil {
			return nil, fmt.Errorf("fsconfig %s=%s: %w", o[0], o[1], err)
		}
	}
	if err := unix.FsconfigCreate(ctx); err != nil {
		return nil, fmt.Errorf("fsconfig create: %w", err)
	}
	fd, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, int(attr))
	if err != nil {
		return nil, fmt.Errorf("fsmount: %w", err)
	}
	return os.NewFile(uintptr(fd), kind), nil
}
