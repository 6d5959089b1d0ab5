//go:build linux

package opcode

import (
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

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
