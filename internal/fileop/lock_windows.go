package fileop

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// TryLock takes the exclusive lock of Lock if it is free and reports whether it did. f is a regular file.
func TryLock(f *os.File) (bool, error) { return tryLock(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// TryLockShared takes the lock if nobody holds it exclusively; several may share it.
func TryLockShared(f *os.File) (bool, error) { return tryLock(f, 0) }

func tryLock(f *os.File, how uint32) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	if err != nil {
		return false, &os.PathError{Op: "LockFileEx", Path: f.Name(), Err: err}
	}
	return true, nil
}

// Unlock gives the lock back.
func Unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, new(windows.Overlapped))
}
