//go:build linux && !cgo

package linux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox/linux"
	"sekisho/internal/sandbox/linux/launcher"
	"sekisho/test/product"
)

// proves A-ERR-01, A-SBX-01
func TestPreflight(t *testing.T) {
	f := declare(t)
	for range 2 {
		must(t, f.backend.Preflight(within(t)))
	}
	f.backend.SetSmallest("/absent")
	must(t, f.backend.Preflight(within(t)))
	if left := inits(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	b, err := linux.New(linux.Options{Program: product.Dir(t) + "/absent", Files: fileop.OS(), Cgroup: cgroupSetting()})
	must(t, err)
	err = b.Preflight(within(t))
	if e := fault.As(err); e == nil || e.Code != fault.PreflightMissingPrimitive {
		t.Errorf("without its program: got %v", err)
	}
	b, err = linux.New(linux.Options{Program: into(t, f.dir, "/bin/true"), Files: fileop.OS(), Cgroup: cgroupSetting()})
	must(t, err)
	if err = b.Preflight(within(t)); fault.As(err) == nil {
		t.Errorf("with a program that is no PID 1: got %v", err)
	}
}

// inits lists the PIDs of this process's sandboxes: the children of its launchers.
func inits(t *testing.T) []int {
	t.Helper()
	var pids []int
	for _, pid := range launchers(t) {
		pids = append(pids, children(t, pid)...)
	}
	return pids
}

// launchers lists the PIDs of this process's launchers.
func launchers(t *testing.T) []int {
	t.Helper()
	var pids []int
	for _, pid := range children(t, os.Getpid()) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.HasPrefix(string(line), launcher.Marker) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// children lists the child processes of one.
func children(t *testing.T, parent int) []int {
	t.Helper()
	var pids []int
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	must(t, err)
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it ended
		}
		after := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if after[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// proves A-SBX-09, A-SBX-02
func TestLostSandboxFailsTheRun(t *testing.T) {
	t.Run("during a run", func(t *testing.T) {
		f := sandboxed(t)
		ready := make(writes, 1)
		c := f.command("/bin/sh", "-c", "rm -f lock held;"+daemon+"echo ready; sleep 1000")
		c.Stdout = ready
		p, err := f.job.Start(within(t), c)
		must(t, err)
		<-ready
		lost(t, f, func() {
			exit, err := p.Wait(within(t))
			result{exit: exit, fault: err}.coded(t, fault.SandboxLost)
			if held(t, f.W+"/lock") {
				t.Error("something outlived PID 1")
			}
		})
	})
	t.Run("between runs", func(t *testing.T) { lost(t, sandboxed(t), func() {}) })
}

// lost kills PID 1, expects what then must be so, and that the next run gets a new sandbox.
func lost(t *testing.T, f *fixture, expect func()) {
	t.Helper()
	before := inits(t)
	if len(before) != 1 {
		t.Fatalf("sandboxes of this process: %v", before)
	}
	must(t, syscall.Kill(before[0], syscall.SIGKILL))
	expect()
	select {
	case <-f.job.Lost():
	case <-within(t).Done():
		t.Fatal("Lost was not closed")
	}
	f.sh("true").ok(t)
	if after := inits(t); len(after) != 1 || after[0] == before[0] {
		t.Errorf("no new sandbox: %v, before %v", after, before)
	}
}

// notLost requires that an end on purpose did not count as a death of the confinement.
func notLost(t *testing.T, f *fixture) {
	t.Helper()
	f.sh("true").ok(t) // a new box, so whatever watched the old one has had its turn
	select {
	case <-f.job.Lost():
		t.Error("a limit counts as a lost sandbox")
	default:
	}
}

// proves A-SBX-04, A-SBX-09
func TestProcessOneIsHidden(t *testing.T) {
	f := sandboxed(t)
	out := f.sh(`ls -d /proc/1 /proc/[0-9]* 2>/dev/null; for n in environ exe maps mem root cwd fd status cmdline; do cat /proc/1/$n && echo reached; ls /proc/1/$n && echo reached; done 2>/dev/null; echo $$`)
	lines := strings.Fields(out.ok(t))
	me := lines[len(lines)-1]
	for _, l := range lines {
		if l == "/proc/1" || l == "reached" {
			t.Errorf("PID 1 is visible: %q", out.out)
		}
	}
	if !strings.Contains(out.out, "/proc/"+me+"\n") {
		t.Errorf("control: the shell does not see itself: %q", out.out)
	}
	if r := f.control(`test -e /proc/1`); r.exit.Code != 0 {
		t.Errorf("control: %+v", r)
	}
	status := f.sh("cat /proc/self/status; cat /proc/sys/user/max_user_namespaces; cat /proc/self/cgroup; cat /proc/self/limits").ok(t)
	for _, want := range []string{"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000",
		"CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "\n0\n", "Max core file size        1                    1 "} {
		if !strings.Contains(status, want) {
			t.Errorf("%q is missing in\n%s", want, status)
		}
	}
	if strings.Contains(status, "/test-") || strings.Contains(status, "process_api") {
		t.Errorf("the host's control groups are visible:\n%s", status)
	}
}

// proves A-SBX-04, A-SBX-09
func TestProcessOneCannotBeHurt(t *testing.T) {
	f := sandboxed(t)
	before := inits(t)
	// Every signal to PID 1, to its group and to everything; then the run must still end in order.
	r := f.sh(`trap "" 1 2 3 15; for s in $(seq 1 64); do for p in 1 2 3 4 5 6 7 8 9 10 11 12; do test $p = $$ || kill -$s $p; done; done 2>/dev/null; echo alive`)
	if r.ok(t) != "alive\n" {
		t.Errorf("got %+v", r)
	}
	f.sh("kill -KILL -1; kill -KILL 0")
	// From outside nothing stands between a signal and PID 1 but PID 1 itself.
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", before[0]))
	must(t, err)
	for _, thread := range threads {
		tid, err := strconv.Atoi(thread.Name())
		must(t, err)
		for sig := syscall.Signal(1); sig <= 64; sig++ {
			if sig != syscall.SIGKILL && sig != syscall.SIGSTOP {
				must(t, unix.Tgkill(before[0], tid, sig))
			}
		}
	}
	f.sh("true").ok(t)
	if after := inits(t); len(after) != 1 || after[0] != before[0] {
		t.Errorf("PID 1 changed: %v, before %v", after, before)
	}
}

// proves A-SBX-09
func TestCrashesReachNoHelperOfTheHost(t *testing.T) {
	f := sandboxed(t)
	crash := into(t, f.W, "/bin/sh")
	must(t, os.Rename(crash, f.W+"/crash-test-sh"))
	crash = f.W + "/crash-test-sh"
	const script = "cd /tmp; ulimit -c unlimited 2>/dev/null; kill -SEGV $$"
	check := func() {
		t.Helper()
		if r := f.run(f.command(crash, "-c", script)); r.exit.Signal != "SIGSEGV" {
			t.Errorf("got %+v", r)
		}
		for _, dir := range []string{f.W, f.dir + "/temp"} {
			if left, err := filepath.Glob(dir + "/core*"); err != nil || len(left) > 0 {
				t.Errorf("core files: %v %v", left, err)
			}
		}
	}
	check()
	if os.Geteuid() != 0 {
		return // only root may change the pattern that the rest is about
	}
	const pattern = "/proc/sys/kernel/core_pattern"
	before, err := os.ReadFile(pattern)
	must(t, err)
	ran := f.dir + "/helper-ran"
	must(t, os.WriteFile(f.dir+"/helper", []byte("#!/bin/sh\necho \"$1\" >>"+ran+"\ncat >/dev/null\n"), 0o755))
	t.Cleanup(func() { must(t, os.WriteFile(pattern, before, 0)) })
	must(t, os.WriteFile(pattern, []byte("|"+f.dir+"/helper %e"), 0))
	check()
	unconfined(t, f.W, crash, "-c", script)
	for deadline := time.Now().Add(patience); ; {
		data, _ := os.ReadFile(ran)
		switch n := strings.Count(string(data), "crash-test-sh"); {
		case n > 1:
			t.Fatal("the host's helper was started for a crash inside")
		case n == 1:
			return
		case time.Now().After(deadline):
			t.Fatal("control: no helper was started for a plain crash")
		}
		runtime.Gosched()
	}
}

// proves A-SBX-09, A-ERR-01
//
// Kernels that send dumps to a socket (6.16) ask for no limit, so nothing runs there, however late that was set. The setting is the
// whole machine's, and other sandboxes would be refused with this one, so the machine is only made to look like that.
func TestDumpsToASocketAreRefused(t *testing.T) {
	f := sandboxed(t)
	f.sh("echo before >ran").ok(t)
	f.backend.SetCoreSocket(true)
	f.sh("echo during >ran").coded(t, fault.PreflightMissingPrimitive)
	if err := f.backend.Preflight(within(t)); fault.As(err) == nil || fault.As(err).SentenceKey() != "error.preflight.missing_primitive.core_socket" {
		t.Errorf("preflight: %v", err)
	}
	if got, err := os.ReadFile(f.W + "/ran"); string(got) != "before\n" {
		t.Errorf("something ran: %q, %v", got, err)
	}
	f.backend.SetCoreSocket(false)
	f.sh("echo after >ran").ok(t)
	must(t, f.backend.Preflight(within(t)))
}
