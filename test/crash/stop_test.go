//go:build linux && !cgo

package crash

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"sekisho/test/agentsite"
	"sekisho/test/mcpclient"
)

// busy is a program that outlives its parent, ignores TERM and does not end by itself.
const busy = `{"executable":"sh","args":["-c","trap '' TERM; (setsid sh -c 'while :; do date >> WORKSPACE/alive; sleep 0.05; done' &) ; sleep 600"],"cwd":"WORKSPACE","timeout_seconds":600,"stdin":null}`

// startBusy starts a task whose program is running.
func startBusy(t *testing.T) (*site, *mcpclient.Client) {
	t.Helper()
	s := newSite(t, script([]edit{{tool: "process_run", arguments: busy}}))
	c, err := s.start(s.product, 0)
	if err != nil {
		t.Fatalf("start: %v\n%s", err, s.log())
	}
	if _, err := c.Run("do it"); err != nil {
		t.Fatal(err)
	}
	agentsite.Poll(t, "the program to run", func() bool { st, err := os.Stat(s.workspace + "/alive"); return err == nil && st.Size() > 0 })
	return s, c
}

// proves A-STOP-01, A-MCP-04, A-SES-08, A-SBX-02
func TestAGracefulStopEndsTheTaskWithinTwoSeconds(t *testing.T) {
	for name, stop := range map[string]func(*mcpclient.Client) error{
		"end of input": func(c *mcpclient.Client) error { return c.In.Close() },
		"SIGTERM":      func(c *mcpclient.Client) error { return c.Cmd.Process.Signal(syscall.SIGTERM) },
	} {
		s, c := startBusy(t)
		start := time.Now()
		if err := stop(c); err != nil {
			t.Fatal(err)
		}
		if err := c.Cmd.Wait(); err != nil {
			t.Errorf("%s: the server ended with %v\n%s", name, err, s.log())
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s: the end took %v", name, took)
		}
		if err := s.leftovers(); err != nil {
			t.Errorf("%s: left behind: %v", name, err)
		}
		audit, err := os.ReadFile(s.StateRoot() + "/logs/audit.jsonl")
		if err != nil || !strings.Contains(string(audit), `"final_state":"cancelled"`) {
			t.Errorf("%s: the audit does not tell the cancelled task: %v\n%s", name, err, audit)
		}
	}
}

// huge makes a program that costs nothing to make and seconds to read, and starts it.
var huge = []edit{
	{tool: "process_run", arguments: `{"executable":"sh","args":["-c","head -c 100 /bin/sh >huge && truncate -s 4G huge && chmod 755 huge"],"cwd":"WORKSPACE","timeout_seconds":600,"stdin":null}`},
	{tool: "process_run", arguments: `{"executable":"./huge","args":[],"cwd":"WORKSPACE","timeout_seconds":600,"stdin":null}`},
}

// proves A-STOP-01, A-POL-04
func TestAStopDoesNotWaitForAHash(t *testing.T) {
	s := newSite(t, script(huge))
	c, err := s.start(s.product, 0)
	if err != nil {
		t.Fatalf("start: %v\n%s", err, s.log())
	}
	if _, err := c.Run("do it"); err != nil {
		t.Fatal(err)
	}
	agentsite.Poll(t, "the server to read the program", func() bool {
		io, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", c.Cmd.Process.Pid))
		var read int64
		if err == nil {
			_, err = fmt.Sscanf(string(io), "rchar: %d", &read)
		}
		return err == nil && read > 256<<20
	})
	start := time.Now()
	if err := c.In.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, s.log())
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("the end took %v", took)
	}
	if err := s.leftovers(); err != nil {
		t.Errorf("left behind: %v", err)
	}
	audit, err := os.ReadFile(s.StateRoot() + "/logs/audit.jsonl")
	if err != nil || !strings.Contains(string(audit), `"final_state":"cancelled"`) {
		t.Errorf("the audit does not tell the cancelled task: %v\n%s", err, audit)
	}
}

// proves A-TX-04, A-SBX-02, ST-17
func TestAKillWhileAProgramRunsEndsTheProgram(t *testing.T) {
	s, c := startBusy(t)
	if err := c.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); !killed(err) {
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
	if err := other.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	other.Close()
	third, err := s.start(s.product, 0)
	if err != nil {
		t.Fatalf("the third server: %v\n%s", err, s.log())
	}
	if err := third.Close(); err != nil {
		t.Errorf("the third server ended with %v\n%s", err, s.log())
	}
	before, err := os.Stat(s.workspace + "/alive")
	if err != nil {
		t.Fatal(err)
	}
	agentsite.Poll(t, "the living server's program to go on", func() bool {
		now, err := os.Stat(s.workspace + "/alive")
		return err == nil && now.Size() > before.Size()
	})
	if err := living.Close(); err != nil {
		t.Errorf("the living server ended with %v\n%s", err, s.log())
	}
	if err := s.leftovers(); err != nil {
		t.Errorf("left behind: %v", err)
	}
}
