//go:build linux

package initproc

import (
	"encoding/binary"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/filter"
	"sekisho/internal/sandbox/linux/mounts"
	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/wire"
)

// Setup is everything that PID 1 builds before the first run.
type Setup struct {
	Layout wire.Layout
	// Rules are the Landlock rules, by path in the new root.
	Rules []filter.PathRule
	// Filter is the assembled seccomp program.
	Filter *filter.Program
	// UID and GID are the ids inside; with Become, PID 1 takes them on and drops all other groups.
	UID, GID int
	Become   bool
	// Hostname is the name of the UTS namespace.
	Hostname string
	// Network is nil when there is no network.
	Network *wire.Network
	// Passed is how many descriptors Layout counts.
	Passed int
}

// Program is what a launcher makes a PID 1 from. Any number of them can be made of one.
type Program struct {
	*opcode.Image
	File *os.File // the image
	// Copies are the private copies, in the order by which Start.Scripts counts them.
	Copies []string
}

// serving is the first operation after which a failure can be reported: descriptor 3 is the socket then.
const serving = 2

// Compile writes the program. Of this machine it asks nothing but the version of Landlock.
func Compile(s *Setup) (*Program, error) {
	b := opcode.New(128<<10, 1024)
	if at := b.Reserve(stateSize); at != opcode.Begin {
		panic("the state of PID 1 is not at its place")
	}
	b.Passed(1+s.Passed, 2*len(bounds))
	passed := func(i int) opcode.Arg { return b.Descriptor(1 + i) }

	b.For(wire.StageNamespace, "socket")
	b.Call(unix.SYS_DUP3, b.Descriptor(0), opcode.Int(socket), opcode.Int(unix.O_CLOEXEC)).Exactly(socket)
	harden(b)
	become(b, s)
	if s.Network != nil {
		listen(b, s.Network)
	}
	b.For(wire.StageNamespace, "uts")
	b.Call(unix.SYS_SETHOSTNAME, b.Text(s.Hostname), opcode.Int(len(s.Hostname)))
	made := mounts.Assemble(b, s.Layout, passed)
	showRoot(b)
	notify, err := restrict(b, s)
	if err != nil {
		return nil, err
	}
	b.Put(opcode.Begin, initial(b, notify, made))
	image, err := b.Image()
	if err != nil {
		return nil, err
	}
	p := &Program{Image: image}
	for _, c := range made {
		p.Copies = append(p.Copies, c.Target)
	}
	p.File, err = image.File()
	return p, err
}

// showRoot hands the broker the new root. Nobody outside but root could open it through /proc: this process is not dumpable, and
// its memory belongs to the user namespace of the launcher.
func showRoot(b *opcode.Builder) {
	b.For(wire.StageNamespace, "root")
	message, fd := handover(b, wire.Root, 0)
	b.Call(unix.SYS_OPENAT, opcode.Int(unix.AT_FDCWD), b.Text("/"), opcode.Int(unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC), opcode.Int(0)).Into(fd)
	b.Call(unix.SYS_SENDMSG, opcode.Int(socket), opcode.At(message), opcode.Int(unix.MSG_NOSIGNAL)).Exactly(replySize)
	b.Call(unix.SYS_CLOSE, opcode.Value(fd))
}

const replySize = int(unsafe.Sizeof(wire.Reply{}))

// handover is the struct msghdr of a reply with a descriptor, and the place in it for that.
func handover(b *opcode.Builder, kind wire.Kind, a int) (message, fd opcode.Ref) {
	reply := b.Words(uint64(kind)|uint64(a)<<32, 0)
	control := b.Words(controlHead+4, rights, 0)
	iov := b.Words(0, uint64(replySize))
	message = b.Words(0, 0, 0, 1, 0, controlHead+8, 0)
	b.Place(iov, reply)
	b.Place(message+16, iov)
	b.Place(message+32, control)
	return message, control + controlHead
}

