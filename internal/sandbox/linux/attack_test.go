//go:build linux && !cgo

package linux_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox/linux/cgroup"
)

// answer is what the payload says of itself; tests look at the host as well.
type answer struct {
	OK     bool   `json:"ok"`
	Errno  string `json:"errno"`
	Detail string `json:"detail"`
}

func (r result) answer(t *testing.T) answer {
	t.Helper()
	var a answer
	if r.fault != nil {
		t.Fatalf("the payload did not run: %v", r.fault)
	}
	if err := json.Unmarshal([]byte(r.out), &a); err != nil {
		t.Fatalf("the payload said %q, %q: %v", r.out, r.err, err)
	}
	return a
}

// armed is a sandbox with the payload in its workspace.
func armed(t *testing.T) (*fixture, func(args ...string) answer) {
	t.Helper()
	f := declare(t)
	f.policy.Resources.ProcessLimit = 4
	program := into(t, f.W, payload(t))
	f.open()
	return f, func(args ...string) answer { return f.run(f.command(program, args...)).answer(t) }
}

// victim is a plain process that controls may hurt.
func victim(t *testing.T) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(payload(t), "sleep", "60")
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, strconv.Itoa(cmd.Process.Pid)
}

// proves A-SBX-09
func TestThreadSignalsDoNotReachProcessOne(t *testing.T) {
	f, try := armed(t)
	before := inits(t)
	for _, sig := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGSEGV, syscall.SIGSTOP, syscall.SIGKILL, syscall.SIGTERM, syscall.SIGURG, 33} {
		for _, how := range []string{"tgkill", "tkill", "killtid"} {
			if a := try(how, "1", fmt.Sprint(int(sig)), "64"); a.OK {
				t.Errorf("%s with %d hit %s", how, sig, a.Detail)
			}
		}
	}
	if a := try("kill", "1", "9"); a.OK {
		t.Error("kill reached PID 1")
	}
	f.sh("true").ok(t)
	if after := inits(t); len(after) != 1 || after[0] != before[0] {
		t.Errorf("PID 1 changed: %v, before %v", after, before)
	}
	cmd, pid := victim(t)
	if a := unconfined(t, f.W, payload(t), "tgkill", pid, "9", "64").answer(t); !a.OK {
		t.Errorf("control: %+v", a)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("control: the victim ended with %v", cmd.ProcessState)
	}
}

// proves A-SBX-04, A-SBX-09
func TestProcessOneCannotBeChanged(t *testing.T) {
	f, try := armed(t)
	one := inits(t)[0]
	state := func(pid int) string {
		var limit unix.Rlimit
		must(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit))
		var cpus unix.CPUSet
		must(t, unix.SchedGetaffinity(pid, &cpus))
		nice, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
		must(t, err)
		io, _, _ := unix.Syscall(unix.SYS_IOPRIO_GET, 1, uintptr(pid), 0)
		return fmt.Sprint(limit, cpus, nice, io)
	}
	before := state(one)
	for _, args := range [][]string{{"prlimit", "1"}, {"affinity", "1"}, {"priority", "0", "1"}, {"ioprio", "1", "1"}} {
		if a := try(args...); a.OK {
			t.Errorf("%s reached PID 1: %+v", args, a)
		}
		if now := state(one); now != before {
			t.Errorf("%s changed PID 1: %s, before %s", args, now, before)
		}
		cmd, pid := victim(t)
		args[len(args)-1] = pid
		plain := state(cmd.Process.Pid)
		if a := unconfined(t, f.W, payload(t), args...).answer(t); !a.OK || state(cmd.Process.Pid) == plain {
			t.Errorf("control: %s: %+v, changed nothing", args, a)
		}
	}
	for _, args := range [][]string{{"ptrace-attach", "1"}, {"ptrace-seize", "1"}, {"pidfd-getfd", "1", "3"}, {"pvm-read", "1", "0x400000", "64"}} {
		if a := try(args...); a.OK {
			t.Errorf("%s reached PID 1: %+v", args, a)
		}
		if os.Geteuid() == 0 { // an ordinary user may be kept from it by other means
			_, pid := victim(t)
			args[1] = pid
			if args[0] == "pidfd-getfd" {
				args[2] = "0"
			}
			if a := unconfined(t, f.W, payload(t), args...).answer(t); !a.OK {
				t.Errorf("control: %s: %+v", args, a)
			}
		}
	}
	f.sh("true").ok(t)
}

// proves A-SBX-02, A-SBX-09
func TestThreadsAreNoProcessesAndStarveNobody(t *testing.T) {
	f, try := armed(t)
	if a := try("threads", "40", "1"); !a.OK {
		t.Errorf("forty threads of one process: %+v", a)
	}
	for range 3 {
		// All tasks of the group: what PID 1 does next must not need a thread.
		f.run(f.command(f.W+"/payload", "threads", strconv.Itoa(cgroup.Tasks(4)), "2")).coded(t, fault.ResourceProcessLimit)
		notLost(t, f)
	}
	f.sh("true").ok(t)
}

// proves A-SBX-02, A-SBX-09
//
// As many busy processes as the limit allows, at the lowest nice value that they can give themselves: PID 1 and the broker still
// get to end them in time.
func TestBusyProcessesStarveNobody(t *testing.T) {
	f := sandboxed(t)
	program := into(t, f.W, payload(t))
	script := "n=0; while [ $n -lt 14 ]; do " + program + " spin 100 & n=$((n+1)); done; echo begun; wait"
	c := f.command("/bin/sh", "-c", script)
	c.Timeout = 10 * time.Second
	begun := time.Now()
	r := f.run(c)
	r.coded(t, fault.ResourceTimeLimit)
	if r.out != "begun\n" {
		t.Errorf("they did not all start: %q", r.out)
	}
	if took := time.Since(begun); took > patience/2 {
		t.Errorf("it took %v to end them", took)
	}
	notLost(t, f)
}

