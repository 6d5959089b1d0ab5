//go:build linux && !cgo

package crash

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// busy is a program that outlives its parent, ignores TERM and does not end by itself.
const busy = `{"executable":"sh","args":["-c","trap '' TERM; (setsid sh -c 'while :; do date >> WORKSPACE/alive; sleep 0.05; done' &) ; sleep 600"],"cwd":"WORKSPACE","timeout_seconds":600,"stdin":null}`

// startBusy starts a task whose program is running.
func startBusy(t *testing.T) (*site, *client) {
	t.Helper()
	s := newSite(t, script([]edit{{tool: "process_run", arguments: busy}}))
	c, err := s.start(s.product, 0)
	if err != nil {
		t.Fatalf("start: %v\n%s", err, s.log())
	}
	if _, err := c.tool("agent_run", `{"request":"do it"}`); err != nil {
		t.Fatal(err)
	}
	await(t, "the program to run", func() bool { st, err := os.Stat(s.workspace + "/alive"); return err == nil && st.Size() > 0 })
	return s, c
}

// proves A-STOP-01, A-MCP-04, A-SES-08, A-SBX-02
func TestAGracefulStopEndsTheTaskWithinTwoSeconds(t *testing.T) {
	for name, stop := range map[string]func(*client) error{
		"end of input": func(c *client) error { return c.in.Close() },
		"SIGTERM":      func(c *client) error { return c.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		s, c := startBusy(t)
		start := time.Now()
		if err := stop(c); err != nil {
			t.Fatal(err)
		}
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("%s: the server ended with %v\n%s", name, err, s.log())
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s: the end took %v", name, took)
		}
		if err := s.leftovers(); err != nil {
			t.Errorf("%s: left behind: %v", name, err)
		}
		audit, err := os.ReadFile(s.stateRoot() + "/logs/audit.jsonl")
		if err != nil || !strings.Contains(string(audit), `"final_state":"cancelled"`) {
			t.Errorf("%s: the audit does not tell the cancelled task: %v\n%s", name, err, audit)
		}
	}
}

// proves A-TX-04, A-SBX-02, ST-17
func TestAKillWhileAProgramRunsEndsTheProgram(t *testing.T) {
	s, c := startBusy(t)
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.close(); !killed(err) {
		t.Fatalf("the server ended with %v", err)
	}
	s.restart()
}

// proves A-TX-06, A-TX-05
func TestRecoveryLeavesTheTasksOfLivingServersAlone(t *testing.T) {
	s, living := startBusy(t)
	other, err := s.start(s.product, 0)
	if err != nil {
		t.Fatalf("the second server: %v\n%s", err, s.log())
	}
	if err := other.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	other.close()
	third, err := s.start(s.product, 0)
	if err != nil {
		t.Fatalf("the third server: %v\n%s", err, s.log())
	}
	if err := third.close(); err != nil {
		t.Errorf("the third server ended with %v\n%s", err, s.log())
	}
	before, err := os.Stat(s.workspace + "/alive")
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the living server's program to go on", func() bool {
		now, err := os.Stat(s.workspace + "/alive")
		return err == nil && now.Size() > before.Size()
	})
	if err := living.close(); err != nil {
		t.Errorf("the living server ended with %v\n%s", err, s.log())
	}
	if err := s.leftovers(); err != nil {
		t.Errorf("left behind: %v", err)
	}
}
