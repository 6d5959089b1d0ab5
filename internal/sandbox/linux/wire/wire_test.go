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
)

// note is a message of any size.
type note struct{ Text string }

func (n *note) fields(c *codec)         { c.text(&n.Text) }
func (n *note) encode() ([]byte, error) { return encode(n), nil }
func (n *note) decode(b []byte) error   { return decode(b, n) }

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
		want := note{strings.Repeat("a", size) + "\x00\n"}
		sent := make(chan error, 1)
		go func() { sent <- a.Send(&want) }()
		var got note
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
	if err := a.Send(&note{strings.Repeat("a", MaxMessage)}); err == nil {
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
		if err := a.Send(&Launched{Failed: &Failed{Detail: strings.Repeat("x", large)}}, r, w); err != nil {
			t.Fatal(err)
		}
		r.Close()
		w.Close()
		var got Launched
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
	if err := a.Send(&Launch{Ahead: true}, many...); err != nil {
		t.Fatal(err)
	}
	files, err := b.Receive(&Launch{})
	if err != nil || len(files) != MaxFiles {
		t.Errorf("got %d files, %v", len(files), err)
	}
	CloseAll(files)
	if err := a.Send(&Launch{Ahead: true}, append(many, os.Stdin)...); err == nil {
		t.Error("more descriptors than fit were sent")
	}
}

// proves A-SBX-02
func TestDeathOfThePeerIsEOF(t *testing.T) {
	a, b := pair(t)
	if err := b.Send(&Reply{Kind: Ready}); err != nil {
		t.Fatal(err)
	}
	b.Close()
	var got Reply
	if _, err := a.Receive(&got); err != nil || got.Kind != Ready {
		t.Errorf("the last message: %+v %v", got, err)
	}
	if _, err := a.Receive(&got); !errors.Is(err, io.EOF) {
		t.Errorf("after it: %v, want io.EOF", err)
	}
	if err := a.Send(&Release{}); !errors.Is(err, io.EOF) {
		t.Errorf("sending: %v, want io.EOF", err)
	}
}

// proves A-SBX-06
func TestEveryFieldTravels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, want := range []message{
			&Launch{Ahead: rapid.Bool().Draw(t, "ahead"), Unified: rapid.Bool().Draw(t, "unified"), Tasks: rapid.Int().Draw(t, "tasks"), UIDMap: text(t), GIDMap: text(t),
				DenySetgroups: rapid.Bool().Draw(t, "deny")},
			&Launched{PID: rapid.Int().Draw(t, "pid"), Failed: &Failed{Stage(text(t)), rapid.Int().Draw(t, "errno"), text(t), text(t)}},
			&Reply{Kind(rapid.Uint32Range(uint32(Ready), uint32(Ended)).Draw(t, "kind")), rapid.Uint32().Draw(t, "a"), rapid.Uint32().Draw(t, "b"), rapid.Uint32().Draw(t, "c")},
		} {
			got := reflect.New(reflect.TypeOf(want).Elem()).Interface().(message)
			data, err := want.encode()
			if err != nil {
				t.Fatal(err)
			}
			if err := got.decode(data); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("(-want +got)\n%s", d)
			}
			if len(data) == 1 && data[0] == elsewhere {
				t.Fatal("a message looks like the sign for a memory file")
			}
			if err := got.decode(data[:len(data)-1]); err == nil {
				t.Fatal("a cut message was taken")
			}
			if err := got.decode(append(data, 0)); err == nil {
				t.Fatal("a longer message was taken")
			}
		}
	})
}

func text(t *rapid.T) string { return rapid.StringN(0, 20, -1).Draw(t, "text") }

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
	f.Add(encode(&Launch{UIDMap: "0 0 1\n", Tasks: 3}), false)
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
			mem, err := MemoryFile("packet", packet)
			if err != nil {
				t.Fatal(err)
			}
			defer mem.Close()
			oob = unix.UnixRights(int(mem.Fd()))
		}
		if err := a.raw(false, func(fd int) error { return unix.Sendmsg(fd, packet, oob, nil, 0) }); err != nil {
			t.Fatal(err)
		}
		var got Launch
		files, err := b.Receive(&got)
		if err != nil && files != nil {
			t.Error("descriptors beside an error")
		}
		CloseAll(files)
	})
}

// A Reply is read from memory as it is.
func FuzzReply(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Reply
		if r.decode(b) != nil {
			return
		}
		if again, err := r.encode(); err != nil || string(again) != string(b) {
			t.Errorf("%x became %x, %v", b, again, err)
		}
		if r.Descriptors() > 1 || r.StartStage() == "" {
			t.Errorf("%+v", r)
		}
	})
}

// proves A-SBX-06
func TestStartsThatTheKernelCannotTake(t *testing.T) {
	for want, s := range map[unix.Errno]*Start{
		unix.EINVAL: {Path: "/x", Argv: []string{"a\x00b"}},
		unix.E2BIG:  {Path: "/x", Env: []string{strings.Repeat("x", MaxStart)}},
	} {
		if _, err := s.encode(); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

// Whatever else comes on the connection of a sandbox is an end of it: more than a reply, or more descriptors than any reply has.
//
// proves A-SBX-09
func TestAReplyIsNoLongerThanItIs(t *testing.T) {
	for name, c := range map[string]struct {
		bytes, files int
		whole        bool
	}{
		"control":          {replySize, 1, true},
		"one byte more":    {replySize + 1, 1, false},
		"many bytes":       {40 << 10, 0, false},
		"many descriptors": {replySize, 200, false},
	} {
		a, theirs, err := Pair()
		if err != nil {
			t.Fatal(err)
		}
		packet := make([]byte, c.bytes)
		packet[0] = byte(Ready) // in the order of both machines
		var rights []byte
		if c.files > 0 {
			fds := make([]int, c.files)
			rights = unix.UnixRights(fds...) // copies of standard input
		}
		if err := unix.Sendmsg(int(theirs.Fd()), packet, rights, nil, 0); err != nil {
			t.Fatal(err)
		}
		var r Reply
		files, err := a.Receive(&r)
		if (err == nil) != c.whole || c.whole && (r.Kind != Ready || len(files) != c.files) {
			t.Errorf("%s: got %+v with %d descriptors, %v", name, r, len(files), err)
		}
		CloseAll(files)
		theirs.Close()
		a.Close()
	}
}
