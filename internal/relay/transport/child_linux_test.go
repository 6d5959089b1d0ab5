package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/proctree"
)

// Parts that the test program plays when its environment says so.
// realPart is set where the real server is tested.
// litter leaves processes behind that belong to no group of ours, one of them an orphan of the child.
// start runs a part as a supervised child.
// identify gives each process an identity, so that a reused number cannot pass for it.
// gone waits for the end of each process.
// proves R-CONN-01, R-CONN-10
func TestFramesGoThroughAChild(t *testing.T) {
	conn, child := start(t, echoIs, ChildOptions{})
	for _, frame := range []string{`{"id":0}`, `{"x":"` + strings.Repeat("é", 200_000) + `"}`, `{}`} {
		written := make(chan error, 1)
		go func() {
			started, err := conn.Write(t.Context(), []byte(frame))
			if err == nil && !started {
				err = errors.New("a written frame was not started")
			}
			written <- err
		}()
		got, err := conn.Read(t.Context())
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		if err != nil || string(got) != frame {
			t.Fatalf("got %d bytes, %v; want %d", len(got), err, len(frame))
		}
	}
	if conn.Kind() != Stdio || child.PID() <= 0 {
		t.Errorf("kind %v, pid %d", conn.Kind(), child.PID())
	}
	if err := conn.Close(ByUser); err != nil {
		t.Fatal(err)
	}
	if exit, ok := child.Exit(); !ok || exit.Code != 0 || exit.Signal != "" {
		t.Errorf("a child that reads the end of its input ended with %+v, %v", exit, ok)
	}
	if started, err := conn.Write(t.Context(), []byte(`{}`)); started || ClassOf(err) != Cancelled {
		t.Errorf("write after close: started %v, %v", started, err)
	}
	if _, err := conn.Read(t.Context()); ClassOf(err) != Cancelled {
		t.Errorf("read after close: %v", err)
	}
}

// report 37
// proves R-CONN-10
func TestNothingIsLeftWhenTheWorkerIsKilled(t *testing.T) {
	for _, part := range []string{littering, stubborn} {
		t.Run(part, func(t *testing.T) {
			worker := exec.Command(self())
			worker.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // if the test itself is cut short
			worker.Env = append(os.Environ(), partVar+"="+workerIs, partHold+"="+part, "GORACE=atexit_sleep_ms=0")
			out, err := worker.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := worker.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			fields := strings.Fields(line)
			if err != nil || len(fields) != 4 || fields[3] != "<nil>" {
				worker.Process.Kill()
				t.Fatalf("the worker says %q, %v", line, err)
			}
			pids := []int{}
			for _, f := range append(strings.Split(fields[2], ","), fields[0]) {
				pid, err := strconv.Atoi(f)
				if err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				pids = append(pids, pid)
			}
			ids := identify(t, pids...)
			descendants, err := proctree.Descendants(worker.Process.Pid)
			if err != nil || len(descendants) < len(ids)+1 {
				t.Fatalf("the worker has %d descendants, %v", len(descendants), err)
			}
			worker.Process.Kill() // SIGKILL: nothing of the worker runs after this
			worker.Wait()
			gone(t, append(ids, descendants...))
		})
	}
}

// proves R-CONN-10
func TestNothingIsLeftAfterCloseOrExit(t *testing.T) {
	conn, child := start(t, stubborn, ChildOptions{Grace: 50 * time.Millisecond})
	line, err := conn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids := identify(t, child.PID())
	for pid := range strings.SplitSeq(string(line), ",") {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, identify(t, n)...)
	}
	if err := conn.Close(ByUser); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids { // already, not soon
		if now, err := proctree.Identify(id.PID); err == nil && now == id {
			t.Errorf("process %v is left after Close", id)
			proctree.Kill(id)
		}
	}
	if exit, ok := child.Exit(); !ok || exit.Signal != "killed" || exit.Code != -1 {
		t.Errorf("ended with %+v, %v", exit, ok)
	}
}

// proves R-CONN-10
func TestAKilledSupervisorTakesTheChildWithIt(t *testing.T) {
	conn, child := start(t, echoIs, ChildOptions{})
	id := identify(t, child.PID())
	if err := conn.(*stdioConn).sup.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone(t, id)
	_, err := conn.Read(t.Context())
	if ClassOf(err) != Transient || fault.CodeOf(err) != fault.ConnectionLost {
		t.Errorf("read: %v", err)
	}
	if exit, ok := child.Exit(); !ok || exit.Code != -1 {
		t.Errorf("exit %+v, %v", exit, ok)
	}
}

