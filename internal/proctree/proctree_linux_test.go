package proctree

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"
)

// TestMain lets the test binary play a child that reports the death of its parent, and that parent.
func TestMain(m *testing.M) {
	switch os.Getenv("PROCTREE_ROLE") {
	case "parent": // starts the child, waits until it watches, and dies
		child := exec.Command("/proc/self/exe")
		child.Env = append(os.Environ(), "PROCTREE_ROLE=child")
		child.Stdout = os.Stdout
		ready, err := child.StderrPipe()
		if err != nil || child.Start() != nil {
			os.Exit(1)
		}
		io.ReadFull(ready, make([]byte, 1))
		os.Exit(0)
	case "child":
		gone, stop, err := Parent()
		if err != nil {
			os.Exit(1)
		}
		os.Stderr.WriteString("!")
		<-gone
		stop()
		os.Stdout.WriteString("gone")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// proves A-MCP-04
func TestParentDeathIsNoticed(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "PROCTREE_ROLE=parent")
	out, err := cmd.Output() // ends when the grandchild closes the pipe too
	if err != nil || string(out) != "gone" {
		t.Errorf("child said %q, %v; want \"gone\"", out, err)
	}
}

// proves A-MCP-04
func TestStopEndsTheWatchWithoutAnAlarm(t *testing.T) {
	gone, stop, err := Parent()
	if err != nil {
		t.Fatal(err)
	}
	stop()
	select {
	case <-gone:
		t.Error("a stopped watch reported the parent's death")
	default:
	}
}

// proves A-MCP-04
func TestKillHitsTheIdentifiedProcessOnly(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	id, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	stranger := ID{PID: id.PID, Start: id.Start + 1}
	if err := Kill(stranger); !errors.Is(err, ErrGone) {
		t.Errorf("Kill of another start time = %v, want ErrGone", err)
	}
	if now, err := Identify(id.PID); err != nil || now != id {
		t.Fatalf("process was hit: %v, %v", now, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Wait(cancelled, id); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait with a cancelled context = %v", err)
	}
	if err := Kill(id); err != nil {
		t.Fatal(err)
	}
	if err := Wait(t.Context(), id); err != nil {
		t.Errorf("Wait = %v", err)
	}
	cmd.Wait()
	if _, err := Identify(id.PID); !errors.Is(err, ErrGone) {
		t.Errorf("Identify after the end = %v, want ErrGone", err)
	}
	if err := Wait(t.Context(), id); err != nil {
		t.Errorf("Wait for a gone process = %v", err)
	}
}
