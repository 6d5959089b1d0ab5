//go:build linux

package opcode

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// run performs a program here and returns what it put at places.
func run(t *testing.T, b *Builder, places ...Ref) ([]int, error) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return Run(b, strconv.Itoa, places...)
}

// proves A-SBX-01
func TestProgramsDoWhatTheySay(t *testing.T) {
	b := &Builder{}
	b.For(wire.StageMount, "/x")
	pid, fd, missing, count := b.Slot(), b.Slot(), b.Slot(), b.Slot()
	b.Call(unix.SYS_GETPID).Into(pid)
	// A failure that goes on elsewhere, and the way around what belongs to it only.
	made, there := b.NewLabel(), b.NewLabel()
	b.Call(unix.SYS_OPENAT, Int(unix.AT_FDCWD), b.Text("/no such file"), Int(unix.O_RDONLY), Int(0)).Into(fd).Then(there).On(unix.ENOENT, made)
	b.Mark(made)
	b.Call(unix.SYS_GETPID).Into(missing)
	b.Mark(there)
	// A loop, an address in memory, what was written compared with what is there.
	again, done := b.NewLabel(), b.NewLabel()
	b.Mark(again)
	b.Count(count, 9).Then(again).On(0, done)
	b.Mark(done)
	pipe := b.Reserve(8)
	b.Call(unix.SYS_PIPE2, At(pipe), Int(unix.O_CLOEXEC))
	text, got := b.Bytes([]byte("hello")), b.Reserve(8)
	iov := b.Words(0, 5)
	b.Place(iov, text)
	b.Call(unix.SYS_WRITEV, Value(pipe+4), At(iov), Int(1)).Exactly(5)
	b.Call(unix.SYS_READ, Value(pipe), At(got), Int(8)).Exactly(5)
	b.Equal(got, text, 5, unix.EBADMSG)
	b.Call(unix.SYS_CLOSE, Value(pipe))
	b.Call(unix.SYS_CLOSE, Value(pipe+4))
	b.Call(unix.SYS_CLOSE, Int(-1)).Accept(unix.EBADF)
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
		build func(b *Builder)
		errno syscall.Errno
		text  string
	}{
		"a call":         {func(b *Builder) { b.Call(unix.SYS_CLOSE, Int(-1)) }, unix.EBADF, "mount: /x: " + strconv.Itoa(unix.SYS_CLOSE) + ": bad file descriptor"},
		"another errno":  {func(b *Builder) { b.Call(unix.SYS_CLOSE, Int(-1)).Accept(unix.EIO, unix.EPERM) }, unix.EBADF, ""},
		"another result": {func(b *Builder) { b.Call(unix.SYS_GETPID).Exactly(0) }, unix.EIO, ""},
		"bytes":          {func(b *Builder) { b.Equal(b.Words(1), b.Words(2), 8, unix.ESTALE) }, unix.ESTALE, ""},
		"bits":           {func(b *Builder) { b.Mask(b.Words(0xff0f), 0xf0, 0x10, unix.EINVAL) }, unix.EINVAL, ""},
		"a kernel's own": {func(b *Builder) { b.Error(b.Words(uint64(0xffffffff - 12))) }, unix.EACCES, ""},
		"ours":           {func(b *Builder) { b.Fail(private) }, 0, "mount: /x: a word of our own"},
		"a later one":    {func(b *Builder) { b.Call(unix.SYS_GETPID); b.Call(unix.SYS_CLOSE, Int(-1)); b.Fail(private) }, unix.EBADF, ""},
	} {
		b := &Builder{}
		b.For(wire.StageMount, "/x")
		c.build(b)
		_, err := run(t, b)
		var f *wire.Failed
		if !errors.As(err, &f) || f.Stage != wire.StageMount || f.Target != "/x" || f.Errno != int(c.errno) || c.text != "" && f.Error() != c.text {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestProgramsThatAreWrongAreNotBuilt(t *testing.T) {
	for name, build := range map[string]func(b *Builder){
		"a label without a place":  func(b *Builder) { b.Call(unix.SYS_GETPID).Then(b.NewLabel()) },
		"a descriptor too many":    func(b *Builder) { b.Passed(1, 0); b.Call(unix.SYS_CLOSE, b.Descriptor(1)) },
		"a text that would be cut": func(b *Builder) { b.Call(unix.SYS_CHDIR, b.Text("/a\x00b")) },
		"four ways on":             func(b *Builder) { b.Call(unix.SYS_GETPID).Accept(1, 2, 3, 4) },
	} {
		b := &Builder{}
		build(b)
		if _, err := b.Image(); err == nil {
			t.Errorf("%s was built", name)
		}
	}
}

// image is one of a program that uses every kind of operation.
func image(t testing.TB) *Image {
	b := &Builder{}
	b.Passed(2, 2)
	fd := b.Slot()
	b.Call(unix.SYS_FCNTL, b.Descriptor(1), Int(unix.F_DUPFD_CLOEXEC), Int(3)).Into(fd)
	b.Call(unix.SYS_CLOSE, Value(fd))
	b.Place(b.Words(0), fd)
	b.Equal(b.Words(7), b.Words(7), 8, unix.EIO)
	b.Mask(b.Words(7), 1, 1, unix.EIO)
	b.Count(b.Words(0), 5)
	b.Error(b.Words(0))
	p, err := b.Image()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// proves A-SBX-06
func TestWhatIsGivenArrives(t *testing.T) {
	p := image(t)
	f, err := p.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{1}, 0); err == nil {
		t.Error("the image can be changed")
	}
	block, err := Map(f)
	if err != nil {
		t.Fatal(err)
	}
	defer block.Close()
	if err := block.Give([]int{1}, []uint64{1, 2}); err == nil {
		t.Error("too few descriptors were taken")
	}
	if err := block.Give([]int{0, int(f.Fd())}, []uint64{1, 2}); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if at, errno := RawRun(block.Base()); errno != 0 {
		t.Errorf("operation %d: %v", at, syscall.Errno(errno))
	}
}

// FuzzMap reads arbitrary images: what is taken can be performed without leaving its memory. System calls are left out, which
// are the sender's to choose.
func FuzzMap(f *testing.F) {
	p := image(f)
	f.Add(p.Bytes)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || len(b) > 1<<16 {
			return
		}
		file, err := wire.MemoryFile("fuzz", b)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		block, err := Map(file)
		if err != nil {
			return
		}
		defer block.Close()
		h := (*header)(unsafe.Add(block.base, Shared))
		for i := range uintptr(h.len) {
			o := (*op)(unsafe.Add(block.base, uintptr(h.ops)+i*opSize))
			if o.kind != opCall {
				rawStep(block.base, o)
				rawJump(o, 1)
			}
		}
	})
}
