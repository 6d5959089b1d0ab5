//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == alone {
		code, err := keep(os.Args[2:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// Processes in sessions of their own that ignore what asks them to end, with parents that have ended, do not outlive the test.
func TestNothingOutlivesATest(t *testing.T) {
	const script = `echo said; trap "" TERM HUP INT
		setsid sh -c 'echo pid $$; exec >/dev/null 2>&1; while :; do sleep 0.1; done' &
		(setsid sh -c 'sh -c "echo pid \$\$; exec sleep 60" & echo pid $$; kill -STOP $$' &)
		sleep 0.5; exit 3`
	cmd := exec.Command("/proc/self/exe", alone, "/bin/sh", "-c", script)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	cmd.WaitDelay = 5 * moment
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Fatalf("%v: %s", err, text.String())
	}
	out, left := leftovers(text.String())
	if !strings.HasPrefix(out, "said\n") || strings.Contains(out, leftLine) || len(left) < 3 {
		t.Errorf("said %q, left %q", out, left)
	}
	found := 0
	for line := range strings.Lines(out) {
		var pid int
		if n, _ := fmt.Sscanf(line, "pid %d", &pid); n == 1 {
			found++
			if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
				t.Errorf("process %d goes on: %v", pid, err)
			}
		}
	}
	if found != 3 {
		t.Errorf("control: %d of 3 processes began: %q", found, out)
	}
}
