//go:build linux

package initproc

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// A run that was expected and has ended by the time that PID 1 would tell of it is told of once; one that goes on is told of before
// it ends. On a busy machine any single one may take that long.
//
// proves A-SBX-02, A-POL-04
func TestWhatEndsAtOnceIsToldOfOnce(t *testing.T) {
	conn, pid := initProcess(t)
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
