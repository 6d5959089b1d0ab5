//go:build linux

package filter

import "golang.org/x/sys/unix"

const (
	namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	plainFork  = unix.CLONE_CHILD_SETTID | unix.CLONE_CHILD_CLEARTID | int(unix.SIGCHLD) // glibc's fork()
	socketType = 0xf                                                                     // the rest of the argument is SOCK_CLOEXEC and SOCK_NONBLOCK
	fileType   = unix.S_IFMT
	initPID    = 1 // PID 1 of the sandbox: never a target
	setID      = unix.S_ISUID | unix.S_ISGID
	shmHuge    = 0o4000                                              // SHM_HUGETLB
	creates    = unix.O_CREAT | (unix.O_TMPFILE &^ unix.O_DIRECTORY) // the open flags with which a mode counts
)

var eperm = refuse(unix.EPERM)

// only allows the call when all conditions hold.
func only(when ...cond) rule { return rule{[]clause{{when, allow}}, eperm} }

// except refuses the call when all conditions hold.
func except(when ...cond) rule { return rule{[]clause{{when, eperm}}, allow} }

// conditional holds the system calls whose arguments decide.
var conditional = map[string]rule{
	// Every new process is counted (A-SBX-02); a thread is not. CLONE_PARENT would make PID 1 the parent of a process
	// that it did not start. A fork that waits for its answer can be interrupted by a signal handler without SA_RESTART
	// and then fails with EINTR, which no fork ever does and no shell expects (dash lost 2 of 100 pipelines). The two
	// forms that C libraries call with signals unblocked are therefore let through, and their child is counted at its
	// first system call, set_robust_list, in glibc before fork returns and after exec; see Forks for the rest.
	"fork":  {otherwise: notify},
	"vfork": {otherwise: allow},
	"clone": {[]clause{
		{[]cond{has(0, namespaces|unix.CLONE_PARENT)}, eperm},
		{[]cond{has(0, unix.CLONE_THREAD)}, allow},
		// File locks belong to a table of descriptors; with one that two processes share, they stay when the one that is named
		// as their owner ends, and nobody could count them.
		{[]cond{has(0, unix.CLONE_FILES)}, eperm},
		{[]cond{is(0, uint32(plainFork))}, allow},
	}, notify},
	"set_robust_list": {otherwise: notify},
	// Its flags are behind a pointer; C libraries fall back to clone.
	"clone3": {otherwise: refuse(unix.ENOSYS)},

	// The exec stop of PID 1's children needs these three; the kernel compares all 64 bits of the request.
	"ptrace": only(is(0, unix.PTRACE_TRACEME, unix.PTRACE_CONT, unix.PTRACE_DETACH), highZero(0)),

	// Process-directed signals to PID 1, and thread-directed ones to any of its threads (tgid 0 is invalid anyway).
	"kill":              except(is(0, initPID)),
	"rt_sigqueueinfo":   except(is(0, initPID)),
	"tgkill":            except(is(0, 0, initPID)),
	"rt_tgsigqueueinfo": except(is(0, 0, initPID)),
	// PIDFD_THREAD (O_EXCL) would name a single thread of PID 1.
	"pidfd_open": {[]clause{{[]cond{is(0, initPID)}, eperm}, {[]cond{has(1, unix.O_EXCL)}, eperm}}, allow},

	// Scheduling and limits: only the caller itself, named by 0, because PID 1's threads may have any other id. No
	// real-time class. RLIMIT_CORE stays as PID 1 set it, or the kernel would run the host's core helper; EINVAL,
	// because gpg gives up on any other failure to switch core files off.
	"sched_setaffinity":  only(is(0, 0)),
	"sched_setparam":     only(is(0, 0)),
	"sched_setscheduler": only(is(0, 0), masked(1, ^uint32(unix.SCHED_RESET_ON_FORK), unix.SCHED_NORMAL, unix.SCHED_BATCH, unix.SCHED_IDLE)),
	"setpriority":        only(is(0, unix.PRIO_PROCESS), is(1, 0)),
	"ioprio_set":         only(is(0, 1), is(1, 0)), // IOPRIO_WHO_PROCESS
	"setrlimit":          {[]clause{{[]cond{is(0, unix.RLIMIT_CORE)}, refuse(unix.EINVAL)}}, allow},
	"prlimit64": {[]clause{
		{[]cond{isNot(0, 0)}, eperm},
		{[]cond{is(2, 0), highZero(2)}, allow}, // reads only
		{[]cond{is(1, unix.RLIMIT_CORE)}, refuse(unix.EINVAL)},
	}, allow},
	"personality": only(is(0, 0, 0xffffffff)),

	// A filter of a program's own may only narrow. With a listener of its own it would win over ours for forks. The broker counts them:
	// nobody pays for the memory of the compiled ones.
	"seccomp": {[]clause{
		{[]cond{is(0, unix.SECCOMP_GET_ACTION_AVAIL, unix.SECCOMP_GET_NOTIF_SIZES)}, allow},
		{[]cond{is(0, unix.SECCOMP_SET_MODE_FILTER), masked(1, ^uint32(unix.SECCOMP_FILTER_FLAG_TSYNC|unix.SECCOMP_FILTER_FLAG_LOG), 0)}, notify},
	}, eperm},
	"prctl": {[]clause{{[]cond{is(0, unix.PR_SET_SECCOMP)}, notify}, {[]cond{is(0, prctls...)}, allow}}, eperm},
	"ioctl": only(is(1, ioctls...)),
	// F_SETSIG and F_SETOWN_EX would send any signal to any thread of PID 1; F_SETLEASE would hold up the broker's opens.
	"fcntl": {[]clause{
		{[]cond{is(1, unix.F_SETOWN), isNot(2, initPID)}, allow},
		{[]cond{is(1, fcntls...)}, allow},
		// Locks of an open file name no process, so nobody could count them. EINVAL, as on a kernel without: callers take others.
		{[]cond{is(1, unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW)}, refuse(unix.EINVAL)},
	}, eperm},

	// No file that runs as its owner or group: on the host it would belong to the owner of the root, who may be root
	// himself, and anyone could start it there. Directories too, because a file system can tell them from files and a
	// filter cannot. openat2 keeps its mode behind a pointer; whoever calls it falls back to openat.
	"mknod":     {[]clause{{[]cond{has(1, setID)}, eperm}, {[]cond{masked(1, fileType, 0, unix.S_IFREG, unix.S_IFIFO)}, allow}}, eperm},
	"mknodat":   {[]clause{{[]cond{has(2, setID)}, eperm}, {[]cond{masked(2, fileType, 0, unix.S_IFREG, unix.S_IFIFO)}, allow}}, eperm},
	"chmod":     except(has(1, setID)),
	"fchmod":    except(has(1, setID)),
	"fchmodat":  except(has(2, setID)),
	"fchmodat2": except(has(2, setID)),
	"mkdir":     except(has(1, setID)),
	"mkdirat":   except(has(2, setID)),
	"creat":     except(has(1, setID)),
	"open":      except(has(1, creates), has(2, setID)),
	"openat":    except(has(2, creates), has(3, setID)),
	"openat2":   {otherwise: refuse(unix.ENOSYS)},

	// Huge pages are a stock of the host's, set aside for its databases and virtual machines; the kernel charges what is taken of them to
	// no memory limit (unless hugetlb accounting is on). Callers that want them fall back to plain pages.
	"mmap":   {[]clause{{[]cond{has(3, unix.MAP_HUGETLB)}, refuse(unix.ENOMEM)}}, allow},
	"shmget": {[]clause{{[]cond{has(2, shmHuge)}, refuse(unix.ENOMEM)}}, allow},

	// With MSG_FASTOPEN sending connects as well, past Landlock's rules for connecting.
	"sendto":   {[]clause{{[]cond{has(3, unix.MSG_FASTOPEN)}, refuse(unix.EOPNOTSUPP)}}, allow},
	"sendmsg":  {[]clause{{[]cond{has(2, unix.MSG_FASTOPEN)}, refuse(unix.EOPNOTSUPP)}}, allow},
	"sendmmsg": {[]clause{{[]cond{has(3, unix.MSG_FASTOPEN)}, refuse(unix.EOPNOTSUPP)}}, allow},
	// Packet filters, memberships in groups, keys that sign segments (100 KB a socket each, seen) and header options are kept by the kernel
	// at nobody's charge, like netlink's answers. So of the internet protocols only options are allowed that are a number or a flag.
	"setsockopt": {[]clause{
		{[]cond{is(1, unix.SOL_SOCKET), isNot(2, unix.SO_ATTACH_FILTER, unix.SO_ATTACH_BPF, unix.SO_ATTACH_REUSEPORT_CBPF, unix.SO_ATTACH_REUSEPORT_EBPF)}, allow},
		{[]cond{is(1, unix.IPPROTO_TCP), is(2, tcpOptions...)}, allow},
		{[]cond{is(1, unix.IPPROTO_IP), is(2, ipOptions...)}, allow},
		{[]cond{is(1, unix.IPPROTO_IPV6), is(2, ip6Options...)}, allow},
	}, eperm},
	"socketpair": only(is(0, unix.AF_UNIX), masked(1, socketType, unix.SOCK_STREAM, unix.SOCK_SEQPACKET)),
}

