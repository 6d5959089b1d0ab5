//go:build unix

package fileop

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func (osFS) Create(dir *os.File, name string, perm fs.FileMode) (*os.File, error) {
	return openat(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, perm)
}

func (osFS) OpenAppend(dir *os.File, name string, perm fs.FileMode) (*os.File, error) {
	return openat(dir, name, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_NONBLOCK, perm)
}

func openat(dir *os.File, name string, flags int, perm fs.FileMode) (*os.File, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Openat(int(dir.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NOCTTY, uint32(perm.Perm()))
		return err
	})
	if err != nil {
		return nil, pathErr("open", dir, name, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		if err == nil {
			err = unix.EINVAL // a FIFO or device planted under our name
		}
		return nil, pathErr("open", dir, name, err)
	}
	return os.NewFile(uintptr(fd), dir.Name()+"/"+name), nil
}

func (osFS) Rename(oldDir *os.File, oldName string, newDir *os.File, newName string, replace bool) error {
	if err := CheckName(oldName); err != nil {
		return err
	}
	if err := CheckName(newName); err != nil {
		return err
	}
	rename := renameNoReplace
	if replace {
		rename = unix.Renameat
	}
	return pathErr("rename", oldDir, oldName, retry(func() error {
		return rename(int(oldDir.Fd()), oldName, int(newDir.Fd()), newName)
	}))
}

func (osFS) Unlink(dir *os.File, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return pathErr("unlink", dir, name, retry(func() error { return unix.Unlinkat(int(dir.Fd()), name, 0) }))
}

func (osFS) Mkdir(dir *os.File, name string, perm fs.FileMode) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return pathErr("mkdir", dir, name, retry(func() error { return unix.Mkdirat(int(dir.Fd()), name, uint32(perm.Perm())) }))
}

func (osFS) Rmdir(dir *os.File, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return pathErr("rmdir", dir, name, retry(func() error { return unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR) }))
}

// retry repeats a call that a signal interrupted; the Go runtime's preemption signals make that an everyday event.
func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
