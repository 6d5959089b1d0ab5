//go:build linux

package initproc

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// However many processes end and stop without an end, PID 1 sees that its broker is gone. The test stands between it and the kernel
// and lets each question for a death find one more.
//
// proves A-SBX-02, A-SBX-09
func TestDeathsWithoutEndDoNotHideTheBrokersOwn(t *testing.T) {
	conn, pid := initProcess(t)
	ended := false
	t.Cleanup(func() {
		if !ended {
			syscall.Kill(pid, syscall.SIGKILL)
			waited(t, pid)
		}
	})
	said := func(want wire.Kind) {
		t.Helper()
		var r wire.Reply
		files, err := conn.Receive(&r)
		wire.CloseAll(files)
		if err != nil || r.Kind != want {
			t.Fatalf("got %+v, %v, want %d", r, err, want)
		}
	}
	said(wire.Ready)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if err := conn.Send(&wire.Start{Path: "/bin/sleep", Argv: []string{"sleep", "1000"}, Dir: "/"}, null, null, null); err != nil {
		t.Fatal(err)
	}
	said(wire.Stopped)

	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	if err := syscall.PtraceAttach(pid); err != nil {
		t.Fatal(err)
	}
	if status := waited(t, pid); !status.Stopped() {
		t.Fatalf("%#x", status)
	}
	if err := conn.Send(&wire.Release{Run: true}); err != nil {
		t.Fatal(err)
	}
	set := func(regs *syscall.PtraceRegs) {
		if err := syscall.PtraceSetRegs(pid, regs); err != nil {
			t.Fatal(err)
		}
	}
	inside, first, asked := false, false, 0
	for asked < 1000 {
		if err := syscall.PtraceSyscall(pid, 0); err != nil { // what stopped it is not passed on
			t.Fatal(err)
		}
		status := waited(t, pid)
		if status.Exited() {
			ended = true
			break
		}
		var regs syscall.PtraceRegs
		if err := syscall.PtraceGetRegs(pid, &regs); err != nil {
			t.Fatal(err)
		}
		switch inside = !inside; {
		case inside && regs.Orig_rax == unix.SYS_PPOLL && asked == 0:
			regs.Orig_rax, first = ^uint64(0), true // it would wait for the first death
			set(&regs)
		case !inside && first:
			regs.Rax, first = 1, false
			set(&regs)
		case !inside && regs.Orig_rax == unix.SYS_WAIT4:
			if asked++; asked == 1 {
				conn.Close()
			}
			regs.Rax = 1 << 20 // somebody's
			set(&regs)
		}
	}
	if !ended || asked == 0 {
		t.Errorf("it asked %d times and goes on", asked)
	}
}
