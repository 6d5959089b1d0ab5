//go:build linux

package opcode_test

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/opcode/opcodetest"
	"sekisho/internal/sandbox/linux/wire"
)

// run performs a program here and returns what it put at places.
func run(t *testing.T, b *opcode.Builder, places ...opcode.Ref) ([]int, error) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return opcodetest.Run(b, strconv.Itoa, places...)
}

// proves A-SBX-01
func TestProgramsDoWhatTheySay(t *testing.T) {
	b := &opcode.Builder{}
	b.For(wire.StageMount, "/x")
	pid, fd, missing, count := b.Slot(), b.Slot(), b.Slot(), b.Slot()
	b.Call(unix.SYS_GETPID).Into(pid)
	// A failure that goes on elsewhere, and the way around what belongs to it only.
	made, there := b.NewLabel(), b.NewLabel()
	b.Call(unix.SYS_OPENAT, opcode.Int(unix.AT_FDCWD), b.Text("/no such file"), opcode.Int(unix.O_RDONLY), opcode.Int(0)).Into(fd).Then(there).On(unix.ENOENT, made)
	b.Mark(made)
	b.Call(unix.SYS_GETPID).Into(missing)
	b.Mark(there)
	// A loop, an address in memory, what was written compared with what is there.
	again, done := b.NewLabel(), b.NewLabel()
	b.Mark(again)
	b.Count(count, 9).Then(again).On(0, done)
	b.Mark(done)
	pipe := b.Reserve(8)
	b.Call(unix.SYS_PIPE2, opcode.At(pipe), opcode.Int(unix.O_CLOEXEC))
	text, got := b.Bytes([]byte("hello")), b.Reserve(8)
	iov := b.Words(0, 5)
	b.Place(iov, text)
	b.Call(unix.SYS_WRITEV, opcode.Value(pipe+4), opcode.At(iov), opcode.Int(1)).Exactly(5)
	b.Call(unix.SYS_READ, opcode.Value(pipe), opcode.At(got), opcode.Int(8)).Exactly(5)
	b.Equal(got, text, 5, unix.EBADMSG)
	b.Call(unix.SYS_CLOSE, opcode.Value(pipe))
	b.Call(unix.SYS_CLOSE, opcode.Value(pipe+4))
	b.Call(unix.SYS_CLOSE, opcode.Int(-1)).Accept(unix.EBADF)
	b.Error(b.Words(5))
	values, err := run(t, b, pid, missing, count)
	if err != nil {
		t.Fatal(err)
	}
	if values[0] != os.Getpid() || values[1] != os.Getpid() || values[2] != 10 {
		t.Errorf("got %v, pid %d", values, os.Getpid())
	}
}

// proves A-ERR-01, A-SBX-01
func TestFailuresSayWhatTheyAreAbout(t *testing.T) {
	private := errors.New("a word of our own")
	for name, c := range map[string]struct {
		build func(b *opcode.Builder)
		errno syscall.Errno
		text  string
	}{
		"a call":         {func(b *opcode.Builder) { b.Call(unix.SYS_CLOSE, opcode.Int(-1)) }, unix.EBADF, "mount: /x: " + strconv.Itoa(unix.SYS_CLOSE) + ": bad file descriptor"},
		"another errno":  {func(b *opcode.Builder) { b.Call(unix.SYS_CLOSE, opcode.Int(-1)).Accept(unix.EIO, unix.EPERM) }, unix.EBADF, ""},
		"another result": {func(b *opcode.Builder) { b.Call(unix.SYS_GETPID).Exactly(0) }, unix.EIO, ""},
		"bytes":          {func(b *opcode.Builder) { b.Equal(b.Words(1), b.Words(2), 8, unix.ESTALE) }, unix.ESTALE, ""},
		"bits":           {func(b *opcode.Builder) { b.Mask(b.Words(0xff0f), 0xf0, 0x10, unix.EINVAL) }, unix.EINVAL, ""},
		"a kernel's own": {func(b *opcode.Builder) { b.Error(b.Words(uint64(0xffffffff - 12))) }, unix.EACCES, ""},
		"ours":           {func(b *opcode.Builder) { b.Fail(private) }, 0, "mount: /x: a word of our own"},
		"a later one": {func(b *opcode.Builder) {
			b.Call(unix.SYS_GETPID)
			b.Call(unix.SYS_CLOSE, opcode.Int(-1))
			b.Fail(private)
		}, unix.EBADF, ""},
	} {
		b := &opcode.Builder{}
		b.For(wire.StageMount, "/x")
		c.build(b)
		_, err := run(t, b)
		var f *wire.Failed
		if !errors.As(err, &f) || f.Stage != wire.StageMount || f.Target != "/x" || f.Errno != int(c.errno) || c.text != "" && f.Error() != c.text {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
