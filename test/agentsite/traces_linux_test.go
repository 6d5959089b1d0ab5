package agentsite

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// What a server has left is found: a process with a mount of its instance. Of another instance nothing is.
func TestTracesAreFound(t *testing.T) {
	id := fmt.Sprintf("%016x", os.Getpid())
	dir := t.TempDir() + "/" + id
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", `mount -t tmpfs none "$0" && echo there && read go`, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "there\n" {
		t.Fatalf("%q, %v", line, err)
	}
	log := "level=INFO msg=started instance=" + id
	if err, want := Traces(log), fmt.Sprintf("process %d of instance %s", cmd.Process.Pid, id); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := Traces("instance=ffffffffffffffff"); err != nil {
		t.Errorf("of another instance: %v", err)
	}
	in.Close()
	if err := cmd.Wait(); err == nil { // nothing could be read
		t.Error("it had something to read")
	}
	if err := Traces(log); err != nil {
		t.Errorf("when it has ended: %v", err)
	}
	if err := Traces("a log without one"); err == nil {
		t.Error("there was nothing to look for")
	}
}

// A process whose parent has not asked for its exit code yet has left nothing.
func TestAZombieHasEnded(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "read go")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := fmt.Sprint(cmd.Process.Pid)
	if ended(pid) {
		t.Error("it runs")
	}
	in.Close()
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + pid); err != nil || !ended(pid) {
		t.Errorf("it has ended; %v", err)
	}
	cmd.Wait() // nothing could be read
}
