package rootio

import (
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
)

// caseFold is FS_CASEFOLD_FL, which ext4, f2fs and tmpfs set on a directory that knows no case.
const caseFold = 0x40000000

// foldsCase asks the file system. ZFS has the property for a whole file system and no way to ask for it: there every
// directory counts as one.
func foldsCase(dir *os.File) bool {
	flags, err := unix.IoctlGetInt(int(dir.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil && flags&caseFold != 0 {
		return true
	}
	name, err := filesystem(dir)
	return err != nil || name == "zfs"
}

// describe describes one name without opening it. Where another mount begins only what is cached is asked for: a server
// behind it may never answer.
func describe(dir *os.File, name string) (Info, bool, error) {
	var st unix.Statx_t
	err := retry(func() error {
		return unix.Statx(int(dir.Fd()), name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT|unix.AT_STATX_DONT_SYNC, unix.STATX_BASIC_STATS, &st)
	})
	if err != nil {
		return Info{}, false, &fs.PathError{Op: "statx", Path: name, Err: err}
	}
	i := infoOf(&unix.Stat_t{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino, Mode: uint32(st.Mode), Uid: st.Uid, Gid: st.Gid, Size: int64(st.Size)})
	i.Links = uint64(st.Nlink)
	i.ModTime = time.Unix(st.Mtime.Sec, int64(st.Mtime.Nsec))
	i.ID = sandbox.FileID{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino}
	return i, st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0, nil
}

// openBelow opens a directory for reading its names, through no link and into no other mount.
func openBelow(dir *os.File, name string) (*os.File, error) {
	return openat2(int(dir.Fd()), name, join(dir.Name(), name), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW,
		unix.RESOLVE_BENEATH|unix.RESOLVE_NO_MAGICLINKS|unix.RESOLVE_NO_XDEV)
}

func chmodHeld(f *os.File, mode fs.FileMode) error {
	m := uint32(mode.Perm())
	for bit, b := range map[fs.FileMode]uint32{fs.ModeSetuid: unix.S_ISUID, fs.ModeSetgid: unix.S_ISGID, fs.ModeSticky: unix.S_ISVTX} {
		if mode&bit != 0 {
			m |= b
		}
	}
	return retry(func() error { return unix.Chmod(selfPath(f), m) })
}

func readFull(f *os.File, b []byte) (int, error) {
	n, err := io.ReadFull(f, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
}