// proves R-CONN-09, R-REC-07
func TestEveryFrameBeforeTheEndIsRead(t *testing.T) {
	for code, want := range map[int]string{0: "status 0", 3: "status 3", -1: "signal killed"} {
		say := strings.Repeat("{\"n\":1}\n", 5_000) + "\r\n{\"last\":true}\n{\"cut"
		conn, child := start(t, "talker", ChildOptions{}, "TRANSPORT_TEST_SAY="+say, "TRANSPORT_TEST_CODE="+strconv.Itoa(code))
		<-child.Exited()
		var last []byte
		n := 0
		for {
			frame, err := conn.Read(t.Context())
			if err != nil {
				e := fault.As(err)
				if ClassOf(err) != Transient || e.Variant != "child_exited" || e.Args["status"] != want {
					t.Errorf("code %d: ended with %v (%v)", code, err, e.Args)
				}
				break
			}
			last = frame
			n++
		}
		if n != 5_001 || string(last) != `{"last":true}` {
			t.Errorf("code %d: %d frames, last %q", code, n, last)
		}
		// Its input has no reader now: not one byte can be handed over, and that is proof.
		if started, err := conn.Write(t.Context(), []byte(`{}`)); started || ClassOf(err) != Transient {
			t.Errorf("write to an ended child: started %v, %v", started, err)
		}
		conn.Close(ByUser)
		if exit, _ := child.Exit(); exit.Stderr != "last words" {
			t.Errorf("last words %q", exit.Stderr)
		}
	}
}

// Whoever writes to a child that is just ending hears of its end, not of a broken pipe.
//
// proves R-CONN-06, R-CONN-09
func TestAWriteTellsHowTheChildEnded(t *testing.T) {
	for range 20 {
		conn, _ := start(t, "talker", ChildOptions{}, "TRANSPORT_TEST_SAY=", "TRANSPORT_TEST_CODE=3")
		var err error
		for err == nil {
			_, err = conn.Write(t.Context(), []byte("{}"))
		}
		if e := fault.As(err); e == nil || e.Variant != "child_exited" || e.Args["status"] != "status 3" {
			t.Fatalf("told as %v", err)
		}
		conn.Close(ByUser)
	}
}

