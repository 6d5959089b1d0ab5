//go:build linux

package mounts

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// place opens the mount point at an absolute path below root, element by element and never through a link: a directory of
// the task may hold links that an earlier payload planted. With create, missing directories and the empty file are made.
func place(root *os.File, path string, file, create bool) (*os.File, error) {
	dir, name, err := walk(root, path, create)
	if err != nil || name == "" {
		return dir, err
	}
	defer dir.Close()
	if file {
		return openFile(dir, name, create)
	}
	return openDir(dir, name, create)
}

// parent opens the directory of an absolute path, made if missing, and returns the path's last element.
func parent(root *os.File, path string) (*os.File, string, error) { return walk(root, path, true) }

// walk returns the directory of path's last element; for "/" the root itself and "".
func walk(root *os.File, path string, create bool) (*os.File, string, error) {
	fd, err := unix.FcntlInt(root.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, "", err
	}
	dir := os.NewFile(uintptr(fd), "/")
	names := elements(path)
	if len(names) == 0 {
		return dir, "", nil
	}
	for _, n := range names[:len(names)-1] {
		next, err := openDir(dir, n, create)
		dir.Close()
		if err != nil {
			return nil, "", err
		}
		dir = next
	}
	return dir, names[len(names)-1], nil
}

func openDir(dir *os.File, name string, create bool) (*os.File, error) {
	open := func() (int, error) {
		return unix.Openat(int(dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	fd, err := open()
	if errors.Is(err, unix.ENOENT) && create {
		if err := unix.Mkdirat(int(dir.Fd()), name, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
			return nil, fmt.Errorf("mkdir: %w", err)
		}
		fd, err = open()
	}
	if err != nil {
		return nil, fmt.Errorf("opening the mount point: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func openFile(dir *os.File, name string, create bool) (*os.File, error) {
	if create {
		fd, err := unix.Openat(int(dir.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o444)
		if err == nil {
			unix.Close(fd)
		} else if !errors.Is(err, unix.EEXIST) {
			return nil, fmt.Errorf("creating the mount point: %w", err)
		}
	}
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the mount point: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// generate writes one file of the private root.
func generate(root *os.File, f wire.File) error {
	dir, name, err := parent(root, f.Path)
	if err != nil {
		return err
	}
	defer dir.Close()
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return fmt.Errorf("creating the file: %w", err)
	}
	out := os.NewFile(uintptr(fd), f.Path)
	defer out.Close()
	if _, err := out.WriteString(f.Text); err != nil {
		return fmt.Errorf("writing the file: %w", err)
	}
	return nil
}
