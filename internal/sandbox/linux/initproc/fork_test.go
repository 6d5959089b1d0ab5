//go:build linux

package initproc

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/wire"
)

// forked makes a process like PID 1, but in the file system and network of the test, from a program whose descriptor 0 is its socket.
func forked(t *testing.T, b *opcode.Builder) (conn *wire.Conn, pid int) {
	t.Helper()
	return forkedWith(t, b, unix.CLONE_NEWUSER|unix.CLONE_NEWPID, None())
}

func forkedWith(t *testing.T, b *opcode.Builder, flags uint64, group Group) (conn *wire.Conn, pid int) {
	t.Helper()
	image, err := b.Image()
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	block, err := opcode.Map(file)
	if err != nil {
		t.Fatal(err)
	}
	defer block.Close()
	conn, theirs, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	defer theirs.Close()
	if err := block.Give([]int{int(theirs.Fd())}, nil); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, pidfd, err := fork(block, flags, group)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(pidfd)
	Begin(block)
	return conn, pid
}

func waited(t *testing.T, pid int) syscall.WaitStatus {
	t.Helper()
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); err == nil {
			return status
		} else if err != syscall.EINTR {
			t.Fatal(err)
		}
	}
}

// opening is the beginning of every program: the state, and the socket at its place.
func opening() *opcode.Builder {
	b := &opcode.Builder{}
	b.Reserve(stateSize)
	b.Passed(1, 0)
	b.Call(unix.SYS_DUP3, b.Descriptor(0), opcode.Int(socket), opcode.Int(0)).Exactly(socket)
	return b
}

// proves A-SBX-09, A-ERR-01
func TestAProcessWithoutARuntime(t *testing.T) {
	b := opening()
	b.Call(unix.SYS_GETPID)
	b.Call(unix.SYS_EXIT_GROUP, opcode.Int(42))
	_, pid := forked(t, b)
	if status := waited(t, pid); status.ExitStatus() != 42 {
		t.Errorf("ended with %#x", status)
	}

	b = opening()
	b.For(wire.StagePivot, "/x")
	b.Call(unix.SYS_CHDIR, b.Text("/no such directory"))
	conn, pid := forked(t, b)
	var r wire.Reply
	if _, err := conn.Receive(&r); err != nil || r.Kind != wire.Broken || syscall.Errno(r.B) != unix.ENOENT {
		t.Errorf("a failure came as %+v, %v", r, err)
	}
	image, err := b.Image()
	if err == nil {
		if f := image.Failure(int(r.A), syscall.Errno(r.B), func(int) string { return "chdir" }); f.Error() != "pivot: /x: chdir: no such file or directory" {
			t.Errorf("which is %v", f)
		}
	}
	if status := waited(t, pid); status.ExitStatus() != 1 {
		t.Errorf("ended with %#x", status)
	}
}

// The end of the program is the beginning of serving: a ready process whose broker goes away ends, with the child that waits.
//
// proves A-SBX-02
func TestItEndsWithItsBroker(t *testing.T) {
	b := opening()
	b.Call(unix.SYS_CLOSE_RANGE, opcode.Int(socket+1), opcode.Int(^uint32(0)), opcode.Int(0))
	b.Call(unix.SYS_EVENTFD2, opcode.Int(0), opcode.Int(unix.EFD_NONBLOCK)).Exactly(deaths)
	notify := b.Slot()
	b.Call(unix.SYS_EVENTFD2, opcode.Int(0), opcode.Int(0)).Into(notify)
	b.Put(opcode.Begin, initial(b, notify, nil))
	conn, pid := forked(t, b)
	var r wire.Reply
	files, err := conn.Receive(&r)
	if err != nil || r.Kind != wire.Ready || len(files) != 1 {
		t.Fatalf("got %+v with %d descriptors, %v", r, len(files), err)
	}
	wire.CloseAll(files)
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if status := waited(t, pid); !status.Exited() || status.ExitStatus() != 0 {
		t.Errorf("ended with %#x", status)
	}
}

