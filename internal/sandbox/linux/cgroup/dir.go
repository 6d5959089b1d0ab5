//go:build linux

package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
)

// openDir opens a directory without following a link in its last element.
func openDir(at int, name string) (*os.File, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening control group %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func identity(dir *os.File) (sandbox.FileID, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return sandbox.FileID{}, fmt.Errorf("identifying %s: %w", dir.Name(), err)
	}
	return sandbox.FileID{Dev: st.Dev, Ino: st.Ino}, nil
}

func openControl(dir *os.File, name string, flags int) (*os.File, error) {
	fd, err := openAt(dir, name, flags)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func openAt(dir *os.File, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(int(dir.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return -1, fmt.Errorf("opening %s of control group %s: %w", name, dir.Name(), err)
		}
		return fd, nil
	}
}

func read(dir *os.File, name string) (string, error) {
	fd, err := openAt(dir, name, unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	// Most such files are a line or two, and are read several times for each sandbox: not worth an os.File.
	text := make([]byte, 0, 512)
	for {
		n, err := unix.Read(fd, text[len(text):cap(text)])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return "", fmt.Errorf("reading %s of control group %s: %w", name, dir.Name(), err)
		case n == 0:
			return strings.TrimSpace(string(text)), nil
		}
		if text = text[:len(text)+n]; len(text) == cap(text) {
			text = append(text, 0)[:len(text)]
		}
	}
}

func write(files fileop.FS, dir *os.File, name, value string) error {
	f, err := openControl(dir, name, unix.O_WRONLY|unix.O_TRUNC)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := files.Write(f, []byte(value)); err != nil {
		return fmt.Errorf("writing %q to %s of control group %s: %w", value, name, dir.Name(), err)
	}
	return nil
}

// set writes a value and proves it by reading it back.
func set(files fileop.FS, dir *os.File, name, value string) error {
	if err := write(files, dir, name, value); err != nil {
		return err
	}
	got, err := read(dir, name)
	if err != nil {
		return err
	}
	if got != value {
		return fmt.Errorf("setting %s of control group %s to %s: it says %s", name, dir.Name(), value, got)
	}
	return nil
}

// procs lists cgroup.procs. The kernel writes 0 for a process that this PID namespace does not see.
func procs(dir *os.File) ([]int, error) {
	text, err := read(dir, "cgroup.procs")
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENOENT) {
		return nil, nil // removed: nothing can be inside
	}
	if err != nil {
		return nil, err
	}
	var list []int
	for f := range strings.FieldsSeq(text) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			return nil, fmt.Errorf("reading cgroup.procs of %s: %w", dir.Name(), err)
		}
		list = append(list, pid)
	}
	return list, nil
}

// pause waits a moment or until ctx ends.
func pause(ctx context.Context) error {
	t := time.NewTimer(2 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