// initial is the state that PID 1 begins with.
func initial(b *opcode.Builder, notify opcode.Ref, made []mounts.Copy) []byte {
	var list []byte
	for _, c := range made {
		path := b.Bytes(append([]byte(c.Target), 0))
		list = binary.NativeEndian.AppendUint32(list, uint32(path))
		list = binary.NativeEndian.AppendUint32(list, uint32(c.Identity))
	}
	s := state{notify: uint32(notify), copies: uint32(b.Bytes(list)), count: uint32(len(made))}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s)), stateSize)
}

// become takes on the sandbox's user, as soon as he exists: when the launcher has written the id maps. The capabilities stay: the
// kernel takes them away only from who was root inside. Then PID 1 is closed to everybody, before anybody is inside: no
// payload can look into it or dump it. The maps could not be written to a process that is.
func become(b *opcode.Builder, s *Setup) {
	b.For(wire.StageMap, "user namespace")
	woken, mapped := b.NewLabel(), b.NewLabel()
	b.Mark(woken)
	wait := b.Words(mapsWithin, 0)
	b.Call(unix.SYS_FUTEX, opcode.At(0), opcode.Int(futexWait), opcode.Int(0), opcode.At(wait)).Then(woken).On(unix.EAGAIN, mapped)
	b.Mark(mapped)
	if s.Become {
		b.For(wire.StageMap, "groups")
		b.Call(unix.SYS_SETGROUPS, opcode.Int(0), opcode.Int(0))
		b.For(wire.StageMap, "gid")
		b.Call(unix.SYS_SETRESGID, opcode.Int(s.GID), opcode.Int(s.GID), opcode.Int(s.GID))
		b.For(wire.StageMap, "uid")
		b.Call(unix.SYS_SETRESUID, opcode.Int(s.UID), opcode.Int(s.UID), opcode.Int(s.UID))
	}
	b.For(wire.StageNamespace, "dumpable")
	b.Call(unix.SYS_PRCTL, opcode.Int(unix.PR_SET_DUMPABLE), opcode.Int(0), opcode.Int(0), opcode.Int(0), opcode.Int(0))
}

// mapsWithin is how long the launcher may take to write the id maps, in seconds; when it died meanwhile, nobody else would
// end this process.
const mapsWithin = 10

// harden makes the process one that a signal from inside does not reach, and which says nothing when a payload crashes.
func harden(b *opcode.Builder) {
	b.For(wire.StageNamespace, "session")
	b.Call(unix.SYS_SETSID)
	b.For(wire.StageNamespace, "core limit")
	// With a piped core_pattern any limit but 1 makes the kernel start the host's core handler, as root, when a payload
	// crashes; every payload inherits this value, and the filter refuses to change it (A-SBX-09).
	b.Call(unix.SYS_PRLIMIT64, opcode.Int(0), opcode.Int(unix.RLIMIT_CORE), opcode.At(b.Words(1, 1)), opcode.Int(0))
	b.For(wire.StageNamespace, "umask")
	b.Call(unix.SYS_UMASK, opcode.Int(0o022))
	// Every signal gets its default action. For PID 1 of a pid namespace the kernel drops such a signal when anyone inside sends
	// it; only a real fault, or the broker, ends PID 1. A handler of the runtime would be reachable instead, and ignoring
	// them explicitly would be inherited by every payload. All zero is SIG_DFL.
	b.For(wire.StageNamespace, "signals")
	signal, action := b.Reserve(8), b.Reserve(64)
	b.Put(signal, []byte{1})
	next, done := b.NewLabel(), b.NewLabel()
	b.Mark(next)
	b.Call(unix.SYS_RT_SIGACTION, opcode.Value(signal), opcode.At(action), opcode.Int(0), opcode.Int(8)).Accept(unix.EINVAL) // SIGKILL and SIGSTOP
	b.Count(signal, 64).Then(next).On(0, done)
	b.Mark(done)
	// A death is read from a descriptor instead, so that PID 1 can wait for it and for the broker at once.
	b.Call(unix.SYS_RT_SIGPROCMASK, opcode.Int(unix.SIG_SETMASK), opcode.At(b.Words(childSignal)), opcode.Int(0), opcode.Int(8))
}