// sockets is the rule of socket where there is a network. TCP only: UDP endpoints cannot be declared, MPTCP and the like
// would pass by Landlock's TCP rules. A datagram pair can be sent to any socket file. The kernel charges the answers of netlink
// to nobody, so that one process can fill the host's memory with them; who looks up names works without, who lists
// interfaces that way learns that he may not. Without a network there is no socket at all.
var sockets = only(is(0, unix.AF_INET, unix.AF_INET6), masked(1, socketType, unix.SOCK_STREAM), is(2, 0, unix.IPPROTO_TCP))

// memfd is the rule of memfd_create where the execute right is split from the write right: a program in memory that never was
// a file has neither. A seal against execution (MFD_NOEXEC_SEAL) does not help: the dynamic loader, started as a program with the
// memory file as its argument, maps it executable all the same.
var memfd = rule{otherwise: refuse(unix.EACCES)}

// memfdHere is its rule elsewhere: no memory file of huge pages, as for mmap.
var memfdHere = rule{[]clause{{[]cond{has(1, unix.MFD_HUGETLB)}, refuse(unix.ENOMEM)}}, allow}

// fcntls leaves out what signals others, leases and delegations, and directory notification.
var fcntls = []uint32{
	unix.F_DUPFD, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL, unix.F_GETLK, unix.F_SETLK, unix.F_SETLKW,
	unix.F_GETOWN, unix.F_GETSIG, unix.F_GETOWN_EX,
	unix.F_GETLEASE, unix.F_DUPFD_QUERY, 1028 /* F_CREATED_QUERY */, unix.F_DUPFD_CLOEXEC, unix.F_SETPIPE_SZ, unix.F_GETPIPE_SZ,
	unix.F_ADD_SEALS, unix.F_GET_SEALS, unix.F_GET_RW_HINT, unix.F_SET_RW_HINT, unix.F_GET_FILE_RW_HINT, unix.F_SET_FILE_RW_HINT,
}

