//go:build linux

package filter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
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
	p, err := Build(Spec{})
	if err != nil {
		return nil, err
	}
	sent, err := Load(p.Bytes())
	if err != nil {
		return nil, err
	}
	return sent.Install()
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

// run starts the helper, serves its forks and returns its output. A count that fails ends the serving.
func run(t *testing.T, limit int, count error, mode string, args ...string) (out string, exceeded int, err error) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", 0, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	ours := os.NewFile(uintptr(pair[0]), "ours")
	defer ours.Close()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), helperEnv+"="+mode)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", 0, err
	}
	if err := cmd.Start(); err != nil {
		return "", 0, err
	}
	theirs.Close()
	notify, err := receive(ours)
	if err != nil {
		cmd.Wait()
		return "", 0, err
	}
	report := make(chan struct{}, 1)
	served := make(chan error, 1)
	polled := make(chan struct{}, 1)
	looks := 0
	go func() {
		served <- ServeForks(context.Background(), notify, func() ([]int, error) {
			pids := descendants(cmd.Process.Pid)
			if looks++; looks == 20 {
				polled <- struct{}{}
			}
			return pids, count
		}, limit, report)
	}()
	ended := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(ended)
		if mode != "silent" && mode != "run" {
			return
		}
		// Ended as the broker would: at an excess, or when nothing of that kind was seen for a while.
		select {
		case <-report:
			exceeded++
		case <-polled:
			if mode == "run" {
				return
			}
		case <-done:
			return
		}
		for _, pid := range descendants(cmd.Process.Pid) {
			unix.Kill(pid, unix.SIGKILL)
		}
		unix.Shutdown(int(ours.Fd()), unix.SHUT_RDWR)
	}()
	b, err := io.ReadAll(stdout)
	close(done)
	<-ended
	if err != nil {
		return "", 0, err
	}
	werr := cmd.Wait()
	if serr := <-served; serr != nil && !errors.Is(serr, count) {
		t.Errorf("serving forks: %v", serr)
	}
	return string(b), exceeded + len(report), werr
}

func receive(from *os.File) (*os.File, error) {
	conn, err := net.FileConn(from)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(make([]byte, 1), oob)
	if err != nil {
		return nil, err
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(msgs) != 1 {
		return nil, fmt.Errorf("no descriptor came: %v", err)
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), "listener"), nil
}

// descendants lists the living processes below pid, whoever their parent is now: by session would be simpler, but the
// helper makes none.
func descendants(pid int) []int {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		p, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if parent, err := strconv.Atoi(f[1]); err == nil && f[0] != "Z" && f[0] != "X" {
			children[parent] = append(children[parent], p)
		}
	}
	var all []int
	for todo := children[pid]; len(todo) > 0; todo = todo[1:] {
		all = append(all, todo[0])
		todo = append(todo, children[todo[0]]...)
	}
	return all
}

func landlockHelper(dir string) error {
	var rules []PathRule
	open := func(name string, r PathRule) error {
		fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
		r.FD = fd
		rules = append(rules, r)
		return err
	}
	err := errors.Join(
		open("/usr", PathRule{Rights: sandbox.Read | sandbox.Execute}),
		open("/dev/null", PathRule{Rights: sandbox.Read | sandbox.Write, File: true}),
		open(dir+"/r", PathRule{Rights: sandbox.Read}),
		open(dir+"/rw", PathRule{Rights: sandbox.Read | sandbox.Write}),
		open(dir+"/rwd", PathRule{Rights: sandbox.Read | sandbox.Write | sandbox.Delete}),
		open(dir+"/rwdx", PathRule{Rights: sandbox.Read | sandbox.Write | sandbox.Delete | sandbox.Execute}),
		open(dir+"/one", PathRule{Rights: sandbox.Read, File: true}),
		open(dir+"/list", PathRule{List: true}),
	)
	if err != nil {
		return err
	}
	if err := Landlock(rules); err != nil {
		return err
	}
	out := map[string]string{}
	for _, root := range []string{"r", "rw", "rwd", "rwdx", "none", "list"} {
		for _, a := range actions {
			err := a.try(filepath.Join(dir, root))
			var errno unix.Errno
			switch {
			case err == nil:
				out[root+" "+a.name] = "ok"
			case errors.As(err, &errno):
				out[root+" "+a.name] = unix.ErrnoName(errno)
			default:
				out[root+" "+a.name] = err.Error()
			}
		}
	}
	_, err = os.ReadFile(dir + "/one")
	out["one read"] = fmt.Sprint(err)
	return json.NewEncoder(os.Stdout).Encode(out)
}

var actions = []struct {
	name string
	try  func(root string) error
}{
	{"read", func(r string) error { _, err := os.ReadFile(r + "/f"); return err }},
	{"list", func(r string) error { _, err := os.ReadDir(r); return err }},
	{"create", func(r string) error { return os.WriteFile(r+"/new", nil, 0o644) }},
	{"append", func(r string) error {
		f, err := os.OpenFile(r+"/f", os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			f.Close()
		}
		return err
	}},
	{"truncate", func(r string) error { return os.Truncate(r+"/f", 0) }},
	{"mkdir", func(r string) error { return os.Mkdir(r+"/d2", 0o755) }},
	{"link", func(r string) error { return os.Link(r+"/f", r+"/d/l") }},
	{"fifo", func(r string) error { return unix.Mkfifo(r+"/p", 0o644) }},
	{"rename", func(r string) error { return os.Rename(r+"/f", r+"/g") }},
	{"exchange", func(r string) error { return unix.Renameat2(-1, r+"/x", -1, r+"/y", unix.RENAME_EXCHANGE) }},
	{"unlink", func(r string) error { return os.Remove(r + "/u") }},
	{"rmdir", func(r string) error { return unix.Rmdir(r + "/e") }},
	{"run", func(r string) error { return exec.Command(r + "/true").Run() }},
}

// proves A-SBX-01
func TestLandlockSplit(t *testing.T) {
	dir := t.TempDir()
	program, err := os.ReadFile("/usr/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"r", "rw", "rwd", "rwdx", "none", "list"} {
		for _, d := range []string{"/d", "/e"} {
			if err := os.MkdirAll(filepath.Join(dir, root, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range []string{"f", "x", "y", "u"} {
			write(t, filepath.Join(dir, root, f), []byte("x"))
		}
		write(t, filepath.Join(dir, root, "true"), program)
	}
	write(t, dir+"/one", []byte("x"))
	cmd := exec.Command("/proc/self/exe", dir)
	cmd.Env = append(os.Environ(), helperEnv+"=landlock")
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"one read": "<nil>"}
	granted := map[string]string{
		"r":    "read list",
		"rw":   "read list create append truncate mkdir link fifo",
		"rwd":  "read list create append truncate mkdir link fifo rename exchange unlink rmdir",
		"rwdx": "read list create append truncate mkdir link fifo rename exchange unlink rmdir run",
		"none": "", "list": "list",
	}
	for root, ok := range granted {
		for _, a := range actions {
			want[root+" "+a.name] = "EACCES"
			if strings.Contains(" "+ok+" ", " "+a.name+" ") {
				want[root+" "+a.name] = "ok"
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
}
