//go:build linux && !cgo

package linux_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// proves A-SBX-01, A-SBX-02
func TestRunEnds(t *testing.T) {
	f := sandboxed(t)
	for _, c := range []struct {
		script string
		want   sandbox.Exit
	}{
		{"true", sandbox.Exit{}},
		{"exit 3", sandbox.Exit{Code: 3}},
		{"kill -SEGV $$", sandbox.Exit{Code: -1, Signal: "SIGSEGV"}},
		{"kill -KILL $$", sandbox.Exit{Code: -1, Signal: "SIGKILL"}},
		{"(exit 1) & wait; exec true", sandbox.Exit{}},
	} {
		r := f.sh(c.script)
		if r.fault != nil {
			t.Fatalf("%s: %v", c.script, r.fault)
		}
		if r.exit.Elapsed <= 0 {
			t.Errorf("%s: took %v", c.script, r.exit.Elapsed)
		}
		r.exit.Elapsed = 0
		if d := cmp.Diff(c.want, r.exit); d != "" {
			t.Errorf("%s: (-want +got)\n%s", c.script, d)
		}
	}
}

// proves A-SBX-01
func TestStreamsAndArguments(t *testing.T) {
	f := sandboxed(t)
	long := strings.Repeat("x", 100_000) // more than one packet of the internal socket holds
	c := f.command("/bin/sh", "-c", `cat; for a; do printf '<%s>' "$a"; done; echo error >/dev/stderr; echo "$0 $PWD"`, "name", "", " a\nb\t", "$HOME", "日本語", long)
	c.Stdin = []byte("in\x00put\n")
	got := f.run(c)
	if want := "in\x00put\n<>< a\nb\t><$HOME><日本語><" + long + ">name " + f.W + "\n"; got.ok(t) != want {
		t.Errorf("stdout: %s", cmp.Diff(want, got.out))
	}
	if got.err != "error\n" {
		t.Errorf("stderr %q", got.err)
	}
	if out := f.sh("cat; readlink /proc/self/fd/0").ok(t); !strings.HasPrefix(out, "pipe:") {
		t.Errorf("without input: got %q, want an empty pipe", out)
	}
}

// proves A-SBX-03
func TestEnvironmentIsBuiltFromScratch(t *testing.T) {
	t.Setenv("SSH_AUTH_SOCK", "/run/agent")
	t.Setenv("API_TOKEN", "secret")
	t.Setenv("https_proxy", "http://proxy")
	f := declare(t)
	f.policy.Environment = map[string]string{"FROM_POLICY": "1", "CI": "policy"}
	f.open()
	c := f.command("/usr/bin/env")
	c.Env = []string{"FROM_COMMAND=a=b", "CI=command"}
	got := map[string]string{}
	for line := range strings.Lines(f.run(c).ok(t)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		got[name] = value
	}
	want := map[string]string{
		"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "LANG": "C.UTF-8", "SHELL": "/bin/sh", "USER": "agent", "LOGNAME": "agent",
		"HOME": "/home/agent", "DOTNET_CLI_HOME": "/home/agent", "TMPDIR": "/tmp", "TEMP": "/tmp", "TMP": "/tmp",
		"TERM": "dumb", "NO_COLOR": "1", "CI": "command", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "EDITOR": "true",
		"DEBIAN_FRONTEND": "noninteractive", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
		"npm_config_update_notifier": "false", "npm_config_fund": "false", "npm_config_audit": "false",
		"DOTNET_SKIP_FIRST_TIME_EXPERIENCE": "1", "DOTNET_NOLOGO": "1", "DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_GENERATE_ASPNET_CERTIFICATE": "false",
		"DOTNET_CLI_WORKLOAD_UPDATE_NOTIFY_DISABLE": "1", "DOTNET_SKIP_WORKLOAD_INTEGRITY_CHECK": "1", "DOTNET_CLI_USE_MSBUILD_SERVER": "0",
		"DOTNET_EnableDiagnostics": "0", "MSBuildEnableWorkloadResolver": "false", "MSBUILDDISABLENODEREUSE": "1",
		"DOTNET_SYSTEM_CONSOLE_ALLOW_ANSI_COLOR_REDIRECTION": "0", "POWERSHELL_TELEMETRY_OPTOUT": "1", "POWERSHELL_UPDATECHECK": "Off",
		"FROM_POLICY": "1", "FROM_COMMAND": "a=b",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// proves A-SBX-03
func TestNoDescriptorLeaks(t *testing.T) {
	f := declare(t)
	// What the broker's own parent may have left open: not close-on-exec, opened before the sandbox exists.
	leak, err := syscall.Open(f.S, syscall.O_RDONLY, 0)
	must(t, err)
	defer syscall.Close(leak)
	const script = "for n in /proc/self/fd/*; do readlink $n; done; true" // the last one may be gone
	cmd := exec.Command("/bin/sh", "-c", script)
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), f.S) {
		t.Fatalf("control: a plain child does not see the descriptor: %s %v", out, err)
	}
	f.open()
	for range 2 {
		r := f.run(f.command("/bin/ls", "-l", "/proc/self/fd"))
		var names []string
		for line := range strings.Lines(r.ok(t)) {
			if _, link, ok := strings.Cut(line, " -> "); ok {
				kind, _, _ := strings.Cut(strings.TrimSpace(link), ":")
				names = append(names, kind)
			}
		}
		// The fourth is ls's own, on the directory it lists.
		if len(names) != 4 || names[0] != "pipe" || names[1] != "pipe" || names[2] != "pipe" || !strings.HasPrefix(names[3], "/proc/") {
			t.Errorf("open descriptors: %q", names)
		}
	}
}