var (
	tcpOptions = []uint32{
		unix.TCP_NODELAY, unix.TCP_MAXSEG, unix.TCP_CORK, unix.TCP_KEEPIDLE, unix.TCP_KEEPINTVL, unix.TCP_KEEPCNT, unix.TCP_SYNCNT, unix.TCP_LINGER2, unix.TCP_DEFER_ACCEPT,
		unix.TCP_WINDOW_CLAMP, unix.TCP_QUICKACK, unix.TCP_CONGESTION, unix.TCP_THIN_LINEAR_TIMEOUTS, unix.TCP_THIN_DUPACK, unix.TCP_USER_TIMEOUT, unix.TCP_FASTOPEN,
		unix.TCP_NOTSENT_LOWAT, unix.TCP_FASTOPEN_CONNECT, unix.TCP_INQ, unix.TCP_TX_DELAY,
	}
	ipOptions = []uint32{
		unix.IP_TOS, unix.IP_TTL, unix.IP_PKTINFO, unix.IP_MTU_DISCOVER, unix.IP_RECVERR, unix.IP_RECVTTL, unix.IP_RECVTOS, unix.IP_FREEBIND, unix.IP_MINTTL,
		unix.IP_BIND_ADDRESS_NO_PORT, unix.IP_MULTICAST_IF, unix.IP_MULTICAST_TTL, unix.IP_MULTICAST_LOOP,
	}
	ip6Options = []uint32{
		unix.IPV6_V6ONLY, unix.IPV6_UNICAST_HOPS, unix.IPV6_MULTICAST_IF, unix.IPV6_MULTICAST_HOPS, unix.IPV6_MULTICAST_LOOP, unix.IPV6_MTU_DISCOVER, unix.IPV6_MTU, unix.IPV6_RECVERR,
		unix.IPV6_RECVPKTINFO, unix.IPV6_RECVHOPLIMIT, unix.IPV6_RECVTCLASS, unix.IPV6_TCLASS, unix.IPV6_DONTFRAG, unix.IPV6_AUTOFLOWLABEL, unix.IPV6_ADDR_PREFERENCES, unix.IPV6_FREEBIND,
	}
)

