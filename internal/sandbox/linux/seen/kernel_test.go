//go:build linux

package seen

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// places are directories on the file systems that this machine has: where tests work, shared memory, and for root whatever it
// can make.
func places(t *testing.T) map[string]string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	shm, err := os.MkdirTemp("/dev/shm", "sekisho-test-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(shm) })
	out := map[string]string{"temporary directory": dir, "shared memory": shm}
	for name, mkfs := range map[string][]string{
		"ext4": {"mkfs.ext4", "-q", "-F"}, "ext4, small inodes": {"mkfs.ext4", "-q", "-F", "-I", "128"}, "ext2": {"mkfs.ext2", "-q", "-F"},
		"xfs": {"mkfs.xfs", "-q", "-f"}, "btrfs": {"mkfs.btrfs", "-q", "-f"},
	} {
		if path, err := exec.LookPath(mkfs[0]); err != nil || os.Geteuid() != 0 {
			continue
		} else {
			mkfs[0] = path
		}
		image, at := filepath.Join(dir, name+".image"), filepath.Join(dir, name)
		must(t, os.WriteFile(image, nil, 0o600))
		must(t, os.Truncate(image, 400<<20))
		must(t, os.Mkdir(at, 0o755))
		for _, argv := range [][]string{append(mkfs, image), {"mount", "-o", "loop", image, at}} {
			if said, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%q: %v\n%s", argv, err, said)
			}
		}
		t.Cleanup(func() {
			if err := unix.Unmount(at, 0); err != nil {
				t.Error(err)
			}
		})
		out[name] = at
	}
	return out
}

// file is an open file with a shared mapping.
type file struct {
	t    *testing.T
	f    *os.File
	page []byte
}

const size = 4096

func open(t *testing.T, path string, flags int) *file {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|flags, 0)
	must(t, err)
	page, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	return &file{t, f, page}
}

func (f *file) close() {
	must(f.t, unix.Munmap(f.page))
	must(f.t, f.f.Close())
}

var sink byte

// writers change one byte each, or cut the file, in every way that a program has.
var writers = []struct {
	name  string
	write func(t *testing.T, path string)
}{
	{"write", func(t *testing.T, path string) {
		f := open(t, path, 0)
		defer f.close()
		_, err := f.f.WriteAt([]byte{1}, 9)
		must(t, err)
	}},
	{"the same byte", func(t *testing.T, path string) {
		f := open(t, path, 0)
		defer f.close()
		_, err := f.f.WriteAt(f.page[:1], 0)
		must(t, err)
	}},
	{"direct write", func(t *testing.T, path string) {
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_DIRECT, 0)
		must(t, err)
		defer f.Close()
		raw := make([]byte, 2*size)
		at := size - int(uintptr(unsafe.Pointer(&raw[0]))%size)
		if _, err := f.WriteAt(raw[at:at+size], 0); err != nil {
			t.Logf("no direct writes: %v", err)
			must(t, os.WriteFile(path, []byte{1}, 0o755))
		}
	}},
	{"store through a new mapping", func(t *testing.T, path string) {
		f := open(t, path, 0)
		defer f.close()
		f.page[1]++
	}},
	{"store through a mapping that was read before", func(t *testing.T, path string) {
		f := open(t, path, 0)
		defer f.close()
		sink += f.page[1]
		f.page[1]++
	}},
	{"store through a mapping made writable later", func(t *testing.T, path string) {
		f := open(t, path, 0)
		defer f.close()
		must(t, unix.Mprotect(f.page, unix.PROT_READ))
		sink += f.page[1]
		must(t, unix.Mprotect(f.page, unix.PROT_READ|unix.PROT_WRITE))
		f.page[1]++
	}},
	{"a read into a mapping", func(t *testing.T, path string) {
		f := open(t, path, 0)
		defer f.close()
		zero, err := os.Open("/dev/zero")
		must(t, err)
		defer zero.Close()
		_, err = zero.Read(f.page[:10])
		must(t, err)
	}},
	{"truncate", func(t *testing.T, path string) { must(t, os.Truncate(path, size/2)) }},
	{"punched hole", func(t *testing.T, path string) {
		f := open(t, path, 0)
		defer f.close()
		must(t, unix.Fallocate(int(f.f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, size))
	}},
	{"splice", func(t *testing.T, path string) {
		f := open(t, path, 0)
		defer f.close()
		r, w, err := os.Pipe()
		must(t, err)
		defer r.Close()
		defer w.Close()
		_, err = w.Write([]byte("x"))
		must(t, err)
		at := int64(0)
		_, err = unix.Splice(int(r.Fd()), nil, int(f.f.Fd()), &at, 1, 0)
		must(t, err)
	}},
	{"copy of another file", func(t *testing.T, path string) {
		must(t, os.WriteFile(path+".other", bytes.Repeat([]byte{7}, size), 0o644))
		from, err := os.Open(path + ".other")
		must(t, err)
		defer from.Close()
		f := open(t, path, 0)
		defer f.close()
		var a, b int64
		_, err = unix.CopyFileRange(int(from.Fd()), &a, int(f.f.Fd()), &b, size, 0)
		must(t, err)
	}},
	{"clone of another file", func(t *testing.T, path string) {
		must(t, os.WriteFile(path+".other", bytes.Repeat([]byte{8}, size), 0o644))
		from, err := os.Open(path + ".other")
		must(t, err)
		defer from.Close()
		f := open(t, path, 0)
		defer f.close()
		if err := unix.IoctlFileClone(int(f.f.Fd()), int(from.Fd())); err != nil { // most cannot
			_, err := f.f.WriteAt([]byte{2}, 3)
			must(t, err)
		}
	}},
	{"mode", func(t *testing.T, path string) { must(t, os.Chmod(path, 0o700)) }},
	{"name", func(t *testing.T, path string) { must(t, os.Link(path, path+".link")) }},
	{"times set back", func(t *testing.T, path string) {
		must(t, os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)))
	}},
}

