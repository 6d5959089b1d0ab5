//go:build linux

package filter

import (
	"encoding/binary"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// judge runs the program of an architecture on one system call. The VM reads big-endian words where the kernel reads
// native ones, so every word is stored big-endian.
func judge(t *testing.T, vm *bpf.VM, auditArch, nr uint32, args ...uint64) action {
	t.Helper()
	var data [64]byte
	binary.BigEndian.PutUint32(data[offNumber:], nr)
	binary.BigEndian.PutUint32(data[offArch:], auditArch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[offArgs+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[offArgs+8*i+4:], uint32(a>>32))
	}
	got, err := vm.Run(data[:])
	if err != nil {
		t.Fatalf("running the filter: %v", err)
	}
	return action(uint32(got))
}

func machine(t *testing.T, goarch string) *bpf.VM {
	t.Helper()
	code, err := instructions(Spec{Arch: goarch})
	if err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(code)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

// proves A-SBX-01, A-SBX-02, A-SBX-04, A-SBX-05, A-SBX-09
func TestVerdicts(t *testing.T) {
	const big = 1 << 32 // what the kernel drops from a 32-bit argument
	einval := refuse(unix.EINVAL)
	for _, tt := range []struct {
		call string
		args []uint64
		want action
	}{
		{"read", nil, allow}, {"openat", nil, allow}, {"execve", nil, allow}, {"statx", nil, allow}, {"memfd_create", nil, allow},
		{"mount", nil, eperm}, {"umount2", nil, eperm}, {"unshare", nil, eperm}, {"setns", nil, eperm}, {"pivot_root", nil, eperm},
		{"chroot", nil, eperm}, {"open_tree", nil, eperm}, {"move_mount", nil, eperm}, {"fsopen", nil, eperm}, {"mount_setattr", nil, eperm},
		{"statmount", nil, eperm}, {"listmount", nil, eperm}, {"bpf", nil, eperm}, {"keyctl", nil, eperm}, {"add_key", nil, eperm},
		{"request_key", nil, eperm}, {"io_uring_setup", nil, eperm}, {"io_uring_enter", nil, eperm}, {"userfaultfd", nil, eperm},
		{"perf_event_open", nil, eperm}, {"fanotify_init", nil, eperm}, {"open_by_handle_at", nil, eperm}, {"name_to_handle_at", nil, eperm},
		{"process_vm_readv", nil, eperm}, {"process_vm_writev", nil, eperm}, {"process_madvise", nil, eperm}, {"process_mrelease", nil, eperm},
		{"pidfd_getfd", nil, eperm}, {"pidfd_send_signal", nil, eperm}, {"kcmp", nil, eperm}, {"quotactl", nil, eperm}, {"swapon", nil, eperm},
		{"reboot", nil, eperm}, {"init_module", nil, eperm}, {"finit_module", nil, eperm}, {"kexec_load", nil, eperm}, {"syslog", nil, eperm},
		{"clock_settime", nil, eperm}, {"settimeofday", nil, eperm}, {"sethostname", nil, eperm}, {"tkill", nil, eperm}, {"sched_setattr", nil, eperm},
		{"memfd_secret", nil, eperm}, {"acct", nil, eperm}, {"vhangup", nil, eperm}, {"move_pages", nil, eperm}, {"migrate_pages", nil, eperm},

		{"clone", []uint64{uint64(unix.SIGCHLD)}, notify},
		{"clone", []uint64{unix.CLONE_VM | unix.CLONE_VFORK | uint64(unix.SIGCHLD)}, notify},
		{"clone", []uint64{unix.CLONE_VM | unix.CLONE_SIGHAND | unix.CLONE_THREAD}, allow},
		{"clone", []uint64{unix.CLONE_VM | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD}, allow},
		{"clone", []uint64{unix.CLONE_FILES | uint64(unix.SIGCHLD)}, eperm},
		{"clone", []uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, eperm},
		{"clone", []uint64{unix.CLONE_NEWNS | unix.CLONE_THREAD}, eperm},
		{"clone", []uint64{unix.CLONE_NEWNET | big}, eperm},
		{"clone", []uint64{unix.CLONE_PARENT | uint64(unix.SIGCHLD)}, eperm},
		{"clone", []uint64{unix.CLONE_CHILD_SETTID | unix.CLONE_CHILD_CLEARTID | uint64(unix.SIGCHLD)}, allow},
		{"vfork", nil, allow}, {"fork", nil, notify}, {"set_robust_list", nil, notify},
		{"clone3", nil, refuse(unix.ENOSYS)},

		{"ptrace", []uint64{unix.PTRACE_TRACEME}, allow}, {"ptrace", []uint64{unix.PTRACE_CONT}, allow}, {"ptrace", []uint64{unix.PTRACE_DETACH}, allow},
		{"ptrace", []uint64{unix.PTRACE_ATTACH}, eperm}, {"ptrace", []uint64{unix.PTRACE_SEIZE}, eperm}, {"ptrace", []uint64{unix.PTRACE_POKEDATA}, eperm},
		{"ptrace", []uint64{unix.PTRACE_CONT | big}, eperm},

		{"kill", []uint64{1}, eperm}, {"kill", []uint64{1 | big}, eperm}, {"kill", []uint64{77}, allow}, {"kill", []uint64{^uint64(0)}, allow},
		{"tgkill", []uint64{1, 5}, eperm}, {"tgkill", []uint64{1 | big, 5}, eperm}, {"tgkill", []uint64{0, 5}, eperm}, {"tgkill", []uint64{9, 9}, allow},
		{"rt_tgsigqueueinfo", []uint64{1}, eperm}, {"rt_tgsigqueueinfo", []uint64{big}, eperm}, {"rt_sigqueueinfo", []uint64{1}, eperm},
		{"pidfd_open", []uint64{1, 0}, eperm}, {"pidfd_open", []uint64{7, unix.O_EXCL}, eperm}, {"pidfd_open", []uint64{7, unix.O_NONBLOCK}, allow},

		{"prlimit64", []uint64{0, unix.RLIMIT_NOFILE, 8, 0}, allow}, {"prlimit64", []uint64{1, unix.RLIMIT_NOFILE, 8, 0}, eperm},
		{"prlimit64", []uint64{1 | big, unix.RLIMIT_NOFILE, 0, 8}, eperm}, {"prlimit64", []uint64{0, unix.RLIMIT_CORE, 0, 8}, allow},
		{"prlimit64", []uint64{0, unix.RLIMIT_CORE, 8, 0}, einval}, {"prlimit64", []uint64{0, unix.RLIMIT_CORE, big, 0}, einval},
		{"prlimit64", []uint64{big, unix.RLIMIT_CORE | big, 8, 0}, einval},
		{"setrlimit", []uint64{unix.RLIMIT_CORE}, einval}, {"setrlimit", []uint64{unix.RLIMIT_NOFILE}, allow},
		{"sched_setaffinity", []uint64{0}, allow}, {"sched_setaffinity", []uint64{1}, eperm}, {"sched_setaffinity", []uint64{6}, eperm},
		{"sched_setscheduler", []uint64{0, unix.SCHED_BATCH}, allow}, {"sched_setscheduler", []uint64{0, unix.SCHED_FIFO}, eperm},
		{"sched_setscheduler", []uint64{0, unix.SCHED_RR | unix.SCHED_RESET_ON_FORK}, eperm}, {"sched_setscheduler", []uint64{1, 0}, eperm},
		{"setpriority", []uint64{unix.PRIO_PROCESS, 0, 5}, allow}, {"setpriority", []uint64{unix.PRIO_PROCESS, 1, 5}, eperm},
		{"setpriority", []uint64{unix.PRIO_USER, 0, 5}, eperm}, {"setpriority", []uint64{unix.PRIO_PGRP, 0, 5}, eperm},
		{"ioprio_set", []uint64{1, 0}, allow}, {"ioprio_set", []uint64{1, 1}, eperm}, {"ioprio_set", []uint64{3, 0}, eperm},
		{"personality", []uint64{0}, allow}, {"personality", []uint64{0xffffffff}, allow}, {"personality", []uint64{0x0400000}, eperm},

		{"ioctl", []uint64{0, unix.TIOCSTI}, eperm}, {"ioctl", []uint64{0, unix.TIOCSTI | big}, eperm},
		{"ioctl", []uint64{0, unix.TIOCLINUX}, eperm}, {"ioctl", []uint64{0, 0xffffffff00000000 | unix.TIOCLINUX}, eperm},
		{"ioctl", []uint64{0, unix.TCGETS}, allow}, {"ioctl", []uint64{0, unix.TCGETS | big}, allow}, {"ioctl", []uint64{0, unix.TIOCSETD}, eperm},
		{"ioctl", []uint64{3, 0x5000940f /* BTRFS_IOC_SNAP_DESTROY */}, eperm}, {"ioctl", []uint64{3, unix.FICLONE}, allow},
		{"fcntl", []uint64{3, unix.F_SETSIG, 11}, eperm}, {"fcntl", []uint64{3, unix.F_SETOWN_EX, 0}, eperm}, {"fcntl", []uint64{3, unix.F_SETOWN, 1}, eperm},
		{"fcntl", []uint64{3, unix.F_SETOWN | big, 1 | big}, eperm}, {"fcntl", []uint64{3, unix.F_SETOWN, 50}, allow}, {"fcntl", []uint64{3, unix.F_SETLEASE, 1}, eperm},
		{"fcntl", []uint64{3, unix.F_DUPFD_CLOEXEC, 10}, allow}, {"fcntl", []uint64{3, unix.F_SETLK, 10}, allow}, {"fcntl", []uint64{3, unix.F_OFD_SETLK, 10}, refuse(unix.EINVAL)}, {"fcntl", []uint64{3, unix.F_OFD_SETLKW, 10}, refuse(unix.EINVAL)},
		{"prctl", []uint64{unix.PR_SET_NAME}, allow}, {"prctl", []uint64{unix.PR_SET_MM}, eperm}, {"prctl", []uint64{unix.PR_SCHED_CORE}, eperm},
		{"seccomp", []uint64{unix.SECCOMP_SET_MODE_FILTER, 0}, notify}, {"seccomp", []uint64{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC}, notify},
		{"seccomp", []uint64{unix.SECCOMP_SET_MODE_STRICT}, eperm}, {"prctl", []uint64{unix.PR_SET_SECCOMP, 2}, notify}, {"prctl", []uint64{unix.PR_SET_SECCOMP | big, 2}, notify},
		{"seccomp", []uint64{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER}, eperm},

		{"mmap", []uint64{0, 4096, 3, unix.MAP_PRIVATE | unix.MAP_ANON}, allow}, {"mmap", []uint64{0, 4096, 3, unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_HUGETLB}, refuse(unix.ENOMEM)},
		{"mmap", []uint64{0, 4096, 3, unix.MAP_HUGETLB | 21<<26 | big}, refuse(unix.ENOMEM)}, {"memfd_create", []uint64{0, unix.MFD_CLOEXEC | unix.MFD_HUGETLB}, refuse(unix.ENOMEM)},
		{"shmget", []uint64{0, 4096, 0o1600}, allow}, {"shmget", []uint64{0, 4096, 0o5600}, refuse(unix.ENOMEM)},
		{"mknodat", []uint64{0, 0, unix.S_IFIFO | 0o644}, allow}, {"mknodat", []uint64{0, 0, 0o644}, allow}, {"mknodat", []uint64{0, 0, unix.S_IFREG}, allow},
		{"mknodat", []uint64{0, 0, unix.S_IFBLK | 0o644}, eperm}, {"mknodat", []uint64{0, 0, unix.S_IFCHR | big}, eperm}, {"mknodat", []uint64{0, 0, unix.S_IFSOCK}, eperm},

		{"socket", []uint64{unix.AF_INET, unix.SOCK_STREAM, 0}, eperm}, {"socket", []uint64{unix.AF_INET6, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, unix.IPPROTO_TCP}, eperm},
		{"sendto", []uint64{3, 0, 0, unix.MSG_NOSIGNAL}, allow}, {"sendto", []uint64{3, 0, 0, unix.MSG_FASTOPEN | big}, refuse(unix.EOPNOTSUPP)},
		{"sendmsg", []uint64{3, 0, unix.MSG_FASTOPEN}, refuse(unix.EOPNOTSUPP)}, {"sendmmsg", []uint64{3, 0, 1, unix.MSG_FASTOPEN | unix.MSG_NOSIGNAL}, refuse(unix.EOPNOTSUPP)}, {"sendmmsg", []uint64{3, 0, 1, 0}, allow},
		{"chmod", []uint64{0, 0o1777}, allow}, {"chmod", []uint64{0, 0o4755}, eperm}, {"chmod", []uint64{0, 0o2755 | big}, eperm}, {"chmod", []uint64{0, 0o104000 | big}, eperm},
		{"fchmod", []uint64{3, 0o755}, allow}, {"fchmod", []uint64{3, 0o4000}, eperm}, {"fchmodat", []uint64{0, 0, 0o755}, allow}, {"fchmodat", []uint64{0, 0, 0o6755}, eperm},
		{"fchmodat2", []uint64{0, 0, 0o644}, allow}, {"fchmodat2", []uint64{0, 0, 0o2000}, eperm}, {"mkdir", []uint64{0, 0o777}, allow}, {"mkdir", []uint64{0, 0o2777}, eperm},
		{"mkdirat", []uint64{0, 0, 0o777}, allow}, {"mkdirat", []uint64{0, 0, 0o2777}, eperm}, {"creat", []uint64{0, 0o644}, allow}, {"creat", []uint64{0, 0o4755}, eperm},
		{"open", []uint64{0, unix.O_CREAT | unix.O_RDWR, 0o644}, allow}, {"open", []uint64{0, unix.O_CREAT, 0o4755}, eperm}, {"open", []uint64{0, unix.O_RDWR, 0o4755}, allow},
		{"openat", []uint64{0, 0, unix.O_CREAT, 0o644}, allow}, {"openat", []uint64{0, 0, unix.O_CREAT | unix.O_EXCL, 0o2755}, eperm},
		{"openat", []uint64{0, 0, unix.O_TMPFILE | unix.O_RDWR, 0o4755}, eperm}, {"openat", []uint64{0, 0, unix.O_DIRECTORY, 0o4755}, allow}, {"openat2", nil, refuse(unix.ENOSYS)},
		{"mknod", []uint64{0, unix.S_IFREG | 0o4755}, eperm}, {"mknod", []uint64{0, unix.S_IFREG | 0o755}, allow}, {"mknodat", []uint64{0, 0, unix.S_IFIFO | 0o2755}, eperm},
		{"setsockopt", []uint64{3, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER}, eperm}, {"setsockopt", []uint64{3, unix.SOL_SOCKET | big, unix.SO_ATTACH_REUSEPORT_CBPF}, eperm},
		{"setsockopt", []uint64{3, unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP}, eperm}, {"setsockopt", []uint64{3, unix.IPPROTO_IPV6, unix.IPV6_JOIN_GROUP}, eperm},
		{"setsockopt", []uint64{3, unix.IPPROTO_IPV6, unix.MCAST_JOIN_GROUP}, eperm}, {"setsockopt", []uint64{3, unix.SOL_SOCKET, unix.SO_REUSEADDR}, allow},
		{"setsockopt", []uint64{3, unix.IPPROTO_TCP, unix.TCP_MD5SIG}, eperm}, {"setsockopt", []uint64{3, unix.IPPROTO_TCP | big, 32 /* TCP_MD5SIG_EXT */}, eperm}, {"setsockopt", []uint64{3, unix.IPPROTO_TCP, 38 /* TCP_AO_ADD_KEY */}, eperm},
		{"setsockopt", []uint64{3, unix.IPPROTO_TCP, unix.TCP_ULP}, eperm}, {"setsockopt", []uint64{3, unix.IPPROTO_IP, unix.IP_OPTIONS}, eperm}, {"setsockopt", []uint64{3, unix.IPPROTO_IPV6, unix.IPV6_RTHDR}, eperm},
		{"setsockopt", []uint64{3, unix.SOL_NETLINK, 1}, eperm}, {"setsockopt", []uint64{3, unix.SOL_SOCKET | big, unix.SO_KEEPALIVE | big}, allow},
		{"setsockopt", []uint64{3, unix.IPPROTO_TCP, unix.TCP_NODELAY}, allow}, {"setsockopt", []uint64{3, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY}, allow},
		{"socketpair", []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0}, allow},
		{"socketpair", []uint64{unix.AF_UNIX, unix.SOCK_DGRAM, 0}, eperm}, {"socketpair", []uint64{unix.AF_UNIX, unix.SOCK_RAW, 0}, eperm},
	} {
		for goarch, table := range map[string]*arch.Info{"amd64": arch.X86_64, "arm64": arch.AARCH64} {
			nr, ok := table.SyscallNames[tt.call]
			if !ok && goarch == "amd64" {
				t.Errorf("%s: no such system call", tt.call)
			}
			if !ok {
				continue
			}
			if got := judge(t, machine(t, goarch), uint32(table.ID), uint32(nr), tt.args...); got != tt.want {
				t.Errorf("%s %s%#x: got %#x, want %#x", goarch, tt.call, tt.args, got, tt.want)
			}
		}
	}
}

// proves A-SBX-05
func TestSocketsOfANetwork(t *testing.T) {
	const big = 1 << 32
	for goarch, table := range map[string]*arch.Info{"amd64": arch.X86_64, "arm64": arch.AARCH64} {
		for _, network := range []bool{false, true} {
			code, err := instructions(Spec{Arch: goarch, Network: network})
			if err != nil {
				t.Fatal(err)
			}
			vm, err := bpf.NewVM(code)
			if err != nil {
				t.Fatal(err)
			}
			for _, tt := range []struct {
				call string
				args []uint64
				want action
			}{
				{"socket", []uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0}, allow},
				{"socket", []uint64{unix.AF_INET6, unix.SOCK_STREAM | unix.SOCK_NONBLOCK, unix.IPPROTO_TCP}, allow}, {"socket", []uint64{unix.AF_INET | big, unix.SOCK_STREAM | big, big}, allow},
				{"socket", []uint64{unix.AF_INET6, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK, unix.IPPROTO_UDP}, eperm}, {"socket", []uint64{unix.AF_INET, unix.SOCK_DGRAM, 0}, eperm},
				{"socket", []uint64{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, eperm}, {"socket", []uint64{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP}, eperm},
				{"socket", []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, eperm}, {"socket", []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, eperm},
				{"socket", []uint64{unix.AF_UNIX, unix.SOCK_STREAM, 0}, eperm}, {"socket", []uint64{unix.AF_UNIX | big, unix.SOCK_STREAM, 0}, eperm},
				{"socket", []uint64{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, eperm}, {"socket", []uint64{unix.AF_PACKET, unix.SOCK_RAW, 0}, eperm},
				{"socket", []uint64{unix.AF_ALG, unix.SOCK_SEQPACKET, 0}, eperm}, {"socket", []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, eperm},
				{"socket", []uint64{unix.AF_NETLINK, unix.SOCK_RAW | unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE}, eperm},
			} {
				want := tt.want
				if !network {
					want = eperm
				}
				if got := judge(t, vm, uint32(table.ID), uint32(table.SyscallNames[tt.call]), tt.args...); got != want {
					t.Errorf("%s network %v %s%#x: got %#x, want %#x", goarch, network, tt.call, tt.args, got, want)
				}
			}
		}
	}
}

// proves A-SBX-01, A-SBX-04
func TestMemoryPrograms(t *testing.T) {
	for goarch, table := range map[string]*arch.Info{"amd64": arch.X86_64, "arm64": arch.AARCH64} {
		code, err := instructions(Spec{Arch: goarch, NoMemoryPrograms: true})
		if err != nil {
			t.Fatal(err)
		}
		vm, err := bpf.NewVM(code)
		if err != nil {
			t.Fatal(err)
		}
		for flags, want := range map[uint64]action{
			0: refuse(unix.EACCES), unix.MFD_CLOEXEC: refuse(unix.EACCES), unix.MFD_EXEC: refuse(unix.EACCES), unix.MFD_NOEXEC_SEAL << 32: refuse(unix.EACCES),
			unix.MFD_NOEXEC_SEAL | unix.MFD_CLOEXEC: refuse(unix.EACCES),
		} {
			if got := judge(t, vm, uint32(table.ID), uint32(table.SyscallNames["memfd_create"]), 0, flags); got != want {
				t.Errorf("%s %#x: got %#x, want %#x", goarch, flags, got, want)
			}
		}
	}
}

// proves A-SBX-04
func TestForeignEntry(t *testing.T) {
	vm := machine(t, "amd64")
	const x32 = 0x40000000
	for _, tt := range []struct {
		name      string
		auditArch arch.AuditArch
		nr        uint32
		want      action
	}{
		{"i386 unshare by int 0x80", arch.I386.ID, 310, kill},
		{"i386 number that is allowed in amd64", arch.I386.ID, 0, kill},
		{"arm64 on an amd64 filter", arch.AARCH64.ID, 0, kill},
		{"x32 read", arch.X86_64.ID, x32, refuse(unix.ENOSYS)},
		{"x32 execve", arch.X86_64.ID, x32 | 520, refuse(unix.ENOSYS)},
		{"minus one", arch.X86_64.ID, 0xffffffff, refuse(unix.ENOSYS)},
		{"newer than the tables", arch.X86_64.ID, 468, refuse(unix.ENOSYS)},
		{"a hole in the table", arch.X86_64.ID, 400, eperm},
		{"native read", arch.X86_64.ID, 0, allow},
	} {
		if got := judge(t, vm, uint32(tt.auditArch), tt.nr); got != tt.want {
			t.Errorf("%s: got %#x, want %#x", tt.name, got, tt.want)
		}
	}
}

// proves A-SBX-04
//
// Every number up to the last one gets exactly the listed verdict: the decision tree loses and gains none.
func TestEveryNumber(t *testing.T) {
	for goarch, table := range map[string]*arch.Info{"amd64": arch.X86_64, "arm64": arch.AARCH64} {
		vm := machine(t, goarch)
		free := map[string]bool{"memfd_create": true}
		for _, name := range allowed {
			free[name] = true
		}
		for nr := range uint32(600) {
			name := table.SyscallNumbers[int(nr)]
			if _, ok := conditional[name]; ok {
				continue
			}
			got := judge(t, vm, uint32(table.ID), nr)
			if (got == allow) != free[name] || got != allow && got != eperm && got != refuse(unix.ENOSYS) {
				t.Errorf("%s %d (%s): got %#x, listed %v", goarch, nr, name, got, free[name])
			}
		}
	}
}

func TestProgramsOfBothArchitectures(t *testing.T) {
	for _, goarch := range []string{"amd64", "arm64", ""} {
		p, err := Build(Spec{Arch: goarch})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%q: %d instructions", goarch, len(p.filter))
	}
	if _, err := Build(Spec{Arch: "riscv64"}); err == nil {
		t.Error("Build took an architecture without a table")
	}
}
