//go:build linux

package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

var buffer [4096]byte

func ptr() uintptr { return uintptr(unsafe.Pointer(&buffer)) }

func init() {
	add(map[string]action{
		"syscall": {"NR ARGS...", func(a []string) (string, error) { // "buf" is a pointer to 4096 zero bytes
			nr, args := number(a[0]), []uintptr{}
			for _, s := range a[1:] {
				if s == "buf" {
					args = append(args, ptr())
				} else {
					args = append(args, number(s))
				}
			}
			return call(nr, args...)
		}},
		// In a child of one thread: user namespaces refuse more.
		"unshare": {"FLAGS", func(a []string) (string, error) { return unshare(number(a[0])) }},
		// A child in new namespaces ends at once.
		"clone": {"FLAGS", func(a []string) (string, error) { return child(number(a[0])) }},
		"clone3": {"FLAGS", func(a []string) (string, error) {
			args := [11]uint64{uint64(number(a[0]))}
			args[4] = uint64(unix.SIGCHLD)
			pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
			return reap(pid, errno)
		}},
		"setns": {"PATH", func(a []string) (string, error) {
			fd, err := unix.Open(a[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return "", err
			}
			return "", unix.Setns(fd, 0)
		}},
		"mount":  {"SOURCE TARGET TYPE", func(a []string) (string, error) { return "", unix.Mount(a[0], a[1], a[2], 0, "") }},
		"bind":   {"SOURCE TARGET", func(a []string) (string, error) { return "", unix.Mount(a[0], a[1], "", unix.MS_BIND, "") }},
		"umount": {"TARGET", func(a []string) (string, error) { return "", unix.Unmount(a[0], unix.MNT_DETACH) }},
		"chroot": {"PATH", func(a []string) (string, error) { return "", unix.Chroot(a[0]) }},
		"remount": {"TARGET", func(a []string) (string, error) { // writable
			return "", unix.Mount("", a[0], "", unix.MS_REMOUNT|unix.MS_BIND, "")
		}},
		"ioctl": {"FD REQUEST", func(a []string) (string, error) { return call(unix.SYS_IOCTL, number(a[0]), number(a[1]), ptr()) }},
		"ptrace-attach": {"PID", func(a []string) (string, error) {
			defer unix.PtraceDetach(int(number(a[0])))
			return "", unix.PtraceAttach(int(number(a[0])))
		}},
		"ptrace-seize": {"PID", func(a []string) (string, error) { return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, number(a[0])) }},
		"pvm-read": {"PID ADDRESS LENGTH", func(a []string) (string, error) {
			return pvm(unix.SYS_PROCESS_VM_READV, number(a[0]), number(a[1]), number(a[2]))
		}},
		"pvm-write": {"PID ADDRESS LENGTH", func(a []string) (string, error) {
			return pvm(unix.SYS_PROCESS_VM_WRITEV, number(a[0]), number(a[1]), number(a[2]))
		}},
		"pidfd-getfd": {"PID FD", func(a []string) (string, error) {
			fd, err := unix.PidfdOpen(int(number(a[0])), 0)
			if err != nil {
				return "", err
			}
			return call(unix.SYS_PIDFD_GETFD, uintptr(fd), number(a[1]), 0)
		}},
		"prlimit": {"PID", func(a []string) (string, error) {
			lim := unix.Rlimit{Cur: 64, Max: 64}
			return "", unix.Prlimit(int(number(a[0])), unix.RLIMIT_NOFILE, &lim, nil)
		}},
		"core-limit": {"VALUE", func(a []string) (string, error) {
			lim := unix.Rlimit{Cur: uint64(number(a[0])), Max: uint64(number(a[0]))}
			err := unix.Prlimit(0, unix.RLIMIT_CORE, &lim, nil)
			return limit(unix.RLIMIT_CORE), err
		}},
		"affinity": {"PID", func(a []string) (string, error) {
			set := unix.CPUSet{}
			set.Set(0)
			return "", unix.SchedSetaffinity(int(number(a[0])), &set)
		}},
		"priority": {"WHICH PID", func(a []string) (string, error) {
			return "", unix.Setpriority(int(number(a[0])), int(number(a[1])), 19)
		}},
		"ioprio": {"WHICH PID", func(a []string) (string, error) {
			return call(unix.SYS_IOPRIO_SET, number(a[0]), number(a[1]), 3<<13)
		}},
		"io-uring":    {"", func([]string) (string, error) { return call(unix.SYS_IO_URING_SETUP, 1, ptr()) }},
		"userfaultfd": {"", func([]string) (string, error) { return call(unix.SYS_USERFAULTFD, 1) }},
		"keyctl": {"", func([]string) (string, error) {
			return call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, uintptr(0xfffffffc), 1)
		}}, // the user's keyring
		"perf": {"", func([]string) (string, error) {
			// The own use of the processor, without the kernel's part: a clock of software, which needs no hardware and no rights.
			attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: unix.PERF_ATTR_SIZE_VER0, Config: unix.PERF_COUNT_SW_TASK_CLOCK, Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
			return call(unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&attr)), 0, ^uintptr(0), ^uintptr(0), 0)
		}},
		"x32": {"NR", func(a []string) (string, error) { return call(number(a[0]) | 0x40000000) }},
		// COUNT system call filters of its own that allow everything; the detail is how many the kernel then counts.
		"own-filters": {"COUNT prctl|seccomp", ownFilters},
		"int80": {"NR", func(a []string) (string, error) { // the 32-bit entry; where the kernel has none this program crashes
			return itoa(int(int80(number(a[0])))), nil
		}},
		"fds": {"", fds},
		"env": {"", func([]string) (string, error) { return strings.Join(os.Environ(), "\n"), nil }},
		"ids": {"", func([]string) (string, error) {
			return fmt.Sprintf("uid %d euid %d gid %d egid %d", unix.Getuid(), unix.Geteuid(), unix.Getgid(), unix.Getegid()), nil
		}},
	})
}

