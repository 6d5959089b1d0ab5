//go:build linux

package initproc

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// packet is what the broker sends for a Start.
func packet(t testing.TB, s *wire.Start) []byte {
	t.Helper()
	ours, theirs, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	if err := ours.Send(s); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1<<17)
	n, err := unix.Read(int(theirs.Fd()), buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

// memory is a packet at the beginning of memory that begins at a multiple of 8.
func memory(b []byte) unsafe.Pointer {
	words := make([]uint64, len(b)/8+2)
	at := unsafe.Pointer(&words[0])
	copy(unsafe.Slice((*byte)(at), len(b)), b)
	return at
}

// list reads a table of addresses as the kernel does.
func list(at unsafe.Pointer, table uint32) []string {
	var all []string
	for i := uintptr(0); ; i++ {
		p := *(*unsafe.Pointer)(unsafe.Add(at, uintptr(table)+8*i))
		if p == nil {
			return all
		}
		all = append(all, unix.BytePtrToString((*byte)(p)))
	}
}

// proves A-SBX-06, A-POL-05
func TestAStartArrivesAsItWasSent(t *testing.T) {
	want := &wire.Start{Path: "/usr/bin/x", Argv: []string{"x", "", "日本語\n"}, Env: []string{"A=b", "C="}, Dir: "/w", Scripts: []int{2, 0}, Expect: &wire.Expect{Dev: 1, CtimeNsec: 8}}
	b := packet(t, want)
	at := memory(b)
	if errno := rawPrepare(at, uintptr(len(b))); errno != 0 {
		t.Fatal(errno)
	}
	h := (*wire.StartHeader)(at)
	text := func(place uint32) string { return unix.BytePtrToString((*byte)(unsafe.Add(at, place))) }
	got := &wire.Start{Path: text(h.Path), Dir: text(h.Dir), Argv: list(at, h.Argv), Env: list(at, h.Env)}
	for i := range h.Scripts {
		got.Scripts = append(got.Scripts, int(*(*uint32)(unsafe.Add(at, h.Script+4*i))))
	}
	if h.Flags&wire.Expecting != 0 {
		got.Expect = &h.Expect
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// FuzzStart reads arbitrary packets: each is refused, or a Start whose every address lies in it and is the beginning of a string
// that ends there.
func FuzzStart(f *testing.F) {
	f.Add(packet(f, &wire.Start{Path: "/x", Argv: []string{"x"}, Env: []string{"A=b"}, Dir: "/", Scripts: []int{1}}))
	f.Add(packet(f, &wire.Start{}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < int(unsafe.Sizeof(wire.StartHeader{})) || len(b) > 1<<16 {
			return // the child looks at that before
		}
		at := memory(b)
		if rawPrepare(at, uintptr(len(b))) != 0 {
			return
		}
		h := (*wire.StartHeader)(at)
		within := func(p unsafe.Pointer) bool {
			return uintptr(p) >= uintptr(at) && uintptr(p) < uintptr(at)+uintptr(h.Size)
		}
		if h.Size > uint32(len(b)) || *(*byte)(unsafe.Add(at, h.Size-1)) != 0 || uint64(h.Script)+4*uint64(h.Scripts) > uint64(h.Size) {
			t.Fatal("it leads out of the packet")
		}
		for table, count := range map[uint32]uint32{h.Argv: h.Argc, h.Env: h.Envc} {
			for i := range count {
				if p := *(*unsafe.Pointer)(unsafe.Add(at, table+8*i)); !within(p) && h.Argv != h.Env {
					t.Fatal("an argument lies elsewhere")
				}
			}
		}
	})
}

// proves A-POL-04
func TestTheExecutableOfAProcessIsFound(t *testing.T) {
	for _, pid := range []uintptr{1, 10, 4194303} {
		s := &state{}
		_, errno := rawExecutable(s, pid)
		path := string(unsafe.Slice((*byte)(unsafe.Pointer(&s.path)), len(s.path)*8))
		path = strings.TrimLeft(path[:bytes.LastIndexByte([]byte(path), 'e')+1], "\x00")
		if want := fmt.Sprintf("/proc/%d/exe", pid); path != want {
			t.Errorf("looked at %q, want %q (%v)", path, want, errno)
		}
	}
	cmd := exec.Command("/bin/cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	fd, errno := rawExecutable(&state{}, uintptr(cmd.Process.Pid))
	if errno != 0 {
		t.Fatal(errno)
	}
	f := os.NewFile(fd, "exe")
	defer f.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(f, head); err != nil || string(head) != "\x7fELF" {
		t.Errorf("read %q, %v", head, err)
	}
}

func TestAddressesOfSockets(t *testing.T) {
	for _, address := range []string{"127.0.0.1:80", "[::1]:443", "192.0.2.7:65535"} {
		at := netip.MustParseAddrPort(address)
		b := sockaddr(at)
		family, size := uint16(unix.AF_INET), unix.SizeofSockaddrInet4
		if at.Addr().Is6() {
			family, size = unix.AF_INET6, unix.SizeofSockaddrInet6
		}
		if len(b) != size || *(*uint16)(memory(b)) != family || b[2] != byte(at.Port()>>8) || b[3] != byte(at.Port()) {
			t.Errorf("%s: %x", address, b)
		}
	}
}

// proves A-POL-04
func TestPIDOneComparesEveryMember(t *testing.T) {
	f, err := os.Open("/usr/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	right := wire.Expect{Dev: uint64(st.Dev), Ino: st.Ino, Size: uint64(st.Size), Mode: uint64(st.Mode),
		MtimeSec: uint64(st.Mtim.Sec), MtimeNsec: uint64(st.Mtim.Nsec), CtimeSec: uint64(st.Ctim.Sec), CtimeNsec: uint64(st.Ctim.Nsec)}
	meets := func(flags uint32, e wire.Expect) bool {
		base := memory(make([]byte, received+int(unsafe.Sizeof(wire.StartHeader{}))))
		h := (*wire.StartHeader)(unsafe.Add(base, received))
		h.Flags, h.Expect = flags, e
		return rawMeets(base, &state{}, f.Fd())
	}
	if !meets(wire.Expecting, right) {
		t.Fatal("control: what is expected is not seen")
	}
	if meets(0, right) {
		t.Error("nothing was expected")
	}
	members := func(e *wire.Expect) []*uint64 {
		return []*uint64{&e.Dev, &e.Ino, &e.Size, &e.Mode, &e.MtimeSec, &e.MtimeNsec, &e.CtimeSec, &e.CtimeNsec}
	}
	if int(unsafe.Sizeof(right)) != 8*len(members(&right)) {
		t.Fatal("a member is not looked at here")
	}
	for i := range members(&right) {
		wrong := right
		*members(&wrong)[i]++
		if meets(wire.Expecting, wrong) {
			t.Errorf("member %d is not compared", i)
		}
	}
}
