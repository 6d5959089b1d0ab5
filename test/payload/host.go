//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a program can leave on its host, or take from it beside its own memory and processes.
func init() {
	add(map[string]action{
		// A file or directory with MODE (octal 06000 bits and all), by the named system call.
		"set-id": {"CALL PATH MODE", setID},
		"netlink": {"PROTOCOL", func(a []string) (string, error) {
			return call(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, number(a[0]))
		}},
		"inotify": {"COUNT", func(a []string) (string, error) {
			return many(a[0], func() (int, error) { return unix.InotifyInit1(unix.IN_CLOEXEC) })
		}},
		"open-files": {"COUNT", openFiles},
		"limits":     {"", limits},
		// What a socket makes the kernel keep.
		"packet-filter": {"", func([]string) (string, error) {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
			if err != nil {
				return "", err
			}
			all := [1]unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 16}}
			return "", unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &all[0]})
		}},
		// Keys that sign the segments of one socket of TCP, as many as it takes; the detail is how many.
		"signing-keys": {"COUNT", func(a []string) (string, error) {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				return "", err
			}
			for n := range min(int(number(a[0])), 1<<16) {
				sig := unix.TCPMD5Sig{Flags: 1, Prefixlen: 32, Keylen: 80}
				sig.Addr.Family = unix.AF_INET
				*(*[4]byte)(unsafe.Pointer(uintptr(unsafe.Pointer(&sig)) + 4)) = [4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}
				if err := unix.SetsockoptTCPMD5Sig(fd, unix.IPPROTO_TCP, 32 /* TCP_MD5SIG_EXT */, &sig); err != nil {
					return itoa(n), err
				}
			}
			return a[0], nil
		}},
		"multicast": {"", func([]string) (string, error) {
			fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM, 0)
			if err != nil {
				return "", err
			}
			return "", unix.SetsockoptIPv6Mreq(fd, unix.IPPROTO_IPV6, unix.IPV6_JOIN_GROUP, &unix.IPv6Mreq{Multiaddr: [16]byte{0xff, 2, 15: 77}, Interface: 1})
		}},
		// COUNT file locks, by the fcntl command CMD, spread over files in DIR, held for SECONDS.
		"locks": {"DIR COUNT CMD SECONDS", fileLocks},
		// A process that shares the table of descriptors.
		"share-files": {"", func([]string) (string, error) {
			pid, err := rawClone(unix.CLONE_FILES)
			if err == nil {
				_, err = unix.Wait4(pid, nil, 0, nil)
			}
			return "", err
		}},
		// COUNT processes at once that say nothing, ROUNDS times, with a pause of GAP microseconds after each.
		"burst": {"COUNT ROUNDS GAP", burst},
		// Notifications without forks: a first word again and again, and forks that the kernel refuses.
		"spam-word": {"SECONDS", func(a []string) (string, error) {
			var head [3]uintptr
			return spam(a[0], func() {
				unix.RawSyscall(unix.SYS_SET_ROBUST_LIST, uintptr(unsafe.Pointer(&head)), unsafe.Sizeof(head), 0)
			})
		}},
		// A memory file that can never be executed, run all the same by the dynamic loader.
		"memfd-sealed": {"LOADER PROGRAM", func(a []string) (string, error) {
			program, err := os.ReadFile(a[1])
			if err != nil {
				return "", err
			}
			fd, err := unix.MemfdCreate("payload", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
			if err != nil {
				return "", err
			}
			f := os.NewFile(uintptr(fd), "payload")
			if _, err := f.Write(program); err != nil {
				return "", err
			}
			out, err := exec.Command(a[0], fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd)).CombinedOutput()
			return string(out), err
		}},
	})
}

