//go:build linux

package probe

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// TextBusy reports whether the kernel refuses to execute a file that someone may write; some kernel versions did not, and
// then a hash taken at the exec stop proves nothing. It tries it on a memory file: nothing runs.
func TextBusy() (bool, error) {
	fd, err := unix.MemfdCreate("sandbox probe", unix.MFD_CLOEXEC)
	if err != nil {
		return false, fmt.Errorf("making a memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), "sandbox probe")
	defer f.Close()
	if _, err := f.WriteString("not a program"); err != nil {
		return false, fmt.Errorf("filling a memory file: %w", err)
	}
	path := fmt.Sprintf("/proc/self/fd/%d", fd)
	writer, err := os.OpenFile(path, os.O_RDWR, 0) // the descriptor of memfd_create itself does not count as a writer
	if err != nil {
		return false, fmt.Errorf("opening a memory file for writing: %w", err)
	}
	defer writer.Close()
	pid, err := syscall.ForkExec(path, []string{"probe"}, &syscall.ProcAttr{})
	if err == nil { // cannot happen: what was written has no executable format
		syscall.Kill(pid, syscall.SIGKILL)
		syscall.Wait4(pid, nil, 0, nil)
	}
	return err == syscall.ETXTBSY, nil
}
