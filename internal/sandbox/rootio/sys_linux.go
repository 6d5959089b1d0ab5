package rootio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
)

// openExact opens an absolute path that holds no link.
func openExact(path string) (*Root, error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.ContainsRune(path, 0) {
		return nil, changed(path, syscall.EINVAL)
	}
	f, err := openat2(unix.AT_FDCWD, path, path, unix.O_PATH|unix.O_NOFOLLOW, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return nil, changed(path, err)
	}
	info, err := stat(f)
	if err != nil {
		return nil, errors.Join(changed(path, err), f.Close())
	}
	if info.Kind == link { // the last element: O_PATH|O_NOFOLLOW opens it instead of failing
		return nil, errors.Join(changed(path, syscall.ELOOP), f.Close())
	}
	return &Root{path: path, file: f, info: info}, nil
}

func follow(path string) (*Object, error) {
	if !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
		return nil, unconfirmed(path, syscall.EINVAL)
	}
	f, err := openat2(unix.AT_FDCWD, path, path, unix.O_PATH, unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return nil, unconfirmed(path, err)
	}
	defer f.Close()
	info, err := stat(f)
	if err != nil {
		return nil, unconfirmed(path, err)
	}
	canonical, err := os.Readlink(selfPath(f))
	if err != nil {
		return nil, unconfirmed(path, err)
	}
	r, err := Open(canonical, info.ID) // the name that the kernel tells must lead to the same object without a link
	if err != nil {
		return nil, unconfirmed(path, err)
	}
	name, err := filesystem(r.file)
	if err != nil {
		return nil, errors.Join(unconfirmed(path, err), r.Close())
	}
	return &Object{Root: r, Filesystem: name}, nil
}

// openChild opens one name below dir without following it. A mount point is EXDEV unless cross is set.
func openChild(dir *os.File, name string, cross bool) (*os.File, Info, error) {
	var resolve uint64 = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS
	if !cross {
		resolve |= unix.RESOLVE_NO_XDEV
	}
	f, err := openat2(int(dir.Fd()), name, join(dir.Name(), name), unix.O_PATH|unix.O_NOFOLLOW, resolve)
	if err != nil {
		return nil, Info{}, err
	}
	info, err := stat(f)
	if err != nil {
		return nil, Info{}, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// statChild describes one name below dir without following it or opening it.
func statChild(dir *os.File, name string) (Info, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return infoOf(&st), err
}

// reopen opens the object of an O_PATH descriptor for reading. /proc/self/fd leads to that object whatever its path
// names by now.
func reopen(f *os.File, kind Kind) (*os.File, error) {
	flags := unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	switch kind {
	case Dir:
		flags |= unix.O_DIRECTORY
	case File:
	default:
		return nil, syscall.EINVAL
	}
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Open(selfPath(f), flags, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	// Nothing here blocks: the kind was judged on this very object, so the flag has done its duty.
	if err := unix.SetNonblock(fd, false); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func duplicate(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func stat(f *os.File) (Info, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(int(f.Fd()), &st) })
	return infoOf(&st), err
}

func statChanged(f *os.File) (Info, time.Time, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(int(f.Fd()), &st) })
	return infoOf(&st), time.Unix(st.Ctim.Unix()), err
}

func infoOf(st *unix.Stat_t) Info {
	i := Info{
		Kind:    special,
		ID:      sandbox.FileID{Dev: st.Dev, Ino: st.Ino},
		Size:    st.Size,
		Mode:    fs.FileMode(st.Mode & 0o777),
		UID:     int(st.Uid),
		GID:     int(st.Gid),
		Links:   uint64(st.Nlink),
		ModTime: time.Unix(st.Mtim.Unix()),
	}
	if st.Mode&unix.S_ISUID != 0 {
		i.Mode |= fs.ModeSetuid
	}
	if st.Mode&unix.S_ISGID != 0 {
		i.Mode |= fs.ModeSetgid
	}
	if st.Mode&unix.S_ISVTX != 0 {
		i.Mode |= fs.ModeSticky
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		i.Kind = File
	case unix.S_IFDIR:
		i.Kind = Dir
	case unix.S_IFLNK:
		i.Kind = link
	}
	return i
}

// readLink reads the link behind an O_PATH descriptor.
func readLink(f *os.File) (string, error) {
	var st unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(int(f.Fd()), &st) }); err != nil {
		return "", err
	}
	if st.Type == unix.PROC_SUPER_MAGIC {
		return "", errMagic // its text is no path, or names the reader's own objects
	}
	buf := make([]byte, maxPath+1)
	n, err := unix.Readlinkat(int(f.Fd()), "", buf)
	if err != nil {
		return "", err
	}
	if n > maxPath {
		return "", syscall.ENAMETOOLONG
	}
	return string(buf[:n]), nil
}

func chown(f *os.File, o owner) error { return f.Chown(o.uid, o.gid) }

// mayWrite asks the kernel whether this user may write the object of an O_PATH descriptor.
func mayWrite(f *os.File) error {
	return retry(func() error { return unix.Faccessat(unix.AT_FDCWD, selfPath(f), unix.W_OK, unix.AT_EACCESS) })
}

// addSystemLinks adds the root directory's own links into an os_runtime_root (/bin -> usr/bin ...).
func addSystemLinks(links map[string]string, root string) {
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		to, err := os.Readlink(name)
		if err == nil && within(root, join("/", strings.TrimPrefix(to, "/"))) {
			links[name] = to
		}
	}
}

func selfPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

func openat2(dir int, name, full string, flags int, resolve uint64) (*os.File, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: resolve}
	for range 100 {
		fd, err := unix.Openat2(dir, name, &how)
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), full), nil
		case unix.EINTR, unix.EAGAIN: // EAGAIN: a rename elsewhere in the system raced the kernel's check
			continue
		default:
			return nil, err
		}
	}
	return nil, fmt.Errorf("opening %s: renamed all the time: %w", full, unix.EAGAIN)
}

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