// daemon starts something that outlives its starter, ignores every polite signal and holds a lock on the file W/lock.
const daemon = `
touch lock
setsid sh -c 'trap "" TERM HUP INT; (exec 9>lock; flock 9; touch held; trap "" TERM; while :; do sleep 1; done) & ' >/dev/null 2>&1 </dev/null &
while ! test -e held; do sleep 0.01; done
`

// held reports whether some process holds the lock.
func held(t *testing.T, path string) bool {
	t.Helper()
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil && err != unix.EWOULDBLOCK {
		t.Fatal(err)
	}
	return err != nil
}

// proves A-SBX-02
func TestDaemonDiesWithItsRun(t *testing.T) {
	f := sandboxed(t)
	plain := t.TempDir()
	cmd := exec.Command("/bin/sh", "-c", daemon)
	cmd.Dir, cmd.SysProcAttr = plain, &syscall.SysProcAttr{Setsid: true}
	must(t, cmd.Run())
	if !held(t, plain+"/lock") {
		t.Fatal("control: the daemon did not outlive its starter")
	}
	killHolders(t, plain+"/lock")
	f.sh(daemon).ok(t)
	if _, err := os.Stat(f.W + "/held"); err != nil {
		t.Fatalf("the daemon never held the lock: %v", err)
	}
	if held(t, f.W+"/lock") {
		t.Error("the daemon outlived its run")
	}
	f.sh("true").ok(t) // the same sandbox goes on
}

// killHolders ends the processes that have a file open: those of a control.
func killHolders(t *testing.T, path string) {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*/fd/*")
	must(t, err)
	for _, p := range procs {
		if to, err := os.Readlink(p); err == nil && to == path {
			var pid int
			fmt.Sscanf(p, "/proc/%d/", &pid)
			if pid != os.Getpid() {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// proves A-SBX-02, A-TX-05
func TestCancelEndsTheTree(t *testing.T) {
	f := sandboxed(t)
	ctx, cancel := context.WithCancel(context.Background())
	c := f.command("/bin/sh", "-c", daemon+"echo ready; sleep 1000")
	ready := make(writes, 1)
	c.Stdout = ready
	p, err := f.job.Start(ctx, c)
	must(t, err)
	<-ready
	if _, err := f.job.Start(ctx, f.command("/bin/true")); fault.CodeOf(err) != fault.SandboxFailed {
		t.Errorf("a second start: got %v", err)
	}
	cancel()
	exit, err := p.Wait(ctx)
	result{exit: exit, fault: err}.coded(t, fault.AgentCancelled)
	if held(t, f.W+"/lock") {
		t.Error("something outlived the cancel")
	}
	f.sh("true").ok(t)
}

// writes is a writer that hands over what it got.
type writes chan string

func (w writes) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

// proves A-SBX-02
func TestOutputNeverHangsTheEnd(t *testing.T) {
	f := sandboxed(t)
	const size = 3 << 20
	var out bytes.Buffer
	c := f.command("/bin/sh", "-c", fmt.Sprintf("head -c %d /dev/zero; (while :; do echo more; done) & sleep 0.2; exit 7", size))
	c.Stdout = &out
	p, err := f.job.Start(within(t), c)
	must(t, err)
	exit, err := p.Wait(within(t))
	if err != nil || exit.Code != 7 || out.Len() < size {
		t.Errorf("got %+v %v with %d bytes", exit, err, out.Len())
	}
	// A writer that fails: the program goes on, and so does the end.
	c = f.command("/bin/sh", "-c", "head -c 1000000 /dev/zero; echo done >end")
	c.Stdout = failing{}
	f.run2(c)
	if _, err := os.Stat(f.W + "/end"); err != nil {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

// run2 runs a command whose writers are set already.
func (f *fixture) run2(c sandbox.Command) {
	f.t.Helper()
	p, err := f.job.Start(within(f.t), c)
	must(f.t, err)
	if exit, err := p.Wait(within(f.t)); err != nil || exit.Code != 0 {
		f.t.Fatalf("got %+v %v", exit, err)
	}
}

// proves A-SBX-02, A-TX-04
func TestBrokerDeathKillsTheTree(t *testing.T) {
	f := declare(t)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), brokerEnv+"="+f.dir)
	if dir, err := bin.Build("cmd/agent-mcp"); err == nil {
		cmd.Env = append(cmd.Env, "SEKISHO_BIN="+filepath.Dir(dir))
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line := make([]byte, 16)
	n, err := out.Read(line)
	if err != nil || string(line[:n]) != "ready" {
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatalf("broker said %q: %v", line[:n], err)
	}
	if !held(t, f.W+"/lock") {
		t.Error("control: the tree does not run")
	}
	must(t, cmd.Process.Kill())
	cmd.Wait()
	// The kernel needs a moment; the lock tells exactly when the last process is gone.
	deadline := time.Now().Add(patience)
	file, err := os.Open(f.W + "/lock")
	must(t, err)
	defer file.Close()
	free := make(chan error, 1)
	go func() { free <- unix.Flock(int(file.Fd()), unix.LOCK_EX) }()
	select {
	case err := <-free:
		must(t, err)
	case <-time.After(time.Until(deadline)):
		f.revertBroker(t) // which ends it: nothing else would
		t.Fatal("the tree outlived its broker")
	}
	f.revertBroker(t)
}
