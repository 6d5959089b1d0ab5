//go:build linux

package launcher

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sekisho/internal/sandbox/linux/wire"
)

// The names of this test's binary under which it is another launcher.
const (
	dying = "dying-launcher" // dies in the middle of a launch: with a process made, which speaks, and no answer given
	slow  = "slow-launcher"  // never answers
)

// It comes before the life of a real one, which is an init function.
var _ = func() bool {
	exe, err := os.Executable()
	if name := filepath.Base(exe); err != nil || name != dying && name != slow || len(os.Args) != 1 || os.Args[0] != Marker {
		return false
	}
	conn, err := wire.OpenThread(control)
	if err != nil {
		os.Exit(1)
	}
	_, files, err := receive(conn)
	if err != nil {
		os.Exit(1)
	}
	if filepath.Base(exe) == slow {
		receive(conn) // until the server has closed its end
		os.Exit(0)
	}
	made, err := wire.OpenThread(int(files[1].Fd()))
	if err != nil || made.Send(&wire.Reply{Kind: wire.Ended}) != nil {
		os.Exit(1)
	}
	os.Exit(0)
	return true
}()

// another is a launcher of that name, with the other ends of the sockets that a request gives it.
func another(t *testing.T, name string) (*Launcher, *Request, *wire.Conn) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), name)
	if err := os.Link(self, program); err != nil {
		if err := copyFile(self, program); err != nil {
			t.Fatal(err)
		}
	}
	conn, theirs, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	l := &Launcher{Program: program}
	t.Cleanup(func() { conn.Close(); theirs.Close(); l.Close() })
	return l, &Request{Image: theirs, Socket: theirs}, conn
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}

// A launcher that dies with a request may have made the process. Another process with the same socket would be a second PID 1
// for one server's end.
//
// proves A-SBX-09, A-SBX-02
func TestOneSocketIsGivenToOneProcess(t *testing.T) {
	l, r, conn := another(t, dying)
	p, err := l.Make(t.Context(), r)
	if !errors.Is(err, ErrDied) || p != nil || errors.As(err, new(*wire.Failed)) {
		t.Errorf("got %v, %v", p, err)
	}
	conn.Deadline(time.Now().Add(time.Minute))
	var said wire.Reply
	if _, err := conn.Receive(&said); err != nil || said.Kind != wire.Ended {
		t.Errorf("control: no process was made: %+v, %v", said, err)
	}
	r.Socket.Close()
	if _, err := conn.Receive(&said); err == nil {
		t.Error("a second process was made for the same socket")
	}
}

// Who gives up costs nobody else his launch.
//
// proves A-SBX-02
func TestACancelEndsOneLaunchOnly(t *testing.T) {
	for range 20 {
		l, r, _ := another(t, slow)
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if p, err := l.Make(ctx, r); !errors.Is(err, context.Canceled) || p != nil {
			t.Fatalf("got %v, %v", p, err)
		}
		if l.conn != nil {
			t.Fatal("a launcher with a request in its hands is used again")
		}
	}
}
