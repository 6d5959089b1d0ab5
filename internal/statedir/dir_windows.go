package statedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"sekisho/internal/fileop"
)

func openNoFollow(parent *os.File, name string) (*os.File, error) {
	path := filepath.Join(parent.Name(), name)
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, &os.PathError{Op: "open", Path: path, Err: errors.New("not a directory")}
	}
	return os.Open(path)
}

// checkPrivate has nothing to ask here: directories in the user's local application data inherit its user-only list.
func checkPrivate(*os.File) error { return nil }

// lockInstance takes the lock of an instance directory if it is free. A directory cannot be locked here, so a file in it is.
func lockInstance(fsys fileop.FS, dir *os.File) (lock *os.File, ok bool, err error) {
	lock, err = fsys.OpenAppend(dir, lockName, 0o600)
	if err != nil {
		return nil, false, err
	}
	if ok, err = fileop.TryLock(lock); err != nil || !ok {
		return nil, ok, errors.Join(err, lock.Close())
	}
	return lock, true, nil
}

// unlockInstance closes and removes the lock file. The caller holds the recovery lock, so nobody takes it in between.
func unlockInstance(fsys fileop.FS, dir, lock *os.File) error {
	err := lock.Close()
	if unlinkErr := fsys.Unlink(dir, lockName); !errors.Is(unlinkErr, fs.ErrNotExist) {
		err = errors.Join(err, unlinkErr)
	}
	return err
}

func alive(dir *os.File) (bool, error) {
	_, err := os.Lstat(dir.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