// proves A-SBX-02
func TestBornInAVersion2Group(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root may mount the hierarchy
	}
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "cgroup2", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	group := fmt.Sprintf("%s/sekisho-test-%d", dir, os.Getpid())
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(group)
	fd, err := unix.Open(group, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	b := opening()
	// It was born with both ends of the socket.
	b.Call(unix.SYS_CLOSE_RANGE, opcode.Int(socket+1), opcode.Int(^uint32(0)), opcode.Int(0))
	b.Call(unix.SYS_RECVFROM, opcode.Int(socket), opcode.At(b.Reserve(8)), opcode.Int(8), opcode.Int(0), opcode.Int(0), opcode.Int(0))
	b.Call(unix.SYS_EXIT_GROUP, opcode.Int(7))
	conn, pid := forkedWith(t, b, unix.CLONE_NEWUSER|unix.CLONE_NEWPID, Group{Unified: fd})
	inside, err := os.ReadFile(group + "/cgroup.procs")
	if want := fmt.Sprintln(pid); err != nil || string(inside) != want {
		t.Errorf("inside are %q, %v, want %q", inside, err, want)
	}
	conn.Close()
	if status := waited(t, pid); status.ExitStatus() != 7 {
		t.Errorf("ended with %#x", status)
	}
}

// A run that was expected and has ended by the time that PID 1 would tell of it is told of once; one that goes on is told of before
// it ends. On a busy machine any single one may take that long.
//
// proves A-SBX-02, A-POL-04
func TestWhatEndsAtOnceIsToldOfOnce(t *testing.T) {
	b := opening()
	b.Call(unix.SYS_MOUNT, b.Text("proc"), b.Text("/proc"), b.Text("proc"), opcode.Int(0), opcode.Int(0))
	b.Call(unix.SYS_CLOSE_RANGE, opcode.Int(socket+1), opcode.Int(^uint32(0)), opcode.Int(0))
	b.Call(unix.SYS_RT_SIGPROCMASK, opcode.Int(unix.SIG_SETMASK), opcode.At(b.Words(childSignal)), opcode.Int(0), opcode.Int(8))
	b.Call(unix.SYS_SIGNALFD4, opcode.Int(-1), opcode.At(b.Words(childSignal)), opcode.Int(8), opcode.Int(unix.SFD_CLOEXEC|unix.SFD_NONBLOCK)).Exactly(deaths)
	notify := b.Slot()
	b.Call(unix.SYS_EVENTFD2, opcode.Int(0), opcode.Int(0)).Into(notify)
	b.Put(opcode.Begin, initial(b, notify, nil))
	conn, pid := forkedWith(t, b, unix.CLONE_NEWUSER|unix.CLONE_NEWPID|unix.CLONE_NEWNS, None())
	next := func() wire.Reply {
		t.Helper()
		var r wire.Reply
		files, err := conn.Receive(&r)
		wire.CloseAll(files)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := next(); r.Kind != wire.Ready {
		t.Fatalf("got %+v", r)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	start := func(path string, args ...string) {
		t.Helper()
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			t.Fatal(err)
		}
		expect := &wire.Expect{Dev: uint64(st.Dev), Ino: st.Ino, Size: uint64(st.Size), Mode: uint64(st.Mode),
			MtimeSec: uint64(st.Mtim.Sec), MtimeNsec: uint64(st.Mtim.Nsec), CtimeSec: uint64(st.Ctim.Sec), CtimeNsec: uint64(st.Ctim.Nsec)}
		if err := conn.Send(&wire.Start{Path: path, Argv: append([]string{path}, args...), Dir: "/", Expect: expect}, null, null, null); err != nil {
			t.Fatal(err)
		}
	}
	once := false
	for range 500 {
		start("/bin/cat")
		r := next()
		if r.Kind == wire.Stopped { // somebody changed it meanwhile
			if err := conn.Send(&wire.Release{Run: true}); err != nil {
				t.Fatal(err)
			}
			r = next()
		} else if once = r.Kind == wire.Ended; !once && r.Kind == wire.Started {
			r = next()
		}
		if r.Kind != wire.Ended || r.A != 0 {
			t.Fatalf("got %+v", r)
		}
		if once {
			break
		}
	}
	if !once {
		t.Error("what ends at once is told of twice")
	}
	start("/bin/sleep", "1000")
	if r := next(); r.Kind != wire.Started && r.Kind != wire.Stopped {
		t.Errorf("of a run that goes on: %+v", r)
	}
	conn.Close()
	if status := waited(t, pid); !status.Exited() {
		t.Errorf("ended with %#x", status)
	}
}

// Who makes PID 1 inside groups of version 1 leaves nothing of itself there, and says why when it fails.
//
// proves A-SBX-02, A-ERR-01
func TestBornInAVersion1Group(t *testing.T) {
	dir := version1(t)
	if os.Geteuid() != 0 || dir == "" {
		return // only root may make a group at the top of a hierarchy
	}
	group := fmt.Sprintf("%s/sekisho-test-%d", dir, os.Getpid())
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(group)
	fd, err := unix.Open(group+"/tasks", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	inside := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(group + "/tasks"); err != nil || string(got) != want {
			t.Errorf("inside are %q, %v, want %q", got, err, want)
		}
	}
	into := Group{Unified: -1, Tasks: []int{fd}}
	b := opening()
	b.Call(unix.SYS_CLOSE_RANGE, opcode.Int(socket+1), opcode.Int(^uint32(0)), opcode.Int(0))
	b.Call(unix.SYS_RECVFROM, opcode.Int(socket), opcode.At(b.Reserve(8)), opcode.Int(8), opcode.Int(0), opcode.Int(0), opcode.Int(0))
	b.Call(unix.SYS_EXIT_GROUP, opcode.Int(7))
	conn, pid := forkedWith(t, b, unix.CLONE_NEWUSER|unix.CLONE_NEWPID, into)
	inside(fmt.Sprintln(pid))
	conn.Close()
	if status := waited(t, pid); status.ExitStatus() != 7 { // so it is a child of this process
		t.Errorf("ended with %#x", status)
	}

	block := empty(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The kernel lets nobody share his directory with another user namespace.
	if pid, _, err := fork(block, unix.CLONE_NEWUSER|unix.CLONE_FS, into); err != unix.EINVAL {
		t.Errorf("an impossible process: %d, %v", pid, err)
	}
	if pid, _, err := fork(block, 0, Group{Unified: -1, Tasks: make([]int, MostTasks+1)}); err != unix.E2BIG {
		t.Errorf("too many groups: %d, %v", pid, err)
	}
	inside("")
}

// version1 is where a hierarchy of version 1 is mounted whose groups take any process, or "".
func version1(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); f[2] == "cgroup" && slices.Contains(strings.Split(f[3], ","), "pids") {
			return f[1]
		}
	}
	return ""
}

