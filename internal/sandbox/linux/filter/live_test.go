//go:build linux

package filter

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/opcode/opcodetest"
)

// These tests put the filter on a real thread of a plain child process of the test binary, without any namespace: what
// the kernel makes of the program, not what the BPF machine says about it.

const helperEnv = "SEKISHO_FILTER_HELPER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(helperEnv); mode != "" {
		runtime.LockOSThread()
		os.Unsetenv(helperEnv)
		if err := helper(mode, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "helper:", err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func helper(mode string, args []string) error {
	if mode == "rights" {
		return rightsHelper(args[0], args[1], args[2], args[3])
	}
	if mode == "landlock" {
		return landlockHelper(args[0])
	}
	listener, err := installed()
	if err != nil {
		return err
	}
	// The listener goes to the test, which serves it; this thread must not hold it.
	if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(int(listener.Fd())), nil, 0); err != nil {
		return err
	}
	listener.Close()
	switch mode {
	case "calls":
		return json.NewEncoder(os.Stdout).Encode(attempts())
	case "forks":
		n, _ := strconv.Atoi(args[0])
		return forksHelper(n)
	case "silent":
		n, _ := strconv.Atoi(args[0])
		return silentHelper(n)
	case "run":
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	}
	return errors.New("no such mode: " + mode)
}

func installed() (*os.File, error) {
	p, err := Build(Spec{Network: true})
	if err != nil {
		return nil, err
	}
	b := &opcode.Builder{}
	noNewPrivileges(b)
	notify := p.Install(b)
	got, err := opcodetest.Run(b, CallName, notify)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(got[0]), "listener"), nil
}

func noNewPrivileges(b *opcode.Builder) {
	b.Call(unix.SYS_PRCTL, opcode.Int(unix.PR_SET_NO_NEW_PRIVS), opcode.Int(1), opcode.Int(0), opcode.Int(0), opcode.Int(0))
}

func attempts() map[string]string {
	self := uintptr(unix.Getpid())
	var buf [256]byte
	ptr := uintptr(unsafe.Pointer(&buf))
	name := func(e unix.Errno) string {
		if e == 0 {
			return "ok"
		}
		return unix.ErrnoName(e)
	}
	out := map[string]string{}
	for what, c := range map[string][5]uintptr{
		"unshare":            {unix.SYS_UNSHARE, unix.CLONE_NEWUSER},
		"clone newuser":      {unix.SYS_CLONE, unix.CLONE_NEWUSER | uintptr(unix.SIGCHLD)},
		"clone3":             {unix.SYS_CLONE3, 0, 0},
		"io_uring":           {unix.SYS_IO_URING_SETUP, 1, ptr},
		"tiocsti high":       {unix.SYS_IOCTL, 0, 0x100005412, ptr},
		"unix socket":        {unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0},
		"datagram pair":      {unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_DGRAM, 0, ptr},
		"stream pair":        {unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, ptr},
		"tgkill 1":           {unix.SYS_TGKILL, 1, 1, 0},
		"kill self":          {unix.SYS_KILL, self, 0},
		"setns":              {unix.SYS_SETNS, 0, 0},
		"core limit":         {unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, ptr, 0},
		"file limit read":    {unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, 0, ptr},
		"no such call":       {5000},
		"getrandom":          {unix.SYS_GETRANDOM, ptr, 8, 0},
		"own listener":       {unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, ptr},
		"ptrace attach":      {unix.SYS_PTRACE, unix.PTRACE_ATTACH, 1},
		"open by handle":     {unix.SYS_OPEN_BY_HANDLE_AT, 0, ptr, 0},
		"priority of pid 1":  {unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 1, 5},
		"priority of itself": {unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, 5},
	} {
		_, _, e := unix.RawSyscall6(c[0], c[1], c[2], c[3], c[4], 0, 0)
		out[what] = name(e)
	}
	return out
}

