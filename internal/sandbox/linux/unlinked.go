//go:build linux

package linux

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
)

var _ sandbox.Unlinker = (*job)(nil)

// Unlinked implements sandbox.Unlinker: the allocated bytes of regular files on device dev that programs of the box hold open
// and that no name leads to any more. Each is counted once. A process that ends meanwhile holds nothing.
func (j *job) Unlinked(dev uint64) (int64, error) {
	j.mu.Lock()
	box := j.box
	j.mu.Unlock()
	if box == nil || box.group == nil {
		return 0, nil
	}
	pids, err := box.group.Procs()
	if err != nil {
		return 0, fmt.Errorf("listing the processes of a sandbox: %w", err)
	}
	var bytes int64
	seen := map[uint64]bool{}
	for _, pid := range pids {
		if pid == box.proc.Pid {
			continue
		}
		dir, err := os.Open(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			continue // it has ended, or is ending
		}
		names, _ := dir.Readdirnames(-1)
		for _, name := range names {
			var st unix.Stat_t
			// Not by path: the link of /proc leads to the open file itself.
			if unix.Fstatat(int(dir.Fd()), name, &st, 0) != nil || st.Nlink > 0 || st.Mode&unix.S_IFMT != unix.S_IFREG || uint64(st.Dev) != dev || seen[st.Ino] {
				continue
			}
			seen[st.Ino] = true
			bytes += st.Blocks * 512
		}
		dir.Close()
	}
	return bytes, nil
}
