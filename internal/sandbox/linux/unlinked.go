//go:build linux

package linux

import (
	"errors"
	"fmt"
	"io/fs"
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
	count := func(st *unix.Stat_t) {
		if st.Nlink == 0 && st.Mode&unix.S_IFMT == unix.S_IFREG && uint64(st.Dev) == dev && !seen[st.Ino] {
			seen[st.Ino] = true
			bytes += st.Blocks * 512
		}
	}
	for _, pid := range pids {
		// PID 1's session holds itself and the child that it has forked ahead, which nobody but root may ask. A payload is in another
		// one, for it gets its own before its exec, and nobody can join one.
		if session, err := unix.Getsid(pid); err != nil || session == box.proc.Pid {
			continue
		}
		if err := heldFiles(pid, count); errors.Is(err, unix.EPERM) && unborn(pid, box.proc.Pid) {
			continue
		} else if err != nil {
			return 0, fmt.Errorf("looking at the open files of a sandbox: %w", err)
		}
	}
	return bytes, nil
}

// heldFiles tells what a process holds open. A program that made itself undumpable, or one that may be executed but not read, has its
// list in /proc closed to everybody but root: then its descriptors are asked for by number, which the owner of its user
// namespace may do.
func heldFiles(pid int, found func(*unix.Stat_t)) error {
	dir, err := os.Open(fmt.Sprintf("/proc/%d/fd", pid))
	if errors.Is(err, fs.ErrPermission) {
		return heldByNumber(pid, found)
	}
	if err != nil {
		return nil // it has ended, or is ending
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
	for fd := range descriptors(pid) {
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

// unborn tells whether a process is a child of PID 1 that has not executed a program yet: like PID 1 it is closed to this user, and
// it holds what PID 1 gave it.
func unborn(pid, init int) bool {
	const forkNoExec = 0x40 // PF_FORKNOEXEC
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // it has ended
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 7 {
		return false
	}
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	// Asked for later than it was looked at: by now it may be a program that can be looked at the next time.
	return err == nil && fields[1] == strconv.Itoa(init) && (flags&forkNoExec != 0 || open(pid))
}

// open tells whether a process can be looked at.
func open(pid int) bool {
	dir, err := os.Open(fmt.Sprintf("/proc/%d/fd", pid))
	if err == nil {
		dir.Close()
	}
	return err == nil
}

// descriptors is the size of a process's table of them, which no number in use exceeds; 0 when it has ended.
func descriptors(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if size, ok := strings.CutPrefix(line, "FDSize:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(size))
			return n
		}
	}
	return 0
}
