package transport

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sekisho/internal/proctree"
)

// family is a child that ignores TERM, with an orphan in a session of its own that holds its standard error.
func family(t *testing.T) (*stdioConn, []proctree.ID) {
	t.Helper()
	conn, child := start(t, stubborn, ChildOptions{Grace: 100 * time.Millisecond})
	line, err := conn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pids := []int{child.PID()}
	for pid := range strings.SplitSeq(string(line), ",") {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, n)
	}
	ids := identify(t, pids...)
	t.Cleanup(func() {
		for _, id := range ids {
			proctree.Kill(id)
		}
	})
	return conn.(*stdioConn), ids
}

// closes requires that Close returns in time, and that nothing is left then.
func closes(t *testing.T, c *stdioConn, ids []proctree.ID) {
	t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- c.Close(ByUser) }()
	select {
	case err := <-closed:
		if err != nil {
			t.Errorf("close: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("Close still waits")
		for _, id := range ids {
			proctree.Kill(id)
		}
		c.sup.cmd.Process.Kill()
		<-closed
	}
	for _, id := range ids {
		if now, err := proctree.Identify(id.PID); err == nil && now == id {
			t.Errorf("process %v is left", id)
		}
	}
}

// proves R-CONN-10
func TestNothingIsLeftWhenTheSupervisorIsKilled(t *testing.T) {
	c, ids := family(t)
	c.sup.cmd.Process.Kill()
	<-c.child.Exited()
	closes(t, c, ids)
}

// proves R-CONN-10
func TestNothingIsLeftWhenTheSupervisorIsStopped(t *testing.T) {
	c, ids := family(t)
	c.sup.cmd.Process.Signal(syscall.SIGSTOP)
	closes(t, c, ids)
}

// proves R-CONN-10
func TestNothingIsLeftWhenTheSupervisorStaysStopped(t *testing.T) {
	c, ids := family(t)
	c.sup.limit = 300 * time.Millisecond
	enough := make(chan struct{})
	held := make(chan struct{})
	go func() {
		defer close(held)
		for again := time.Tick(time.Millisecond); ; <-again {
			select {
			case <-enough:
				return
			default:
				c.sup.cmd.Process.Signal(syscall.SIGSTOP)
			}
		}
	}()
	closes(t, c, ids)
	close(enough)
	<-held
}

// What this process started otherwise is not the child's, and not ours to end.
//
// proves R-CONN-10
func TestOtherOrphansAreLeftAlone(t *testing.T) {
	c, ids := family(t)
	name := filepath.Join(t.TempDir(), "pid")
	if out, err := exec.Command("/bin/sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $! >"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	other := identify(t, pid)[0]
	c.sup.cmd.Process.Kill()
	closes(t, c, ids)
	if err := proctree.Kill(other); err != nil {
		t.Errorf("the other process: %v", err)
	}
	syscall.Wait4(pid, nil, 0, nil) // it had come to us
}
