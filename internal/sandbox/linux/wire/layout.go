//go:build linux

package wire

import "sekisho/internal/sandbox"

// Network is what PID 1 makes of its network namespace.
type Network struct {
	// Listen are the addresses where it listens, at most MaxFiles less one.
	Listen []Listen
	// OwnFirst and OwnLast are the ports that programs may use among themselves.
	OwnFirst, OwnLast uint32
}

// Listen is one TCP address: IP has 4 or 16 bytes.
type Listen struct {
	IP   []byte
	Port uint32
}

// Layout is the visible file system. Binds are mounted in order, so that a parent precedes what lies below it; then the
// Guards, likewise.
type Layout struct {
	Binds  []Bind
	Links  []Link
	Files  []File
	Guards []Guard
	// Limits are written where Proc is mounted.
	Limits []Sysctl
}

// Sysctl is a value of the sandbox's user namespace, by its path below /proc/sys.
type Sysctl struct{ Name, Value string }

// Guard binds what is visible at Target over itself. As a mount point it can be neither renamed, removed nor replaced; with
// ReadOnly it cannot be changed either. File tells that it is no directory; it may be a symbolic link.
type Guard struct {
	Target         string
	File, ReadOnly bool
}

// Bind is one mount.
type Bind struct {
	Target string
	// Source is the host path, opened by PID 1 in its own mount namespace and compared with ID; File tells its kind. When FD
	// is not -1, the broker made the (idmapped) mount already and FD counts the descriptors handed over.
	Source string
	FD     int
	ID     sandbox.FileID
	File   bool
	// Hidden are the mounts of the host below Source, by their paths from there on: they are covered.
	Hidden []string
	// Attr are MOUNT_ATTR_ flags.
	Attr uint64
	// Tmpfs is the size in bytes of a fresh tmpfs mounted instead of a source; 0 means none.
	Tmpfs int64
	// Make tells that the mount point may be created: it lies in the private root or in a directory of the task.
	Make bool
	// Proc mounts a procfs of the sandbox's own pid namespace.
	Proc bool
	// Copy mounts a private read-only copy of the bytes of the file that FD counts; Size is how many they are.
	Copy bool
	Size int64
}

// Link is a symbolic link in the private root.
type Link struct{ Path, To string }

// File is a generated read-only file in the private root.
type File struct{ Path, Text string }
