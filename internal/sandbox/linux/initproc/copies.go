//go:build linux

package initproc

import (
	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/mounts"
	"sekisho/internal/sandbox/linux/wire"
)

// privateCopies are the files of this sandbox alone, by the path at which they were attached.
type privateCopies map[string]sandbox.FileID

// check proves that each path leads to its private copy. It no longer does when somebody on the host renamed another
// file over the script (the kernel then detaches what was mounted there) or moved one of its directories.
func (c privateCopies) check(paths []string) error {
	for _, path := range paths {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return wire.Fail(wire.StageScript, path, err)
		}
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		unix.Close(fd)
		if want, ok := c[path]; err == nil && (!ok || want != sandbox.FileID{Dev: uint64(st.Dev), Ino: st.Ino}) {
			err = mounts.ErrReplaced
		}
		if err != nil {
			return wire.Fail(wire.StageScript, path, err)
		}
	}
	return nil
}
