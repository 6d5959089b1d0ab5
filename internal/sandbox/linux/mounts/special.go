//go:build linux

package mounts

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

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
// may not trace. On the way it takes away the right to make user namespaces below this one (A-SBX-04) and all but a small
// share of what the host counts by user: these sysctls belong to the user namespace and can be written only here, before
// the mount is sealed.
func procfs() (*os.File, error) {
	f, err := fresh("proc", Base|NoExec, [][2]string{{"hidepid", "invisible"}})
	if err != nil {
		return nil, wire.Fail(wire.StageProc, "/proc", err)
	}
	if name, err := countLess(f); err != nil {
		f.Close()
		return nil, wire.Fail(wire.StageSysctl, name, err)
	}
	set := unix.MountAttr{Attr_set: ReadOnly}
	if err := unix.MountSetattr(int(f.Fd()), "", unix.AT_EMPTY_PATH, &set); err != nil {
		f.Close()
		return nil, wire.Fail(wire.StageProc, "/proc", fmt.Errorf("mount_setattr: %w", err))
	}
	return f, nil
}

// What a sandbox may take of the host user's inotify instances and watches (usually 128, and 8192 or more): they count for
// the namespace's owner too, whose editor and desktop need them. Never more than a quarter.
const (
	inotifyInstances = 16
	inotifyWatches   = 8192
)

// countLess writes the limits; name is the one that failed.
func countLess(proc *os.File) (name string, err error) {
	for _, l := range []struct {
		name, host string
		most       int
	}{
		{"user/max_user_namespaces", "", 0},
		{"user/max_inotify_instances", "fs/inotify/max_user_instances", inotifyInstances},
		{"user/max_inotify_watches", "fs/inotify/max_user_watches", inotifyWatches},
	} {
		if l.host != "" {
			host, err := sysctl(proc, l.host)
			if errors.Is(err, unix.ENOENT) {
				continue // a kernel without inotify
			}
			if err != nil {
				return l.host, err
			}
			l.most = min(l.most, host/4)
		}
		if err := setSysctl(proc, l.name, l.most); err != nil {
			return l.name, err
		}
	}
	return "", nil
}

func setSysctl(proc *os.File, name string, value int) error {
	fd, err := unix.Openat(int(proc.Fd()), "sys/"+name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if _, err := f.WriteString(strconv.Itoa(value)); err != nil {
		return err
	}
	now, err := sysctl(proc, name)
	if err == nil && now != value {
		err = fmt.Errorf("reading back %d after writing %d", now, value)
	}
	return err
}

func sysctl(proc *os.File, name string) (int, error) {
	fd, err := unix.Openat(int(proc.Fd()), "sys/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var buf [32]byte
	n, err := f.Read(buf[:])
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(buf[:n])))
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

// Sysctl sets one of the calling process's namespaces, by its path below /proc/sys. It must be called before the root is
// built, while the host's /proc is in view: the sandbox's own is sealed.
func Sysctl(name, value string) error {
	proc, err := fresh("proc", Base|NoExec, nil)
	if err != nil {
		return err
	}
	defer proc.Close()
	fd, err := unix.Openat(int(proc.Fd()), "sys/"+name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	_, err = f.WriteString(value)
	return err
}