// child clones with extra flags; the child does nothing but end.
func child(flags uintptr) (string, error) {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	return reap(pid, errno)
}

func unshare(flags uintptr) (string, error) {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno == 0 && pid == 0 {
		_, _, errno = unix.RawSyscall(unix.SYS_UNSHARE, flags, 0, 0)
		unix.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
	}
	if errno != 0 {
		return "", errno
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(int(pid), &status, 0, nil); err != nil {
		return "", err
	}
	if status.ExitStatus() != 0 {
		return "", unix.Errno(status.ExitStatus())
	}
	return "", nil
}

// reap is also where the child of a raw clone comes out; it makes no call into the runtime.
//
//go:norace
func reap(pid uintptr, errno unix.Errno) (string, error) {
	if errno == 0 && pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	if errno != 0 {
		return "", errno
	}
	var status unix.WaitStatus
	_, err := unix.Wait4(int(pid), &status, 0, nil)
	return fmt.Sprintf("child ended with %d", status.ExitStatus()), err
}

func pvm(nr, pid, address, length uintptr) (string, error) {
	length = min(length, uintptr(len(buffer)))
	local := unix.Iovec{Base: &buffer[0]}
	local.SetLen(int(length))
	remote := unix.RemoteIovec{Base: address, Len: int(length)}
	r, _, errno := unix.Syscall6(nr, pid, uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	if errno != 0 {
		return "", errno
	}
	return hex.EncodeToString(buffer[:r]), nil
}

func limit(resource int) string {
	var now unix.Rlimit
	if err := unix.Prlimit(0, resource, nil, &now); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d/%d", now.Cur, now.Max)
}

// fds lists the descriptors that were open when the program started, found by asking for each number; the runtime's own
// ones come later or are marked by what they are.
func fds([]string) (string, error) {
	var open []string
	for fd := range 4096 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			continue
		}
		target, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if fd > 2 && (target == "anon_inode:[eventpoll]" || target == "anon_inode:[eventfd]") {
			continue // this program's own waiting
		}
		if strings.HasPrefix(target, "/sys/fs/cgroup/") {
			continue // Go's look at its share of the processors
		}
		open = append(open, fmt.Sprintf("%d=%s", fd, target))
	}
	return strings.Join(open, " "), nil
}

func init() {
	add(map[string]action{"confinement": {"", confinement}})
}

// confinement prints where this process is held: namespaces, seccomp mode, no_new_privs and control groups.
func confinement([]string) (string, error) {
	var out strings.Builder
	for _, ns := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		target, err := os.Readlink("/proc/self/ns/" + ns)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&out, target)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(status)) {
		for _, field := range []string{"NoNewPrivs:", "Seccomp:", "CapEff:", "CapBnd:"} {
			if strings.HasPrefix(line, field) {
				out.WriteString(line)
			}
		}
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	out.Write(groups)
	return out.String(), err
}

func ownFilters(a []string) (string, error) {
	runtime.LockOSThread()
	all := [1]unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
	prog := unix.SockFprog{Len: 1, Filter: &all[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return "", err
	}
	var failure error
	for range min(int(number(a[0])), 4096) {
		nr, first, second := uintptr(unix.SYS_PRCTL), uintptr(unix.PR_SET_SECCOMP), uintptr(unix.SECCOMP_MODE_FILTER)
		if a[1] == "seccomp" {
			nr, first, second = unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0
		}
		if _, _, errno := unix.Syscall(nr, first, second, uintptr(unsafe.Pointer(&prog))); errno != 0 {
			failure = errno
			break
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", unix.Gettid()))
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(status), "Seccomp_filters:\t")
	count, _, _ := strings.Cut(rest, "\n")
	return count, failure
}