// proves A-SBX-02
func TestTracedByRequestIsNotEnded(t *testing.T) {
	_, try := armed(t)
	for _, sig := range []string{"10", "5"} {
		if a := try("traceme", sig); !a.OK || a.Detail != "went on" {
			t.Errorf("signal %s: %+v", sig, a)
		}
	}
}

// proves A-SBX-04
func TestNoNamespacesAndNoMounts(t *testing.T) {
	f, try := armed(t)
	user, mount := fmt.Sprint(unix.CLONE_NEWUSER), fmt.Sprint(unix.CLONE_NEWNS)
	for _, args := range [][]string{{"unshare", user}, {"clone", user}, {"clone3", user}, {"unshare", mount}, {"clone", mount}, {"mount", "none", f.W, "tmpfs"},
		{"bind", "/usr", f.W}, {"umount", "/tmp"}, {"remount", f.R}, {"chroot", f.W}, {"setns", "/proc/self/ns/user"}, {"handle", "/usr"},
		{"io-uring"}, {"userfaultfd"}, {"keyctl"}, {"perf"}} {
		if a := try(args...); a.OK {
			t.Errorf("%s worked: %+v", args, a)
		}
	}
	if out := f.sh("cat /proc/self/mountinfo | wc -l; echo x >\"$1/new\" || echo ro", f.R).ok(t); !strings.HasSuffix(out, "ro\n") {
		t.Errorf("got %q", out)
	}
	controls := [][]string{{"unshare", user}, {"clone", user}}
	if os.Geteuid() == 0 {
		controls = append(controls, []string{"unshare", mount}, []string{"clone", mount}, []string{"chroot", f.W}, []string{"handle", "/usr"}, []string{"userfaultfd"}, []string{"keyctl"})
	}
	for _, args := range controls {
		if a := unconfined(t, f.W, payload(t), args...).answer(t); !a.OK {
			t.Errorf("control: %s: %+v", args, a)
		}
	}
}

// proves A-SBX-05, A-SBX-04
func TestNothingIsSentOutside(t *testing.T) {
	f, try := armed(t)
	const secret = "from inside"
	listen := func(network, address string) (*net.TCPListener, chan string) {
		l, err := net.Listen(network, address)
		must(t, err)
		t.Cleanup(func() { l.Close() })
		got := make(chan string, 8)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					close(got)
					return
				}
				text, _ := io.ReadAll(c)
				c.Close()
				got <- string(text)
			}
		}()
		tcp, _ := l.(*net.TCPListener)
		return tcp, got
	}
	v4, heard4 := listen("tcp", "127.0.0.1:0")
	file := f.W + "/s"
	_, heardFile := listen("unix", file)
	must(t, os.Chmod(file, 0o777))
	abstract := fmt.Sprintf("@sekisho-test-%d", os.Getpid())
	_, heardAbstract := listen("unix", abstract)
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	defer udp.Close()
	gram, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: f.W + "/d", Net: "unixgram"})
	must(t, err)
	defer gram.Close()
	must(t, os.Chmod(f.W+"/d", 0o777))
	attempts := map[string][]string{
		"tcp": {"tcp", v4.Addr().String(), secret}, "udp": {"udp", udp.LocalAddr().String(), secret},
		"unix": {"unix", file, secret}, "abstract": {"unix", abstract, secret}, "datagram": {"unix-datagram", f.W + "/d", secret}, "pair": {"pair-datagram", f.W + "/d", secret},
	}
	for name, args := range attempts {
		if a := try(args...); a.OK && name != "udp" { // UDP to nowhere may look like success
			t.Errorf("%s worked: %+v", name, a)
		}
	}
	if a := try("interfaces"); strings.Contains(a.Detail, "up") {
		t.Errorf("an interface is up: %s", a.Detail)
	}
	for name, args := range attempts {
		if a := unconfined(t, f.W, payload(t), args...).answer(t); !a.OK {
			t.Errorf("control: %s: %+v", name, a)
		}
	}
	// Exactly the controls arrive: had anything come from inside, it would come first.
	for name, heard := range map[string]chan string{"tcp": heard4, "unix": heardFile, "abstract": heardAbstract} {
		if got := <-heard; got != secret {
			t.Errorf("%s: control: got %q", name, got)
		}
		select {
		case got := <-heard:
			t.Errorf("%s: %q arrived from inside", name, got)
		default:
		}
	}
	for name, c := range map[string]net.PacketConn{"udp": udp, "datagram": gram} {
		want := map[string]int{"udp": 1, "datagram": 2}[name]
		for n := 0; ; n++ {
			raw, err := c.(syscall.Conn).SyscallConn()
			must(t, err)
			empty := false
			must(t, raw.Read(func(fd uintptr) bool {
				_, _, err := unix.Recvfrom(int(fd), make([]byte, 64), unix.MSG_DONTWAIT)
				empty = err == unix.EAGAIN
				return true
			}))
			if empty {
				if n != want {
					t.Errorf("%s: %d packets arrived, the controls sent %d", name, n, want)
				}
				break
			}
		}
	}
}