// empty is a program that does nothing.
func empty(t *testing.T) *opcode.Block {
	t.Helper()
	image, err := opening().Image()
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	block, err := opcode.Map(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { block.Close() })
	return block
}

// proves A-SBX-09
func TestWhatIsNotCopied(t *testing.T) {
	for line, want := range map[string]struct {
		from, size uintptr
		own        bool
	}{
		"c000000000-c000400000 rw-p 00000000 00:00 0 \n":                             {0xc000000000, 0x400000, true},
		"7ffe54a6b000-7ffe54a8c000 rw-p 00000000 00:00 0      [stack]\n":             {0x7ffe54a6b000, 0x21000, true},
		"00400000-00a1c000 r-xp 00000000 fe:00 1234           /usr/bin/agent-mcp\n":  {0x400000, 0x61c000, false},
		"7f0000000000-7f0000001000 rw-s 00000000 00:01 99     /dev/zero (deleted)\n": {0x7f0000000000, 0x1000, false},
		"c000400000-c004000000 ---p 00000000 00:00 0 \n":                             {0xc000400000, 0x3c00000, false},
	} {
		if from, size, own, err := mapping(line); err != nil || from != want.from || size != want.size || own != want.own {
			t.Errorf("%q: %#x, %#x, %v, %v", line, from, size, own, err)
		}
	}
	for _, line := range []string{"", "\n", "c000000000 rw-p 0 0 0", "2000-1000 rw-p 0 0 0", "1000-x rw-p 0 0 0", "1000-2000 rw 0 0 0"} {
		if _, _, _, err := mapping(line); err == nil {
			t.Errorf("%q was taken", line)
		}
	}
}