// ioctls: terminals (never TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS), plain descriptors, clones of file ranges, reading
// attributes, reading interfaces. File system specific ones (subvolumes, verity, handles) can pass by Landlock.
var ioctls = []uint32{
	unix.TCGETS, unix.TCSETS, unix.TCSETSW, unix.TCSETSF, unix.TCSBRK, unix.TCXONC, unix.TCFLSH, unix.TCGETS2, unix.TCSETS2,
	unix.TCSETSW2, unix.TCSETSF2, unix.TIOCEXCL, unix.TIOCNXCL, unix.TIOCSCTTY, unix.TIOCGPGRP, unix.TIOCSPGRP, unix.TIOCOUTQ,
	unix.TIOCGWINSZ, unix.TIOCSWINSZ, unix.TIOCINQ, unix.TIOCNOTTY, unix.TIOCGSID, unix.TIOCGPTN, unix.TIOCSPTLCK, unix.TIOCGPTPEER,
	0x5421 /* FIONBIO */, 0x5450 /* FIONCLEX */, 0x5451 /* FIOCLEX */, 0x5452 /* FIOASYNC */, 0x5460, /* FIOQSIZE */
	unix.FICLONE, unix.FICLONERANGE, unix.FIDEDUPERANGE, unix.FS_IOC_GETFLAGS, 0x801c581f /* FS_IOC_FSGETXATTR */, 0xc020660b, /* FS_IOC_FIEMAP */
	unix.SIOCATMARK, unix.SIOCGIFNAME, unix.SIOCGIFCONF, unix.SIOCGIFFLAGS, unix.SIOCGIFADDR, unix.SIOCGIFBRDADDR,
	unix.SIOCGIFNETMASK, unix.SIOCGIFMTU, unix.SIOCGIFHWADDR, unix.SIOCGIFINDEX,
}

// prctls leaves out memory map surgery, core scheduling, secure bits, securing of other processes and machine checks.
var prctls = []uint32{
	unix.PR_SET_PDEATHSIG, unix.PR_GET_PDEATHSIG, unix.PR_GET_DUMPABLE, unix.PR_SET_DUMPABLE, unix.PR_GET_UNALIGN, unix.PR_SET_UNALIGN,
	unix.PR_GET_KEEPCAPS, unix.PR_SET_KEEPCAPS, unix.PR_GET_TIMING, unix.PR_SET_TIMING, unix.PR_SET_NAME, unix.PR_GET_NAME,
	unix.PR_GET_SECCOMP, unix.PR_CAPBSET_READ, unix.PR_GET_TSC, unix.PR_SET_TSC, unix.PR_GET_SECUREBITS,
	unix.PR_SET_TIMERSLACK, unix.PR_GET_TIMERSLACK, unix.PR_SET_CHILD_SUBREAPER, unix.PR_GET_CHILD_SUBREAPER,
	unix.PR_SET_NO_NEW_PRIVS, unix.PR_GET_NO_NEW_PRIVS, unix.PR_GET_TID_ADDRESS, unix.PR_SET_THP_DISABLE, unix.PR_GET_THP_DISABLE,
	unix.PR_CAP_AMBIENT, unix.PR_SVE_SET_VL, unix.PR_SVE_GET_VL, unix.PR_GET_SPECULATION_CTRL, unix.PR_SET_SPECULATION_CTRL,
	unix.PR_PAC_RESET_KEYS, unix.PR_SET_TAGGED_ADDR_CTRL, unix.PR_GET_TAGGED_ADDR_CTRL, unix.PR_SET_SYSCALL_USER_DISPATCH,
	unix.PR_PAC_SET_ENABLED_KEYS, unix.PR_PAC_GET_ENABLED_KEYS, unix.PR_SME_SET_VL, unix.PR_SME_GET_VL, unix.PR_SET_MDWE, unix.PR_GET_MDWE,
	unix.PR_SET_VMA, unix.PR_GET_AUXV, unix.PR_SET_PTRACER,
}