// On a file system that is trusted every way to change a program moves the time of its last change, to one that lies less than
// two seconds before the act. One where something does not is not trusted.
//
// proves A-POL-04
func TestEveryWayToWriteLeavesAStamp(t *testing.T) {
	for name, dir := range places(t) {
		t.Logf("on %s", name)
		before := make([]State, len(writers))
		for i := range writers {
			path := fmt.Sprintf("%s/%d", dir, i)
			must(t, os.WriteFile(path, bytes.Repeat([]byte{5}, size), 0o755))
		}
		unix.Sync() // the pages are clean, as those of a program that was installed a while ago
		for i := range writers {
			s, ok := At(fmt.Sprintf("%s/%d", dir, i))
			if !ok {
				t.Fatalf("%s: no state", name)
			}
			before[i] = s
		}
		time.Sleep(1100 * time.Millisecond) // the coarsest stamps are whole seconds
		for i, w := range writers {
			path := fmt.Sprintf("%s/%d", dir, i)
			begun := NewSystemClock().Now()
			w.write(t, path)
			after, _ := At(path)
			switch moved := after.Changed != before[i].Changed && after.Changed > begun-int64(settled); {
			case !moved && trusted[after.Filesystem]:
				t.Errorf("%s, %s: stamp %d, before %d, at %d; but this file system is trusted", name, w.name, after.Changed, before[i].Changed, begun)
			case !moved:
				t.Logf("%s, %s: no new stamp", name, w.name)
			}
		}
	}
}

// A page that is dirty already takes changes without another stamp until it is written back: a program that looks settled may
// be changing still. Nobody can execute it while that mapping exists, also after its descriptor was closed, so no full hash at
// an exec stop is of such a file, and no mapping from before one can be stored to after it.
//
// proves A-POL-04
func TestWhoCanStillWriteKeepsAProgramFromStarting(t *testing.T) {
	if !Denies() {
		t.Fatal("this kernel executes what is open for writing: the rule never applies here")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	path := dir + "/program"
	data, err := os.ReadFile("/bin/true")
	must(t, err)
	must(t, os.WriteFile(path, data, 0o755))
	execute := func() error { return exec.Command(path).Run() }
	must(t, execute())
	f := open(t, path, 0)
	f.page[size-1]++
	was, _ := At(path)
	time.Sleep(20 * time.Millisecond) // several ticks
	f.page[size-1]--
	if now, _ := At(path); now.Changed != was.Changed {
		t.Log("this store moved the stamp: its page had been written back")
	}
	must(t, f.f.Close())
	if err := execute(); !errors.Is(err, syscall.ETXTBSY) {
		t.Errorf("executed while it is mapped writable: %v", err)
	}
	must(t, unix.Munmap(f.page))
	must(t, execute())
	// The other way round: what is executed cannot be opened for writing.
	sleeping := exec.Command("/bin/sleep", "60")
	data, err = os.ReadFile("/bin/sleep")
	must(t, err)
	must(t, os.WriteFile(path+"2", data, 0o755))
	sleeping.Path = path + "2"
	must(t, sleeping.Start())
	if f, err := os.OpenFile(path+"2", os.O_WRONLY, 0); !errors.Is(err, syscall.ETXTBSY) {
		f.Close()
		t.Errorf("opened for writing while it runs: %v", err)
	}
	must(t, sleeping.Process.Kill())
	sleeping.Wait()
}

// What runs must be what the path leads to, in the same state.
//
// proves A-POL-04
func TestRunsOnlyTheSameObject(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"/a", "/b"} {
		must(t, os.WriteFile(dir+name, []byte("x"), 0o755))
	}
	s, ok := At(dir + "/a")
	a, err := os.Open(dir + "/a")
	must(t, err)
	defer a.Close()
	b, err := os.Open(dir + "/b")
	must(t, err)
	defer b.Close()
	if !ok || !s.Runs(a) || s.Runs(b) {
		t.Errorf("%v: a %v, b %v", ok, s.Runs(a), s.Runs(b))
	}
	must(t, os.Chmod(dir+"/a", 0o700))
	if s.Runs(a) {
		t.Error("another state passes")
	}
	must(t, os.Symlink("a", dir+"/link"))
	if l, _ := At(dir + "/link"); l.Runs(a) {
		t.Error("a link was followed")
	}
	if _, ok := At(dir + "/none"); ok {
		t.Error("nothing has a state")
	}
}

