package rootio

import (
	"io/fs"
	"syscall"
)

// Permission bits of one class.
const (
	search  fs.FileMode = 1
	writing fs.FileMode = 2
	reading fs.FileMode = 4
)

// owner is the user that the sandbox's processes are, as the file system sees them.
type owner struct{ uid, gid int }

// nobody owns no file: for roots whose files are shown unmapped.
var nobody = owner{-1, -1}

// check applies the permission bits as they hold inside the sandbox. Only a server that runs as root needs it: the kernel
// lets root through everywhere, while the sandbox's processes are the owner of the root directory and hold no
// capability. For any other user the kernel's own check is the same one in both places.
func (s *Set) check(n *node, want fs.FileMode) error {
	if !s.emulate || n.member == nil {
		return nil
	}
	return permitted(n.info, n.member.owner, want)
}

// permitted applies the bits of the one class that who is in. As on the sandbox's mounts, which map one owner, an object
// that another user or group owns is never written, whatever its bits say (Linux: HAS_UNMAPPED_ID).
func permitted(i Info, who owner, want fs.FileMode) error {
	bits := i.Mode.Perm()
	switch {
	case i.UID == who.uid:
		bits >>= 6
	case i.GID == who.gid:
		bits >>= 3
	}
	if bits&want != want || want&writing != 0 && i.foreign(who) {
		return syscall.EACCES
	}
	return nil
}

func (i Info) foreign(who owner) bool { return i.UID != who.uid || i.GID != who.gid }
