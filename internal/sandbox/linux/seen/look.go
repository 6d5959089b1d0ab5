//go:build linux

package seen

import (
	"os"

	"golang.org/x/sys/unix"
)

// fields are what statx must tell.
const fields = unix.STATX_BASIC_STATS | unix.STATX_MNT_ID_UNIQUE

// At reads the state of the program at path, which is absolute and free of links. It is false when the kernel cannot tell all
// of it: the number of a mount needs Linux 6.8.
func At(path string) (State, bool) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return State{}, false
	}
	defer unix.Close(fd)
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return State{}, false
	}
	s, ok := stateOf(fd, int64(fs.Type))
	s.Flags = int64(fs.Flags) & nosuid
	return s, ok
}

// Runs reports whether exe, the opened executable of a stopped process, is that very object in that very state. Owner and
// mount are left out: through exe they are those of the sandbox's own, perhaps idmapped, mount; a change of the owner shows in
// Changed.
func (s State) Runs(exe *os.File) bool {
	r, ok := stateOf(int(exe.Fd()), s.Filesystem)
	r.Mount, r.Flags, r.UID, r.GID = s.Mount, s.Flags, s.UID, s.GID
	return ok && r == s
}

func stateOf(fd int, filesystem int64) (State, bool) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, fields|unix.STATX_BTIME, &st); err != nil {
		return State{}, false
	}
	s := State{Mount: st.Mnt_id, Mode: uint32(st.Mode), UID: st.Uid, GID: st.Gid, Links: st.Nlink, Size: st.Size,
		Changed: nanoseconds(st.Ctime), Modified: nanoseconds(st.Mtime), Filesystem: filesystem,
		Attributes: st.Attributes &^ unix.STATX_ATTR_MOUNT_ROOT} // a single file is a mount of its own in a sandbox
	s.ID.Dev, s.ID.Ino = unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino
	if st.Mask&unix.STATX_BTIME != 0 {
		s.Born = nanoseconds(st.Btime)
	}
	return s, st.Mask&fields == fields
}

func nanoseconds(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }
