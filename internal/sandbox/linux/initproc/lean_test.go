//go:build linux

package initproc

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

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

// proves A-SBX-09
func TestWhatALauncherGetsLaterIsNotCopiedEither(t *testing.T) {
	own, err := Lean(0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { // for the other tests of this process
		if err := keep(unix.MADV_DOFORK); err != nil {
			t.Error(err)
		}
	}()
	later, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(later)
	at := uintptr(unsafe.Pointer(&later[0]))
	if !inherited(t, at) {
		t.Error("control: new memory is not copied")
	}
	if again, err := Lean(own); err != nil || again <= own {
		t.Errorf("%d pages, then %d, %v", own, again, err)
	}
	if inherited(t, at) {
		t.Error("it is copied")
	}
	for statm, want := range map[string]uint64{"9000 800 500 300 0 4100 0\n": 4100, "9000 800 500 300 0 4100": 0, "": 0, "1 2 3 4 5 x 7": 0} {
		if got, err := data(statm); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", statm, got, err)
		}
	}
}

// inherited asks the kernel whether a fork copies what is at an address of this process.
func inherited(t *testing.T, at uintptr) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(string(text)) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			inside = from <= at && at < to
		}
		if flags, found := strings.CutPrefix(line, "VmFlags:"); found && inside {
			return !strings.Contains(flags, " dc ")
		}
	}
	t.Fatal("there is no such memory")
	return false
}