// proves A-POL-04
func TestAnEmptyFileIsNoProgram(t *testing.T) {
	path := t.TempDir() + "/empty"
	must(t, os.WriteFile(path, nil, 0o755))
	if err := executing(path); err != syscall.ENOEXEC {
		t.Errorf("control: executing an empty file that nobody writes: %v", err)
	}
}

// proves A-POL-04
func TestTheKernelTellsThatTheClockWasSet(t *testing.T) {
	c := NewSystemClock()
	if c.Stepped() || c.Now() == 0 {
		t.Fatal("the clock was set, or there is none")
	}
	if (&SystemClock{timer: -1}).Stepped() != true {
		t.Error("no timer is no doubt")
	}
	var now unix.Timespec
	must(t, unix.ClockGettime(unix.CLOCK_REALTIME, &now))
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &now); err != nil { // to what it is
		t.Logf("this user cannot set the clock: %v", err)
		return
	}
	if !c.Stepped() {
		t.Error("a clock that was set went unnoticed")
	}
	if c.Stepped() {
		t.Error("told twice")
	}
	must(t, unix.ClockGettime(unix.CLOCK_REALTIME, &now))
	must(t, unix.ClockSettime(unix.CLOCK_REALTIME, &now))
	if !c.Stepped() {
		t.Error("the second time went unnoticed")
	}
}

// What an ordinary user may have mounted is his, whoever owns the files in it: here the image changes below the file system, and no
// stamp tells.
//
// proves A-POL-04
func TestWhatAUserMayHaveMountedIsHashed(t *testing.T) {
	mkfs, err := exec.LookPath("mkfs.ext4")
	if err != nil || os.Geteuid() != 0 {
		return // as in places
	}
	for options, want := range map[string]bool{"loop": true, "loop,nosuid,nodev": false} {
		dir := t.TempDir()
		image, at := filepath.Join(dir, "image"), filepath.Join(dir, "at")
		must(t, os.WriteFile(image, nil, 0o600))
		must(t, os.Truncate(image, 16<<20))
		must(t, os.Mkdir(at, 0o755))
		for _, argv := range [][]string{{mkfs, "-q", "-F", image}, {"mount", "-o", options, image, at}} {
			if said, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%q: %v\n%s", argv, err, said)
			}
		}
		t.Cleanup(func() { must(t, unix.Unmount(at, 0)) })
		program := filepath.Join(at, "program")
		was, is := bytes.Repeat([]byte("approved"), size/8), bytes.Repeat([]byte("anything"), size/8)
		must(t, os.WriteFile(program, was, 0o755))
		f, err := os.Open(program)
		must(t, err)
		t.Cleanup(func() { f.Close() })
		must(t, f.Sync())
		must(t, unix.Syncfs(int(f.Fd())))
		before, ok := At(program)
		if !ok {
			return // an older kernel, where nothing is known again
		}
		if got := before.lasting(before.Changed + int64(settled) + 1); got != want {
			t.Errorf("%s: known again: %v", options, got)
		}
		// The control: without a stamp the bytes become others.
		raw, err := os.ReadFile(image)
		must(t, err)
		place := bytes.Index(raw, was)
		if place < 0 {
			t.Fatal("the program is not in the image")
		}
		below, err := os.OpenFile(image, os.O_WRONLY, 0)
		must(t, err)
		_, err = below.WriteAt(is, int64(place))
		must(t, err)
		must(t, below.Close())
		must(t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
		now, err := os.ReadFile(program)
		must(t, err)
		after, _ := At(program)
		if !bytes.Equal(now, is) || after != before {
			t.Errorf("control: %s: %.8q, %+v, before %+v", options, now, after, before)
		}
	}
}
