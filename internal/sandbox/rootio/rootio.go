// Package rootio gives descriptor-based access to files below the roots of a policy, and is the only user of openat2.
//
// Threat: processes inside the sandbox, and programs outside it, swap directories and symbolic links below a root while
// the server resolves a path there. A check on a path followed by a use of the same path can be led elsewhere in
// between. So nothing here uses a path twice: Set.Resolve walks one element at a time with openat2 on the descriptor
// of the directory that it holds (RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_XDEV, O_NOFOLLOW), reads a link
// through the link's own descriptor, and ends with a Target that holds the object that was judged. Every later
// operation acts on that descriptor, or on one name below the held parent directory.
//
// The walk sees what a process inside the sandbox sees: the roots at their paths, the links by which they were declared,
// the directories that lead to both, and nothing else. A link, relative or absolute, may therefore lead from one root into another; whatever leaves the
// roots is refused without having been looked at. At most 40 links are followed, as in the kernel.
//
// Decided here: a mount point below a root is not entered (RESOLVE_NO_XDEV), unless it is declared as a root itself;
// only regular files and directories are opened, a FIFO, socket or device is refused without being opened; nothing is
// mapped into memory. When the server runs as root the permission bits are applied as they hold for the processes of
// the sandbox, whose user is the owner of the root directory (mode bits only; a POSIX ACL can only be stricter there).
package rootio

import (
	"io/fs"
	"os"
	"time"

	"sekisho/internal/sandbox"
)

// Kind of the object that a path names.
type Kind uint8

// The kinds that leave this package. Anything else is refused.
const (
	Missing Kind = iota
	File
	Dir
	link
	special
)

// String names the kind for logs and observations.
func (k Kind) String() string {
	return [...]string{"missing", "file", "directory", "link", "special file"}[k]
}

// Info describes an object through its descriptor.
type Info struct {
	Kind Kind
	ID   sandbox.FileID
	Size int64
	// Mode holds the permission bits and setuid, setgid and sticky; no type bits.
	Mode     fs.FileMode
	UID, GID int
	Links    uint64
	ModTime  time.Time
	// Attributes are not looked at by Stat; what describes an object to be made again gets them from Target.Attributes.
	Attributes Attributes
}

// Root is one open root: an O_PATH descriptor of a directory or of one regular file whose identity was checked.
type Root struct {
	path string
	file *os.File
	info Info
}

// Open opens the root at path, which must be absolute and free of links, and verifies that it is the object id.
// Errors are *fault.Error: sandbox.resolution_changed when path leads through a link, is gone or is another object;
// preflight.unsupported_os where this system has no backend. The caller closes the Root.
func Open(path string, id sandbox.FileID) (*Root, error) {
	r, err := openExact(path)
	if err != nil {
		return nil, err
	}
	if r.info.ID != id {
		r.Close()
		return nil, changed(path, nil)
	}
	return r, nil
}

// Exact opens whatever is at path, which must be absolute and free of links, whoever put it there. Errors as Open.
func Exact(path string) (*Root, error) { return openExact(path) }

// Path is the path that Open was given.
func (r *Root) Path() string { return r.path }

// File is the O_PATH descriptor, owned by the Root: for open_tree and other calls that act on the checked object.
func (r *Root) File() *os.File { return r.file }

// Info is what the descriptor was when it was opened.
func (r *Root) Info() Info { return r.info }

// Now is what the same object is at this moment, and when it was last changed in any way, by the file system's word.
func (r *Root) Now() (Info, time.Time, error) { return statChanged(r.file) }

// Reader opens the same object again for reading, without a path. The caller closes it.
func (r *Root) Reader() (*os.File, error) { return reopen(r.file, r.info.Kind) }

// Close releases the descriptor.
func (r *Root) Close() error { return r.file.Close() }

// Object is a path resolved once, for configuration time: the final target of all links, and its canonical path.
type Object struct {
	*Root
	// Filesystem is the name of the file system type, such as "ext2/3/4", or its magic number in hexadecimal.
	Filesystem string
}

// Follow resolves path through all links to its final target and confirms that the canonical path names that same
// object without any link. The object may be of any kind; Info().Kind tells regular files and directories.
// Errors: *fault.Error sandbox.resolution_unconfirmed, naming path, with the cause (missing, cycle, moved meanwhile).
func Follow(path string) (*Object, error) { return follow(path) }
