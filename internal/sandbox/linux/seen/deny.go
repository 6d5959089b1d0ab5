//go:build linux

package seen

import (
	"fmt"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Denies reports whether this kernel refuses to execute a file that somebody has open for writing, and so to write one that
// is executed (ETXTBSY). Linux 6.11 did not, until that was taken back. It is tried once, on a memory file that is opened by
// its path: the descriptor that comes with it does not count as a writer.
var Denies = sync.OnceValue(func() bool {
	fd, err := unix.MemfdCreate("deny", unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if err == unix.EINVAL { // older than the flag, and executable anyway
		fd, err = unix.MemfdCreate("deny", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	path := fmt.Sprintf("/proc/self/fd/%d", fd)
	if executing(path) != syscall.ENOEXEC {
		return false
	}
	writer, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(writer)
	return executing(path) == syscall.ETXTBSY
})

// executing is the error of executing an empty file.
func executing(path string) error {
	pid, err := syscall.ForkExec(path, []string{"deny"}, &syscall.ProcAttr{})
	if err == nil { // nothing that this kernel should do with an empty file
		var status syscall.WaitStatus
		syscall.Kill(pid, syscall.SIGKILL)
		for {
			if _, werr := syscall.Wait4(pid, &status, 0, nil); werr != syscall.EINTR {
				break
			}
		}
	}
	return err
}
