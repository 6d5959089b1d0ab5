//go:build linux && !cgo

package crash

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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

// hasRead is how many bytes a server has read in its life; a dead one tells until it is waited for.
func hasRead(c *mcpclient.Client) (bytes int64, err error) {
	io, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", c.Cmd.Process.Pid))
	if err == nil {
		_, err = fmt.Sscanf(string(io), "rchar: %d", &bytes)
	}
	return bytes, err
}

// ended waits for a server's end, which does not wait for busy's, and returns how it ended and what it had read by then.
func ended(t *testing.T, c *mcpclient.Client) (bytes int64, err error) {
	t.Helper()
	start := time.Now()
	agentsite.Poll(t, "the server's end", func() bool {
		var dead unix.Siginfo
		err := unix.Waitid(unix.P_PID, c.Cmd.Process.Pid, &dead, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		return err == nil && dead.Signo != 0
	})
	t.Logf("the end took %v", time.Since(start).Round(time.Millisecond))
	bytes, err = hasRead(c)
	return bytes, errors.Join(err, c.Cmd.Wait())
}

// proves A-STOP-01, A-MCP-04, A-SES-08, A-SBX-02
func TestAGracefulStopEndsTheTaskAndItsProgram(t *testing.T) {
	for name, stop := range map[string]func(*mcpclient.Client) error{
		"end of input": func(c *mcpclient.Client) error { return c.In.Close() },
		"SIGTERM":      func(c *mcpclient.Client) error { return c.Cmd.Process.Signal(syscall.SIGTERM) },
	} {
		s, c := startBusy(t)
		if err := stop(c); err != nil {
			t.Fatal(err)
		}
		if _, err := ended(t, c); err != nil {
			t.Errorf("%s: the server ended with %v\n%s", name, err, s.log())
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

const hugeSize = 4 << 30

// huge makes a program that costs nothing to make and seconds to read, and starts it.
var huge = []edit{
	{tool: "process_run", arguments: `{"executable":"sh","args":["-c","head -c 100 /bin/sh >huge && truncate -s HUGE huge && chmod 755 huge"],"cwd":"WORKSPACE","timeout_seconds":600,"stdin":null}`},
	{tool: "process_run", arguments: `{"executable":"./huge","args":[],"cwd":"WORKSPACE","timeout_seconds":600,"stdin":null}`},
}

// proves A-STOP-01, A-POL-04
func TestAStopDoesNotWaitForAHash(t *testing.T) {
	s := newSite(t, strings.ReplaceAll(script(huge), "HUGE", strconv.Itoa(hugeSize)))
	c, err := s.start(s.product, 0)
	if err != nil {
		t.Fatalf("start: %v\n%s", err, s.log())
	}
	if _, err := c.Run("do it"); err != nil {
		t.Fatal(err)
	}
	agentsite.Poll(t, "the server to read the program", func() bool {
		bytes, err := hasRead(c)
		return err == nil && bytes > 256<<20
	})
	if err := c.In.Close(); err != nil {
		t.Fatal(err)
	}
	bytes, err := ended(t, c)
	if err != nil {
		t.Errorf("the server ended with %v\n%s", err, s.log())
	}
	if bytes >= hugeSize {
		t.Errorf("the server read %d bytes: the program to its end", bytes)
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
