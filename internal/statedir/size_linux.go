package statedir

import (
	"errors"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// entryBytes is what one name counts at least: the kernel's bookkeeping costs room, too, and so a cap bounds their number.
const entryBytes = 4 << 10

// measure adds up the tree below path, which other processes change meanwhile. It stops early once limit is exceeded.
func measure(path string, limit int64) (Size, error) {
	dir, err := openat(unix.AT_FDCWD, path, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return Size{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(dir)
	home, err := mountOfDescriptor(dir)
	if err != nil {
		return Size{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		return Size{}, err
	}
	m := &measurement{limit: limit, mount: home}
	err = m.opened(dir, st.Mode, 0)
	return m.size, err
}

type measurement struct {
	size   Size
	limit  int64
	mount  mountID
	linked map[uint64]bool // inodes with several names, counted once
}

func (m *measurement) over() bool { return m.size.Bytes > m.limit || m.size.TooDeep }

// add counts what lies in one directory. It holds one descriptor for each level.
func (m *measurement) add(parent, depth int) error {
	if depth > maxDepth {
		m.size.TooDeep = true
		return nil
	}
	fd, err := openat(parent, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if gone(err) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "measure", Path: ".", Err: err}
	}
	dir := os.NewFile(uintptr(fd), ".")
	defer dir.Close()
	for !m.over() {
		names, err := dir.Readdirnames(batch)
		if errors.Is(err, io.EOF) || gone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := m.entry(fd, name, depth); err != nil || m.over() {
				return err
			}
		}
	}
	return nil
}

// entry counts one name. What disappears meanwhile is nothing.
func (m *measurement) entry(dir int, name string, depth int) error {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR && st.Nlink > 1 {
		if m.linked[st.Ino] {
			return nil
		}
		if m.linked == nil {
			m.linked = map[uint64]bool{}
		}
		m.linked[st.Ino] = true
	}
	m.size.Bytes += max(st.Blocks*512, entryBytes)
	m.size.Entries++
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	sub, err := openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if gone(err) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(sub)
	at, err := mountOfDescriptor(sub)
	if err != nil || at != m.mount {
		return err // of another mount nothing is counted; removal refuses it
	}
	return m.opened(sub, st.Mode, depth+1)
}

// opened counts what lies in a directory whatever its mode allows its owner.
func (m *measurement) opened(dir int, mode uint32, depth int) error {
	if mode&0o500 != 0o500 && os.Geteuid() != 0 {
		// A program may mean it so: it gets its permissions back at once.
		if err := openUpDescriptor(dir); err != nil {
			return err
		}
		defer unix.Chmod("/proc/self/fd/"+strconv.Itoa(dir), mode&0o7777)
	}
	return m.add(dir, depth)
}

func gone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESTALE) }

// Device is the number of the device that the directory at path lies on.
func Device(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return 0, &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	return uint64(st.Dev), nil
}
