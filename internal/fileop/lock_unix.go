//go:build unix

package fileop

import (
	"os"

	"golang.org/x/sys/unix"
)

// TryLock takes the exclusive lock of Lock if it is free and reports whether it did. On Unix f may be a directory.
func TryLock(f *os.File) (bool, error) { return tryLock(f, unix.LOCK_EX) }

func tryLock(f *os.File, how int) (bool, error) {
	err := retry(func() error { return unix.Flock(int(f.Fd()), how|unix.LOCK_NB) })
	if err == unix.EWOULDBLOCK {
		return false, nil
	}
	if err != nil {
		return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	return true, nil
}

// TryLockShared takes the lock if nobody holds it exclusively; several may share it. A file that is locked already changes
// to the shared kind.
func TryLockShared(f *os.File) (bool, error) { return tryLock(f, unix.LOCK_SH) }

// Unlock gives the lock back.
func Unlock(f *os.File) error {
	return retry(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) })
}
