//go:build linux

package seen

import (
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
)

// settled is how long before the hash the last change must lie. File systems stamp a change with a clock that is coarse: a
// tick of the kernel (10 ms at most), cut to whole seconds in inodes of 128 bytes. A change after the hash therefore has
// another stamp than one that lies this far before it.
const settled = 2 * time.Second

// trusted are the file systems (statfs) whose every way to change bytes, through a shared mapping too, first changes the time
// of the last status change, which no system call can set. Not tmpfs: the first store through a mapping that was read before
// changes nothing but the bytes. Not overlay, FUSE or any network's: there the stamp is somebody else's word.
var trusted = map[int64]bool{unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true}

// State is what statx tells of a program: the comparison of all of it is the rule. Times are nanoseconds of CLOCK_REALTIME.
type State struct {
	ID sandbox.FileID
	// Mount is the number of the mount, which the kernel never gives twice: a medium that was away is another mount.
	Mount             uint64
	Mode              uint32
	UID, GID          uint32
	Links             uint32
	Size              uint64
	Changed, Modified int64
	Born              int64 // 0 where the file system does not tell
	Attributes        uint64
	Filesystem        int64
	// Flags are those of the mount (statfs) that count here: nosuid.
	Flags int64
}

// nosuid is ST_NOSUID. Where an ordinary user may have something mounted (udisks, "user" in fstab), the mount is nosuid: what looks
// like root's there is his, and he can write the image or the medium below the file system, which stamps nothing.
const nosuid = 2

// direct is the attribute of a file whose mappings are the storage itself.
const direct = unix.STATX_ATTR_DAX

// lasting tells whether a program in this state, hashed from begun on (nanoseconds of CLOCK_REALTIME), can be known again.
// Only root can write it, by its mode, and it has no other name, so that no right that a payload or a user has on some
// directory leads to it.
func (s State) lasting(begun int64) bool {
	return trusted[s.Filesystem] &&
		s.Mount != 0 &&
		s.Mode&unix.S_IFMT == unix.S_IFREG &&
		s.Mode&0o022 == 0 &&
		s.UID == 0 &&
		s.Links == 1 &&
		s.Flags&nosuid == 0 &&
		s.Attributes&direct == 0 &&
		s.Changed > 0 &&
		s.Changed < begun-int64(settled)
}
