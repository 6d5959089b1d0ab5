//go:build unix

package statedir

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"sekisho/internal/fileop"
)

func openNoFollow(parent *os.File, name string) (*os.File, error) {
	fd, err := openat(int(parent.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	path := filepath.Join(parent.Name(), name)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func openat(dir int, name string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func checkPrivate(f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if s := st.Sys().(*syscall.Stat_t); int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("owner is uid %d, not this user (uid %d)", s.Uid, os.Geteuid())
	}
	if st.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("mode %#o lets other users in; it must be 0700", st.Mode().Perm())
	}
	return nil
}

// lockInstance takes the lock of an instance directory if it is free. The lock is on the directory itself.
func lockInstance(_ fileop.FS, dir *os.File) (lock *os.File, ok bool, err error) {
	ok, err = fileop.TryLock(dir)
	return dir, ok, err
}

// unlockInstance removes the lock's own traces; on Unix there are none.
func unlockInstance(fileop.FS, *os.File, *os.File) error { return nil }

// alive reports whether an open directory still has a name.
func alive(dir *os.File) (bool, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return false, err
	}
	return st.Nlink > 0, nil
}
