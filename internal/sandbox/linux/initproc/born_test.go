//go:build linux

package initproc

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/opcode"
)

// proves A-SBX-02
func TestBornInAVersion2Group(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not shown here: only root may mount the hierarchy")
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "cgroup2", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	group := fmt.Sprintf("%s/sekisho-test-%d", dir, os.Getpid())
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(group)
	fd, err := unix.Open(group, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	b := opening()
	// It was born with both ends of the socket.
	b.Call(unix.SYS_CLOSE_RANGE, opcode.Int(socket+1), opcode.Int(^uint32(0)), opcode.Int(0))
	b.Call(unix.SYS_RECVFROM, opcode.Int(socket), opcode.At(b.Reserve(8)), opcode.Int(8), opcode.Int(0), opcode.Int(0), opcode.Int(0))
	b.Call(unix.SYS_EXIT_GROUP, opcode.Int(7))
	conn, pid := forkedWith(t, b, unix.CLONE_NEWUSER|unix.CLONE_NEWPID, Group{Unified: fd})
	inside, err := os.ReadFile(group + "/cgroup.procs")
	if want := fmt.Sprintln(pid); err != nil || string(inside) != want {
		t.Errorf("inside are %q, %v, want %q", inside, err, want)
	}
	conn.Close()
	if status := waited(t, pid); status.ExitStatus() != 7 {
		t.Errorf("ended with %#x", status)
	}
}

// Who makes PID 1 inside groups of version 1 leaves nothing of itself there, and says why when it fails.
//
// proves A-SBX-02, A-ERR-01
func TestBornInAVersion1Group(t *testing.T) {
	dir := version1(t)
	if os.Geteuid() != 0 || dir == "" {
		t.Logf("not shown here: it needs root and a hierarchy of version 1 (%q)", dir)
		return
	}
	group := fmt.Sprintf("%s/sekisho-test-%d", dir, os.Getpid())
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(group)
	fd, err := unix.Open(group+"/tasks", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	inside := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(group + "/tasks"); err != nil || string(got) != want {
			t.Errorf("inside are %q, %v, want %q", got, err, want)
		}
	}
	into := Group{Unified: -1, Tasks: []int{fd}}
	b := opening()
	b.Call(unix.SYS_CLOSE_RANGE, opcode.Int(socket+1), opcode.Int(^uint32(0)), opcode.Int(0))
	b.Call(unix.SYS_RECVFROM, opcode.Int(socket), opcode.At(b.Reserve(8)), opcode.Int(8), opcode.Int(0), opcode.Int(0), opcode.Int(0))
	b.Call(unix.SYS_EXIT_GROUP, opcode.Int(7))
	conn, pid := forkedWith(t, b, unix.CLONE_NEWUSER|unix.CLONE_NEWPID, into)
	inside(fmt.Sprintln(pid))
	conn.Close()
	if status := waited(t, pid); status.ExitStatus() != 7 { // so it is a child of this process
		t.Errorf("ended with %#x", status)
	}

	block := mapped(t, opening())
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The kernel lets nobody share his directory with another user namespace.
	if pid, _, err := fork(block, unix.CLONE_NEWUSER|unix.CLONE_FS, into); err != unix.EINVAL {
		t.Errorf("an impossible process: %d, %v", pid, err)
	}
	if pid, _, err := fork(block, 0, Group{Unified: -1, Tasks: make([]int, MostTasks+1)}); err != unix.E2BIG {
		t.Errorf("too many groups: %d, %v", pid, err)
	}
	inside("")
}

// version1 is where a hierarchy of version 1 is mounted whose groups take any process, or "".
func version1(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); f[2] == "cgroup" && slices.Contains(strings.Split(f[3], ","), "pids") {
			return f[1]
		}
	}
	return ""
}
