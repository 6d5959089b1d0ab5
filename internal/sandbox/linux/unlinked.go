//go:build linux

package linux

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
)

var _ sandbox.Unlinker = (*job)(nil)

// Unlinked implements sandbox.Unlinker: the allocated bytes of regular files on device dev that programs of the box hold open
// and that no name leads to any more. Each is counted once. A process that ends meanwhile holds nothing.
func (j *job) Unlinked(dev uint64) (int64, error) {
	j.mu.Lock() // while a program is being started nobody measures
	defer j.mu.Unlock()
	box := j.box
	if box == nil || box.group == nil {
		return 0, nil
	}
	pids, err := box.group.Procs()
	if err != nil {
		return 0, fmt.Errorf("listing the processes of a sandbox: %w", err)
	}
	var bytes int64
	seen := map[uint64]bool{}
	count := func(st *unix.Stat_t) {
		if st.Nlink == 0 && st.Mode&unix.S_IFMT == unix.S_IFREG && uint64(st.Dev) == dev && !seen[st.Ino] {
			seen[st.Ino] = true
			bytes += st.Blocks * 512
		}
	}
	for _, pid := range pids {
		// PID 1's session holds itself and the child that it has forked ahead, which nobody but root may ask. A payload is in another
		// one, for it gets its own before its exec, and nobody can join one. A payload's own child may have executed nothing yet, too.
		if session, err := unix.Getsid(pid); err != nil || session == box.proc.Pid {
			continue
		}
		if err := heldFiles(pid, count); err != nil {
			return 0, fmt.Errorf("looking at the open files of a sandbox: %w", err)
		}
	}
	return bytes, nil
}

// heldFiles tells what a process holds open. A program that made itself undumpable, or one that may be executed but not read, has its
// list in /proc closed to everybody but root: then its descriptors are asked for by number, which the owner of its user
// namespace may do.
func heldFiles(pid int, found func(*unix.Stat_t)) error {
	dir, err := os.Open(fmt.Sprintf("%s/%d/fd", proc, pid))
	if err != nil { // it is closed, hidden (hidepid), or has ended
		return heldByNumber(pid, found)
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		var st unix.Stat_t
		// Not by path: the link of /proc leads to the open file itself.
		switch err := unix.Fstatat(int(dir.Fd()), name, &st, 0); err {
		case nil:
			found(&st)
		case unix.EACCES, unix.EPERM: // closed since
			return heldByNumber(pid, found)
		}
	}
	return nil
}

func heldByNumber(pid int, found func(*unix.Stat_t)) error {
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil // it has ended
	}
	defer unix.Close(handle)
	size, err := descriptors(pid)
	if err != nil {
		if n, perr := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, 0); perr == nil && n > 0 {
			return nil
		}
		return fmt.Errorf("a process that cannot be looked at: %w", err)
	}
	for fd := range size {
		held, err := unix.PidfdGetfd(handle, fd, 0)
		switch err {
		case nil:
		case unix.EBADF:
			continue
		case unix.ESRCH:
			return nil
		default:
			return fmt.Errorf("pidfd_getfd: %w", err)
		}
		var st unix.Stat_t
		if unix.Fstat(held, &st) == nil {
			found(&st)
		}
		unix.Close(held)
	}
	return nil
}

// descriptors is the size of a process's table of them, which no number in use exceeds.
func descriptors(pid int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("%s/%d/status", proc, pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if size, ok := strings.CutPrefix(line, "FDSize:"); ok {
			return strconv.Atoi(strings.TrimSpace(size))
		}
	}
	return 0, nil // it is ending
}

// proc is where the kernel tells of processes.
var proc = "/proc"