// proves A-SBX-04, A-SBX-09
func TestInstalledFilter(t *testing.T) {
	out, _, err := run(t, 8, nil, "calls")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	want := map[string]string{
		"unshare": "EPERM", "clone newuser": "EPERM", "clone3": "ENOSYS", "io_uring": "EPERM", "tiocsti high": "EPERM",
		"unix socket": "EPERM", "datagram pair": "EPERM", "stream pair": "ok", "tgkill 1": "EPERM", "kill self": "ok",
		"setns": "EPERM", "core limit": "EINVAL", "file limit read": "ok", "no such call": "ENOSYS", "getrandom": "ok",
		"own listener": "EPERM", "ptrace attach": "EPERM", "open by handle": "EPERM", "priority of pid 1": "EPERM", "priority of itself": "ok",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// forksHelper starts n processes that live until this one ends and prints how each start went.
func forksHelper(n int) error {
	for range n {
		cmd := exec.Command("/bin/cat")
		if _, err := cmd.StdinPipe(); err != nil {
			return err
		}
		err := cmd.Start()
		switch {
		case err == nil:
			fmt.Println("started")
		case errors.Is(err, unix.EAGAIN):
			fmt.Println("EAGAIN")
		default:
			fmt.Println(err)
		}
	}
	return nil
}

// proves A-SBX-02
func TestForksStopAtTheLimit(t *testing.T) {
	for _, tt := range []struct {
		limit, n int
		want     string
		exceeded int
	}{
		{3, 3, "started started started", 0},
		{3, 5, "started started started EAGAIN EAGAIN", 1},
	} {
		out, exceeded, err := run(t, tt.limit, nil, "forks", strconv.Itoa(tt.n))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(out), " "); got != tt.want {
			t.Errorf("limit %d, %d forks: got %q, want %q", tt.limit, tt.n, got, tt.want)
		}
		if exceeded != tt.exceeded {
			t.Errorf("limit %d, %d forks: reported %d times, want %d", tt.limit, tt.n, exceeded, tt.exceeded)
		}
	}
}

// silentHelper starts one process that asks, then n by plain forks whose children make no other system call than to
// wait for their death. It ends when its own copy of the socket says so.
func silentHelper(n int) error {
	if err := forksHelper(1); err != nil {
		return err
	}
	for range n {
		pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(plainFork), 0, 0, 0, 0, 0)
		if e != 0 {
			return e
		}
		if pid == 0 {
			for {
				unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		}
	}
	_, err := unix.Read(3, make([]byte, 1)) // until the test closes its end
	return err
}

// proves A-SBX-02
func TestForksThatDoNotAskAreCounted(t *testing.T) {
	for _, tt := range []struct {
		name    string
		mode    string
		args    []string
		limit   int
		reports int
	}{
		{"glibc's fork up to the limit", "run", []string{"/bin/sh", "-c", "read x | read x | read x"}, 4, 0},
		{"glibc's fork past the limit", "run", []string{"/bin/sh", "-c", "sleep 9 | sleep 9 | sleep 9 | sleep 9"}, 4, 1},
		{"children that never speak", "silent", []string{"3"}, 3, 1},
		{"children that never speak, within the limit", "silent", []string{"2"}, 3, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, exceeded, _ := run(t, tt.limit, nil, tt.mode, tt.args...)
			if exceeded != tt.reports {
				t.Errorf("reported %d times, want %d", exceeded, tt.reports)
			}
		})
	}
}

// proves A-SBX-02
//
// Children that come and go are not mistaken for children that exist: far more forks than the limit, never more than
// four at once.
func TestShortLivedChildrenDoNotAddUp(t *testing.T) {
	script := `for i in $(seq 30); do /bin/true; (/bin/true); x=$(/bin/echo $i | /bin/cat); done; echo $x`
	out, exceeded, err := run(t, 6, nil, "run", "/bin/sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(out); got != "30" || exceeded != 0 {
		t.Errorf("got %q, %d reports; want 30 and none", got, exceeded)
	}
}

// proves A-SBX-02
func TestForksFailWhenNobodyServes(t *testing.T) {
	out, _, err := run(t, 9, errors.New("the group is gone"), "forks", "1")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out, "started") || !strings.Contains(out, "function not implemented") {
		t.Errorf("got %q, want a fork that fails with ENOSYS", out)
	}
}
