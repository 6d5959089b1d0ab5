//go:build linux && !cgo

package linux_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox/linux"
)

// The launcher is nobody's parent in any sense that matters: what it made goes on without it, and what comes next is made by
// another one.
//
// proves A-SBX-09, A-SBX-02
func TestSandboxesOutliveTheirLauncher(t *testing.T) {
	f := sandboxed(t)
	ready := make(writes, 1)
	c := f.command("/bin/sh", "-c", "echo ready; sleep 0.2; echo still here >after")
	c.Stdout = ready
	p, err := f.job.Start(within(t), c)
	must(t, err)
	<-ready
	before := launchers(t)
	if len(before) != 1 {
		t.Fatalf("launchers: %v", before)
	}
	must(t, syscall.Kill(before[0], syscall.SIGKILL))
	if exit, err := p.Wait(within(t)); err != nil || exit.Code != 0 {
		t.Errorf("the run ended with %+v, %v", exit, err)
	}
	if b, err := os.ReadFile(f.W + "/after"); string(b) != "still here\n" {
		t.Errorf("got %q, %v", b, err)
	}
	f.sh("true").ok(t)
	select {
	case <-f.job.Lost():
		t.Error("the sandbox counts as lost")
	default:
	}
	g := sandboxed(t)
	g.sh("true").ok(t)
	if after := launchers(t); len(after) != 1 || after[0] == before[0] {
		t.Errorf("launchers: %v, before %v", after, before)
	}
}

// A launcher that does not answer costs the one who asks his time, and nobody else anything.
//
// proves A-SBX-02, A-ERR-01
func TestALauncherThatHangsIsReplaced(t *testing.T) {
	f := sandboxed(t)
	f.sh("true").ok(t)
	stopped := launchers(t)[0]
	must(t, syscall.Kill(stopped, syscall.SIGSTOP))
	t.Cleanup(func() { syscall.Kill(stopped, syscall.SIGCONT) })
	g := declare(t)
	steps, err := g.backend.Plan(g.policy)
	must(t, err)
	t.Cleanup(g.close)
	for _, s := range steps {
		u, err := g.backend.Observe(within(t), s)
		must(t, err)
		g.undos = append(g.undos, u)
		must(t, g.backend.Apply(within(t), s, u))
	}
	ctx, cancel := context.WithTimeout(within(t), 200*time.Millisecond)
	defer cancel()
	if _, err := g.backend.Open(ctx, g.policy, g.undos); fault.As(err) == nil || ctx.Err() == nil {
		t.Errorf("got %v, %v", err, ctx.Err())
	}
	f.sh("true").ok(t)
	g.job, err = g.backend.Open(within(t), g.policy, g.undos)
	must(t, err)
	g.sh("true").ok(t)
	if now := launchers(t); len(now) != 1 || now[0] == stopped {
		t.Errorf("launchers: %v, the one that hung was %d", now, stopped)
	}
}

// Arguments that the kernel would refuse are refused, large ones arrive, and the sandbox goes on after both.
//
// proves A-POL-05, A-ERR-01
func TestArgumentsOfEverySize(t *testing.T) {
	f := sandboxed(t)
	for _, size := range []int{1 << 10, 40 << 10, 120 << 10, 1 << 20} {
		var args []string
		for left := size; left > 0; left -= 100 << 10 {
			args = append(args, strings.Repeat("x", min(left, 100<<10)))
		}
		out := f.run(f.command("/bin/sh", append([]string{"-c", `n=0; for a; do n=$((n+${#a})); done; echo $n`, "sh"}, args...)...)).ok(t)
		if out != strconv.Itoa(size)+"\n" {
			t.Errorf("%d bytes: %q", size, out)
		}
	}
	for what, args := range map[string][]string{"one too long": {strings.Repeat("x", 200<<10)}, "far too many": {strings.Repeat("x", 9<<20)}, "a zero byte": {"a\x00b"}} {
		r := f.run(f.command("/bin/echo", args...))
		r.coded(t, fault.ExecutableStartFailed)
		if errors.As(r.fault, new(syscall.Errno)) {
			continue
		}
		t.Logf("%s: %v", what, r.fault)
	}
	f.sh("true").ok(t)
}

// That launchers die is no word about this machine.
//
// proves A-ERR-01
func TestALauncherThatDiesIsNoMissingPrimitive(t *testing.T) {
	f := declare(t)
	b, err := linux.New(linux.Options{Program: into(t, f.dir, "/bin/true"), Files: fileop.OS(), Cgroup: cgroupSetting()})
	must(t, err)
	if err := b.Preflight(within(t)); fault.CodeOf(err) != fault.SandboxFailed || !strings.Contains(fmt.Sprint(errors.Unwrap(err)), "launcher") {
		t.Errorf("got %v, %v", err, errors.Unwrap(err))
	}
}

// What a launcher works with is in no sandbox: neither its heap nor what it was told at its start.
//
// proves A-SBX-09
func TestPIDOneHasNothingOfTheLaunchersMemory(t *testing.T) {
	if os.Geteuid() != 0 {
		return // nobody else can look
	}
	f := sandboxed(t)
	f.sh("true").ok(t)
	own := func(pid int) (bytes uint64) { // private and writable, less what is a program's image
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		must(t, err)
		for line := range strings.Lines(string(maps)) {
			f := strings.Fields(line)
			if f[1] != "rw-p" || strings.Contains(line, "memfd:sandbox program") {
				continue
			}
			first, last, _ := strings.Cut(f[0], "-")
			begin, err := strconv.ParseUint(first, 16, 64)
			must(t, err)
			end, err := strconv.ParseUint(last, 16, 64)
			must(t, err)
			bytes += end - begin
		}
		return bytes
	}
	if control := own(launchers(t)[0]); control < 1<<20 {
		t.Errorf("control: the launcher has %d bytes", control)
	}
	// A few pages of a stack, of which one can have 64 KiB.
	for _, pid := range inits(t) {
		if got := own(pid); got == 0 || got > 3<<16 {
			t.Errorf("PID 1 has %d bytes", got)
		}
	}
}
