package statedir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"sekisho/internal/fileop"
)

// batch is how many names are read before they are removed. Only the top directory and the one at hand are open.
const batch = 512

// remover empties one tree without recursion: a full directory found below the top is emptied of its files, and its own
// full subdirectories are moved up to the top, where their turn comes. So a tree of any depth needs three descriptors,
// and one that was interrupted is simply removed again.
type remover struct {
	fsys  fileop.FS
	top   *os.File
	mount mountID
}

// removeTree removes the entry name of parent, whatever it is.
func removeTree(fsys fileop.FS, parent *os.File, name string) error {
	err := fsys.Unlink(parent, name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !isDirError(err) {
		return err
	}
	top, home, err := openTop(parent, name)
	if err != nil {
		return err
	}
	defer top.Close()
	r := &remover{fsys: fsys, top: top, mount: home}
	if err := r.empty(top, r.removeTop); err != nil {
		return err
	}
	return fsys.Rmdir(parent, name)
}

// emptyTree removes everything in the directory name of parent, which stays the same object.
func emptyTree(fsys fileop.FS, parent *os.File, name string) error {
	top, home, err := openTop(parent, name)
	if err != nil {
		return err
	}
	defer top.Close()
	r := &remover{fsys: fsys, top: top, mount: home}
	return r.empty(top, r.removeTop)
}

// empty removes the names in dir with remove until none is left.
func (r *remover) empty(dir *os.File, remove func(string) error) error {
	for {
		// A descriptor of its own per round: an offset into a directory that changes means nothing.
		fd, err := openat(int(dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), dir.Name())
		names, err := f.Readdirnames(batch)
		f.Close()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := remove(n); err != nil {
				return err
			}
		}
	}
}

// removeTop removes one entry of the top directory.
func (r *remover) removeTop(name string) error {
	done, err := r.removeEasy(r.top, name)
	if done || err != nil {
		return err
	}
	dir, err := openUp(r.top, name, r.mount)
	if err != nil {
		return err
	}
	defer dir.Close()
	err = r.empty(dir, func(n string) error {
		done, err := r.removeEasy(dir, n)
		if done || err != nil {
			return err
		}
		return r.moveUp(dir, n)
	})
	if err != nil {
		return err
	}
	return r.fsys.Rmdir(r.top, name)
}

// removeEasy removes an entry that is no directory, or an empty one, and reports whether it did.
func (r *remover) removeEasy(dir *os.File, name string) (bool, error) {
	err := r.fsys.Unlink(dir, name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if !isDirError(err) {
		return false, err
	}
	err = r.fsys.Rmdir(dir, name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
		return false, nil
	}
	if errors.Is(err, unix.EBUSY) {
		err = fmt.Errorf("a mount, which is not entered: %w", err)
	}
	return false, err
}

// moveUp moves a full directory of dir to the top under a new name. Moving needs write permission on it.
func (r *remover) moveUp(dir *os.File, name string) error {
	sub, err := openUp(dir, name, r.mount)
	if err != nil {
		return err
	}
	sub.Close()
	return r.fsys.Rename(dir, name, r.top, "deep-"+rand.Text(), false)
}

// openTop opens the top of a tree as openUp does, and tells the mount that the tree lies on: its parent's.
func openTop(parent *os.File, name string) (*os.File, mountID, error) {
	home, err := mountOf(parent)
	if err != nil {
		return nil, home, err
	}
	top, err := openUp(parent, name, home)
	return top, home, err
}

// openUp opens a directory of the same mount without following a link, giving its owner all permissions first.
func openUp(parent *os.File, name string, home mountID) (*os.File, error) {
	path := filepath.Join(parent.Name(), name)
	handle, err := openat(int(parent.Fd()), name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(handle)
	at, err := mountOfDescriptor(handle)
	if err != nil {
		return nil, err
	}
	if at != home {
		return nil, fmt.Errorf("%s is on another mount, which is not entered", path)
	}
	if err := openUpDescriptor(handle); err != nil {
		return nil, &os.PathError{Op: "chmod", Path: path, Err: err}
	}
	fd, err := openat(handle, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openUpTree gives the directory's owner, which a task may have taken them from, all permissions.
func openUpTree(parent *os.File, name string) error {
	top, _, err := openTop(parent, name)
	if err != nil {
		return err
	}
	return top.Close()
}

// openUpDescriptor gives a directory's owner all permissions. An O_PATH descriptor refuses fchmod; its name under
// /proc/self/fd is the object itself, not a path.
func openUpDescriptor(handle int) error {
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(handle), 0o700)
}

// mountID tells mounts apart, also two of the same device. Kernels before 5.8 know no number: then the device decides.
type mountID struct{ dev, mount uint64 }

func mountOf(f *os.File) (mountID, error) { return mountOfDescriptor(int(f.Fd())) }

func mountOfDescriptor(fd int) (mountID, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st); err != nil {
		return mountID{}, fmt.Errorf("statx: %w", err)
	}
	id := mountID{dev: unix.Mkdev(st.Dev_major, st.Dev_minor)}
	if st.Mask&unix.STATX_MNT_ID != 0 {
		id.mount = st.Mnt_id
	}
	return id, nil
}

// isDirError tells the answers of unlink for a directory: EISDIR on Linux, EPERM by POSIX.
func isDirError(err error) bool { return errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) }
