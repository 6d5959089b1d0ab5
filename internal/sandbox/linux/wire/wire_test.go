//go:build linux

package wire

import (
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"sekisho/internal/sandbox"
)

func pair(t testing.TB) (*Conn, *Conn) {
	t.Helper()
	a, child, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.FcntlInt(child.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	child.Close()
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(fd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// proves A-SBX-06
func TestMessagesOfEverySizeArrive(t *testing.T) {
	for _, size := range []int{0, 1, inline - 100, inline, inline + 1, 4 << 20} {
		a, b := pair(t)
		want := Request{Start: &Start{Path: "/x", Argv: []string{strings.Repeat("a", size), "\x00\n"}}}
		sent := make(chan error, 1)
		go func() { sent <- a.Send(&want) }()
		var got Request
		files, err := b.Receive(&got)
		if err != nil || len(files) != 0 {
			t.Fatalf("%d bytes: %v, %d files", size, err, len(files))
		}
		if err := <-sent; err != nil {
			t.Fatalf("%d bytes: sending: %v", size, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%d bytes: differs", size)
		}
	}
	a, _ := pair(t)
	if err := a.Send(&Request{Start: &Start{Path: strings.Repeat("a", MaxMessage)}}); err == nil {
		t.Error("a message above the limit was sent")
	}
}

// proves A-SBX-06, A-SBX-03
func TestDescriptorsArriveClosedOnExec(t *testing.T) {
	a, b := pair(t)
	for _, large := range []int{0, inline} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Send(&Reply{Failed: &Failed{Detail: strings.Repeat("x", large)}}, r, w); err != nil {
			t.Fatal(err)
		}
		r.Close()
		w.Close()
		var got Reply
		files, err := b.Receive(&got)
		if err != nil || len(files) != 2 {
			t.Fatalf("got %d files, %v", len(files), err)
		}
		for _, f := range files {
			flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0)
			if err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("flags %#x %v", flags, err)
			}
		}
		go files[1].WriteString("through")
		text := make([]byte, 7)
		if _, err := io.ReadFull(files[0], text); err != nil || string(text) != "through" {
			t.Errorf("read %q %v", text, err)
		}
		CloseAll(files)
	}
	many := make([]*os.File, MaxFiles)
	for i := range many {
		many[i] = os.Stdin
	}
	if err := a.Send(&Request{Files: true}, many...); err != nil {
		t.Fatal(err)
	}
	files, err := b.Receive(&Request{})
	if err != nil || len(files) != MaxFiles {
		t.Errorf("got %d files, %v", len(files), err)
	}
	CloseAll(files)
	if err := a.Send(&Request{Files: true}, append(many, os.Stdin)...); err == nil {
		t.Error("more descriptors than fit were sent")
	}
}

// proves A-SBX-02
func TestDeathOfThePeerIsEOF(t *testing.T) {
	a, b := pair(t)
	if err := b.Send(&Reply{Ready: true}); err != nil {
		t.Fatal(err)
	}
	b.Close()
	var got Reply
	if _, err := a.Receive(&got); err != nil || !got.Ready {
		t.Errorf("the last message: %+v %v", got, err)
	}
	if _, err := a.Receive(&got); !errors.Is(err, io.EOF) {
		t.Errorf("after it: %v, want io.EOF", err)
	}
	if err := a.Send(&Request{}); !errors.Is(err, io.EOF) {
		t.Errorf("sending: %v, want io.EOF", err)
	}
}

// proves A-SBX-06
func TestEveryFieldTravels(t *testing.T) {
	bind := rapid.Custom(func(t *rapid.T) Bind {
		return Bind{Target: text(t), Source: text(t), FD: rapid.Int().Draw(t, "fd"), File: rapid.Bool().Draw(t, "file"), Attr: rapid.Uint64().Draw(t, "attr"),
			ID: sandbox.FileID{Dev: rapid.Uint64().Draw(t, "dev"), Ino: rapid.Uint64().Draw(t, "ino")}, Tmpfs: rapid.Int64().Draw(t, "tmpfs"),
			Make: rapid.Bool().Draw(t, "make"), Proc: rapid.Bool().Draw(t, "proc"), Copy: rapid.Bool().Draw(t, "copy")}
	})
	listen := rapid.Custom(func(t *rapid.T) Listen { return Listen{[]byte(text(t)), rapid.Uint32().Draw(t, "port")} })
	rule := rapid.Custom(func(t *rapid.T) Rule {
		return Rule{text(t), sandbox.Rights(rapid.IntRange(0, 15).Draw(t, "rights")), rapid.Bool().Draw(t, "file")}
	})
	rapid.Check(t, func(t *rapid.T) {
		for _, want := range []message{
			&Request{Files: rapid.Bool().Draw(t, "files"), Release: &Release{Run: rapid.Bool().Draw(t, "run")}},
			&Request{Start: &Start{Path: text(t), Argv: texts(t), Env: texts(t), Dir: text(t)}},
			&Request{Setup: &Setup{UID: rapid.Int().Draw(t, "uid"), GID: rapid.Int().Draw(t, "gid"), Become: rapid.Bool().Draw(t, "become"), Hostname: text(t),
				Filter: []byte(text(t)), Rules: some(t, rule), Network: &Network{Listen: some(t, listen), OwnFirst: rapid.Uint32().Draw(t, "first"), OwnLast: rapid.Uint32().Draw(t, "last")},
				Layout: Layout{Binds: some(t, bind), Links: []Link{{text(t), text(t)}}, Files: []File{{text(t), text(t)}}}}},
			&Reply{Ready: rapid.Bool().Draw(t, "ready"), Listening: some(t, rapid.Uint32()), Stopped: rapid.Bool().Draw(t, "stopped"), Ended: &Ended{rapid.Uint32().Draw(t, "status")},
				Failed: &Failed{Stage(text(t)), rapid.Int().Draw(t, "errno"), text(t), text(t)}},
		} {
			got := reflect.New(reflect.TypeOf(want).Elem()).Interface().(message)
			data := encode(want)
			if err := decode(data, got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("(-want +got)\n%s", d)
			}
			if len(data) == 1 && data[0] == elsewhere {
				t.Fatal("a message looks like the sign for a memory file")
			}
			if err := decode(data[:len(data)-1], got); err == nil {
				t.Fatal("a cut message was taken")
			}
			if err := decode(append(data, 0), got); err == nil {
				t.Fatal("a longer message was taken")
			}
		}
	})
}

func text(t *rapid.T) string { return rapid.StringN(0, 20, -1).Draw(t, "text") }

func texts(t *rapid.T) []string { return some(t, rapid.StringN(0, 20, -1)) }

func some[T any](t *rapid.T, of *rapid.Generator[T]) []T {
	return append([]T(nil), rapid.SliceOfN(of, 0, 5).Draw(t, "some")...)
}

// proves A-SBX-06
func TestOnlyPacketSocketsAreOpened(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[1])
	if _, err := Open(fds[0]); err == nil {
		t.Error("a stream socket was accepted")
	}
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	file.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(fd); err == nil {
		t.Error("a device was accepted")
	}
}

// FuzzReceive sends arbitrary packets: each is a message or an error, never a crash, and no descriptor is lost.
func FuzzReceive(f *testing.F) {
	f.Add(encode(&Request{Start: &Start{Path: "/x"}}), false)
	f.Add([]byte{elsewhere}, true)
	f.Add([]byte{elsewhere}, false)
	f.Add([]byte{0}, true)
	f.Fuzz(func(t *testing.T, packet []byte, file bool) {
		if len(packet) == 0 || len(packet) > inline {
			return
		}
		a, b := pair(t)
		var oob []byte
		if file {
			mem, err := memoryFile(packet)
			if err != nil {
				t.Fatal(err)
			}
			defer mem.Close()
			oob = unix.UnixRights(int(mem.Fd()))
		}
		if err := a.raw(false, func(fd int) error { return unix.Sendmsg(fd, packet, oob, nil, 0) }); err != nil {
			t.Fatal(err)
		}
		var got Request
		files, err := b.Receive(&got)
		if err != nil && files != nil {
			t.Error("descriptors beside an error")
		}
		CloseAll(files)
	})
}