// proves R-CONN-09
func TestChildFrameLimits(t *testing.T) {
	conn, _ := start(t, echoIs, ChildOptions{Limits: Limits{Inbound: 1000, Outbound: 5000}})
	for _, frame := range []string{strings.Repeat("x", 5001), "a\nb", ""} {
		if started, err := conn.Write(t.Context(), []byte(frame)); started || ClassOf(err) != Config {
			t.Errorf("a frame of %d bytes: started %v, %v", len(frame), started, err)
		}
	}
	for _, frame := range []string{strings.Repeat("y", 1000), strings.Repeat("z", 1001)} { // still usable
		if _, err := conn.Write(t.Context(), []byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	largestOnly(t, conn)
}

// proves R-REC-07
func TestAPartialWriteCountsAsSent(t *testing.T) {
	conn, _ := start(t, "deaf", ChildOptions{Timing: Timing{Write: 2 * time.Second}, Grace: 50 * time.Millisecond})
	frame := bytes.Repeat([]byte("x"), 1<<20) // more than a pipe holds
	started, err := conn.Write(t.Context(), frame)
	if !started || ClassOf(err) != Transient || fault.As(err).Variant != "silent" {
		t.Errorf("started %v, %v", started, err)
	}
	if started, err := conn.Write(t.Context(), []byte("{}")); started || err == nil {
		t.Errorf("the next one: started %v, %v", started, err)
	}
}

// proves R-REC-07
func TestWaitingForATurnCanBeGivenUp(t *testing.T) {
	conn, _ := start(t, "deaf", ChildOptions{Timing: Timing{Write: time.Minute}, Grace: 50 * time.Millisecond})
	first := make(chan error, 1)
	go func() {
		_, err := conn.Write(context.Background(), bytes.Repeat([]byte("x"), 1<<20))
		first <- err
	}()
	for !conn.(*stdioConn).turn.busy() {
		runtime.Gosched()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if started, err := conn.Write(ctx, []byte("{}")); started || ClassOf(err) != Cancelled {
		t.Errorf("started %v, %v", started, err)
	}
	second := make(chan bool, 1)
	go func() {
		started, _ := conn.Write(context.Background(), []byte("{}"))
		second <- started
	}()
	conn.Close(ByUser)
	if err := <-first; ClassOf(err) != Cancelled {
		t.Errorf("the write that Close met: %v", err)
	}
	if <-second {
		t.Error("a frame whose turn never came counts as started")
	}
}

func TestAnEndedContextEndsTheConnection(t *testing.T) {
	conn, _ := start(t, echoIs, ChildOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := conn.Read(ctx)
		result <- err
	}()
	cancel()
	if err := <-result; ClassOf(err) != Cancelled {
		t.Errorf("read: %v", err)
	}
	if started, err := conn.Write(t.Context(), []byte("{}")); started || ClassOf(err) != Cancelled {
		t.Errorf("write: %v, %v", started, err)
	}
}

func TestStartFailures(t *testing.T) {
	dir := t.TempDir()
	notProgram := filepath.Join(dir, "data")
	if err := os.WriteFile(notProgram, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string]ChildOptions{
		"relative":       {Program: "codex"},
		"missing":        {Program: filepath.Join(dir, "none")},
		"not executable": {Program: notProgram},
		"no directory":   {Program: self(), Dir: filepath.Join(dir, "none")},
		"NUL":            {Program: self(), Args: []string{"a\x00b"}},
		"no supervisor":  {Program: self(), Supervisor: "/bin/true"},
	} {
		_, _, err := StartChild(t.Context(), opts)
		if ClassOf(err) != Config || fault.CodeOf(err) != fault.ConnectionChildStart {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := StartChild(ctx, ChildOptions{Program: self()}); ClassOf(err) != Cancelled {
		t.Errorf("ended context: %v", err)
	}
}

// The child must not hold the supervisor's pipes: it would keep the worker's death from being seen.
func TestTheChildInheritsThreeDescriptors(t *testing.T) {
	conn, child := start(t, echoIs, ChildOptions{})
	names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", child.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", child.PID(), n.Name()))
		if fd, _ := strconv.Atoi(n.Name()); fd > 2 && err == nil && strings.HasPrefix(target, "pipe:") {
			ours, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", conn.(*stdioConn).sup.control.Fd()))
			if err == nil && ours == target {
				t.Errorf("descriptor %d is the supervisor's %s", fd, target)
			}
		}
	}
	pgid, err := unix.Getpgid(child.PID())
	if err != nil || pgid != child.PID() {
		t.Errorf("process group %d, %v; want its own", pgid, err)
	}
}

// proves R-LOG-01
func TestStandardErrorStaysOutOfTheLog(t *testing.T) {
	var log bytes.Buffer
	conn, child := start(t, "talker", ChildOptions{Log: textLog(&log)}, "TRANSPORT_TEST_SAY=", "TRANSPORT_TEST_CODE=1")
	<-child.Exited()
	conn.Close(ByUser)
	if strings.Contains(log.String(), "last words") || !strings.Contains(log.String(), "stderr_lines=1") {
		t.Errorf("log:\n%s", log.String())
	}
}

func TestTailIsBounded(t *testing.T) {
	tl := &tail{}
	tl.drain(strings.NewReader(strings.Repeat("x", 1<<20) + "\n" + strings.Repeat("a line\x1b[31m\n", 10_000) + "no end"))
	got := tl.String()
	if len(got) > maxTail || !strings.HasSuffix(got, `a line\x1b[31m`+"\nno end") {
		t.Errorf("%d bytes, end %q", len(got), got[max(0, len(got)-40):])
	}
	if tl.count() != 10_002 {
		t.Errorf("%d lines", tl.count())
	}
}

func TestReportsSurviveTheirWire(t *testing.T) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(report{Exited: true, Code: -1, Signal: "killed"}); err != nil {
		t.Fatal(err)
	}
	got, err := nextReport(bufio.NewReader(&b))
	if err != nil || !got.Exited || got.Code != -1 || got.Signal != "killed" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := nextReport(bufio.NewReader(&b)); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}