func setID(a []string) (string, error) {
	name, err := unix.BytePtrFromString(a[1])
	if err != nil {
		return "", err
	}
	path, mode, here := uintptr(unsafe.Pointer(name)), number("0"+strings.TrimPrefix(a[2], "0")), ^uintptr(99) // AT_FDCWD is -100
	defer runtime.KeepAlive(name)
	switch a[0] {
	case "fchmodat":
		return call(unix.SYS_FCHMODAT, here, path, mode)
	case "fchmodat2":
		return call(unix.SYS_FCHMODAT2, here, path, mode, 0)
	case "fchmod":
		fd, err := unix.Open(a[1], unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return "", err
		}
		return call(unix.SYS_FCHMOD, uintptr(fd), mode)
	case "openat":
		return call(unix.SYS_OPENAT, here, path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, mode)
	case "openat2":
		fd, err := unix.Openat2(unix.AT_FDCWD, a[1], &unix.OpenHow{Flags: unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY, Mode: uint64(mode)})
		return itoa(fd), err
	case "tmpfile":
		dir := a[1][:strings.LastIndexByte(a[1], '/')]
		fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY, uint32(mode))
		if err != nil {
			return "", err
		}
		return "", unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, a[1], unix.AT_SYMLINK_FOLLOW)
	case "mknodat":
		return call(unix.SYS_MKNODAT, here, path, unix.S_IFREG|mode, 0)
	case "mkdirat":
		if _, err := call(unix.SYS_MKDIRAT, here, path, mode); err != nil {
			return "", err
		}
		return call(unix.SYS_FCHMODAT, here, path, mode) // the kernel's mkdir itself takes setgid from the parent only
	}
	return setIDOld(a[0], path, mode)
}

// many repeats make, which opens a descriptor, and tells how often it worked.
func many(count string, make func() (int, error)) (string, error) {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) == nil {
		l.Cur = l.Max
		unix.Setrlimit(unix.RLIMIT_NOFILE, &l)
	}
	n := 0
	for ; n < min(int(number(count)), 1<<16); n++ {
		if _, err := make(); err != nil {
			return itoa(n), err
		}
	}
	return itoa(n), nil
}

func openFiles(a []string) (string, error) {
	return many(a[0], func() (int, error) { return unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3) })
}

func limits([]string) (string, error) {
	var out strings.Builder
	for _, l := range []struct {
		name string
		id   int
	}{{"files", unix.RLIMIT_NOFILE}, {"signals", unix.RLIMIT_SIGPENDING}, {"queues", unix.RLIMIT_MSGQUEUE}, {"locked", unix.RLIMIT_MEMLOCK}} {
		var now unix.Rlimit
		if err := unix.Prlimit(0, l.id, nil, &now); err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%s=%d ", l.name, now.Max)
	}
	for _, name := range []string{"max_inotify_instances", "max_inotify_watches", "max_user_namespaces"} {
		b, err := os.ReadFile("/proc/sys/user/" + name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%s=%s ", name, strings.TrimSpace(string(b)))
	}
	return strings.TrimSpace(out.String()), nil
}

func burst(a []string) (string, error) {
	runtime.LockOSThread()
	most := 0
	for range min(int(number(a[1])), 1000) {
		pids, err := startQuiet(min(int(number(a[0])), 1000))
		most = max(most, len(pids))
		for _, pid := range pids {
			unix.Kill(pid, unix.SIGKILL)
		}
		for _, pid := range pids {
			unix.Wait4(pid, nil, 0, nil)
		}
		if err != nil {
			return "at once " + itoa(most), err
		}
		time.Sleep(time.Duration(number(a[2])) * time.Microsecond)
	}
	return "at once " + itoa(most), nil
}

//go:norace
func startQuiet(n int) (pids []int, err error) {
	wait := unix.Timespec{Sec: 60}
	for range n {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_CHILD_SETTID|unix.CLONE_CHILD_CLEARTID|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno == 0 && pid == 0 {
			quiet(&wait)
		}
		if errno != 0 {
			return pids, errno
		}
		pids = append(pids, int(pid))
	}
	return pids, nil
}

// spam repeats a system call that the broker is told about.
func spam(secs string, one func()) (string, error) {
	n := 0
	for end := deadline(secs); !end(); {
		for range 16 {
			one()
			n++
		}
	}
	return itoa(n), nil
}

func fileLocks(a []string) (string, error) {
	const each = 200 // the kernel goes through all locks of a file
	var last *os.File
	for n := range int(number(a[1])) {
		if n%each == 0 {
			f, err := os.CreateTemp(a[0], "locks")
			if err != nil {
				return itoa(n), err
			}
			last = f
			open = append(open, f)
		}
		lock := unix.Flock_t{Type: unix.F_WRLCK, Start: int64(2 * (n % each)), Len: 1}
		if err := unix.FcntlFlock(last.Fd(), int(number(a[2])), &lock); err != nil {
			return itoa(n), err
		}
	}
	time.Sleep(seconds(a[3]))
	return a[1], nil
}

// open keeps files from the collector.
var open []*os.File

//go:norace
func rawClone(flags uintptr) (int, error) {
	runtime.LockOSThread()
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno == 0 && pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	}
	if errno != 0 {
		return 0, errno
	}
	return int(pid), nil
}