// futexWait is FUTEX_WAIT; the word is shared with another process.
const futexWait = 0

// childSignal is the set of SIGCHLD alone.
const childSignal = 1 << (unix.SIGCHLD - 1)

// restrict takes everything away, in the order that filter asks for.
func restrict(b *opcode.Builder, s *Setup) (notify opcode.Ref, err error) {
	b.For(wire.StageNamespace, "cgroup")
	b.Call(unix.SYS_UNSHARE, opcode.Int(unix.CLONE_NEWCGROUP))
	// A new session keyring: the broker's one may hold keys. A kernel without keyrings has none to hide.
	b.For(wire.StageNamespace, "keyring")
	b.Call(unix.SYS_KEYCTL, opcode.Int(unix.KEYCTL_JOIN_SESSION_KEYRING), opcode.Int(0)).Accept(unix.ENOSYS)
	ruleset, err := filter.Ruleset(b, s.Rules, ports(s.Network))
	if err != nil {
		return 0, err
	}
	dropCapabilities(b)
	b.For(wire.StageDrop, "no_new_privs")
	b.Call(unix.SYS_PRCTL, opcode.Int(unix.PR_SET_NO_NEW_PRIVS), opcode.Int(1), opcode.Int(0), opcode.Int(0), opcode.Int(0))
	filter.Enter(b, ruleset)
	// What this process was born with and what the operations above have opened; then the smallest free number is known.
	b.For(wire.StageNamespace, "descriptors")
	b.Call(unix.SYS_CLOSE_RANGE, opcode.Int(socket+1), opcode.Int(^uint32(0)), opcode.Int(0))
	b.Call(unix.SYS_SIGNALFD4, opcode.Int(-1), opcode.At(b.Words(childSignal)), opcode.Int(8), opcode.Int(unix.SFD_CLOEXEC|unix.SFD_NONBLOCK)).Exactly(deaths)
	bind(b) // not before everything is open that the number of roots decides
	return s.Filter.Install(b), nil
}

// dropCapabilities empties every capability set, the bounding set first, and proves it.
func dropCapabilities(b *opcode.Builder) {
	b.For(wire.StageDrop, "bounding set")
	// One after another until the kernel does not know the next; its interface has room for 64.
	capability := b.Reserve(8)
	next, done := b.NewLabel(), b.NewLabel()
	b.Mark(next)
	b.Call(unix.SYS_PRCTL, opcode.Int(unix.PR_CAPBSET_DROP), opcode.Value(capability), opcode.Int(0), opcode.Int(0), opcode.Int(0)).On(unix.EINVAL, done)
	b.Count(capability, 63).Then(next).On(0, done)
	b.Mark(done)
	b.For(wire.StageDrop, "ambient set")
	b.Call(unix.SYS_PRCTL, opcode.Int(unix.PR_CAP_AMBIENT), opcode.Int(unix.PR_CAP_AMBIENT_CLEAR_ALL), opcode.Int(0), opcode.Int(0), opcode.Int(0))
	b.For(wire.StageDrop, "capabilities")
	// struct __user_cap_header_struct: version and process 0; then two struct __user_cap_data_struct.
	head, none, now := b.Words(unix.LINUX_CAPABILITY_VERSION_3), b.Reserve(24), b.Reserve(24)
	b.Call(unix.SYS_CAPSET, opcode.At(head), opcode.At(none))
	b.Call(unix.SYS_CAPGET, opcode.At(head), opcode.At(now))
	b.Equal(now, none, 24, syscall.EPERM)
}
