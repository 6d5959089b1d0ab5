//go:build linux

package initproc

import (
	"runtime"
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
	block := mapped(t, b)
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

// mapped is a program where it can be run, until the test ends.
func mapped(t *testing.T, b *opcode.Builder) *opcode.Block {
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
	t.Cleanup(func() { block.Close() })
	return block
}

// initProcess makes a PID 1 that serves runs and sees them in a /proc of its own.
func initProcess(t *testing.T) (conn *wire.Conn, pid int) {
	t.Helper()
	b := opening()
	b.Call(unix.SYS_MOUNT, b.Text("proc"), b.Text("/proc"), b.Text("proc"), opcode.Int(0), opcode.Int(0))
	b.Call(unix.SYS_CLOSE_RANGE, opcode.Int(socket+1), opcode.Int(^uint32(0)), opcode.Int(0))
	b.Call(unix.SYS_RT_SIGPROCMASK, opcode.Int(unix.SIG_SETMASK), opcode.At(b.Words(childSignal)), opcode.Int(0), opcode.Int(8))
	b.Call(unix.SYS_SIGNALFD4, opcode.Int(-1), opcode.At(b.Words(childSignal)), opcode.Int(8), opcode.Int(unix.SFD_CLOEXEC|unix.SFD_NONBLOCK)).Exactly(deaths)
	notify := b.Slot()
	b.Call(unix.SYS_EVENTFD2, opcode.Int(0), opcode.Int(0)).Into(notify)
	b.Put(opcode.Begin, initial(b, notify, nil))
	return forkedWith(t, b, unix.CLONE_NEWUSER|unix.CLONE_NEWPID|unix.CLONE_NEWNS, None())
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
