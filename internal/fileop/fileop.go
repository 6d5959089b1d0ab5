// Package fileop is the one door for effects that outlive this process: appending, syncing, renaming, unlinking, making
// directories and writing cgroup files.
//
// Everything that a crash could leave half done goes through FS, so that a crash test is a wrapper that stops the
// process at the k-th call (A-TX-04) and never a branch in product code. A lint rule bans the os functions elsewhere.
// Directories are descriptors: a name is one element below a directory that the caller already holds, so no call
// resolves a path again after it was checked.
package fileop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// FS performs durable effects. Each call is one effect; none is retried. Names are single path elements: an empty name,
// ".", "..", or one with a separator or NUL is refused with ErrName.
type FS interface {
	// Create makes a new regular file for reading and writing; an existing one is fs.ErrExist. The caller closes it.
	Create(dir *os.File, name string, perm fs.FileMode) (*os.File, error)
	// OpenAppend opens a regular file for appending, creating it if missing. It never follows a link in name.
	OpenAppend(dir *os.File, name string, perm fs.FileMode) (*os.File, error)
	// Write writes all of p with as few system calls as the kernel allows; for an append of less than a page that is one.
	Write(f *os.File, p []byte) error
	// Chmod sets the permission bits of an open file.
	Chmod(f *os.File, perm fs.FileMode) error
	// Sync flushes a file's data or a directory's entries to the device.
	Sync(f *os.File) error
	// Rename moves a name. Without replace an existing target is fs.ErrExist, checked by the kernel.
	Rename(oldDir *os.File, oldName string, newDir *os.File, newName string, replace bool) error
	// Unlink removes a name that is not a directory.
	Unlink(dir *os.File, name string) error
	// Mkdir makes one directory.
	Mkdir(dir *os.File, name string, perm fs.FileMode) error
	// Rmdir removes one empty directory.
	Rmdir(dir *os.File, name string) error
}

// ErrName reports a name that is not one path element.
var ErrName = errors.New("not a single path element")

// OS returns the FS of the operating system.
func OS() FS { return osFS{} }

type osFS struct{}

func (osFS) Write(f *os.File, p []byte) error {
	_, err := f.Write(p) // os.File.Write loops until all is written or an error occurred
	return err
}

func (osFS) Chmod(f *os.File, perm fs.FileMode) error { return f.Chmod(perm) }
func (osFS) Sync(f *os.File) error                    { return f.Sync() }

// CheckName returns ErrName unless name is one path element.
func CheckName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") || strings.ContainsRune(name, os.PathSeparator) {
		return fmt.Errorf("%w: %q", ErrName, name)
	}
	return nil
}

func pathErr(op string, dir *os.File, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: dir.Name() + string(os.PathSeparator) + name, Err: err}
}
