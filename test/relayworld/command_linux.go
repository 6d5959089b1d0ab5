package relayworld

import (
	"bufio"
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"sekisho/internal/relay/uicontract"
	"sekisho/test/headless"
)

// Command is a program that runs relaycodex in front of a person: it printed the address that the front end uses.
type Command struct {
	Front
	Address string
	cmd     *exec.Cmd
	said    Log
}

// Start starts cmd and connects a front end.
func Start(ctx context.Context, t testing.TB, cmd *exec.Cmd) *Command {
	t.Helper()
	c := &Command{Front: Front{T: t, Ctx: ctx, Patience: time.Minute}, cmd: cmd}
	cmd.Stderr = &c.said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.said.String())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, c.said.String())
	}
	c.Address = strings.TrimSpace(line)
	c.Join(c.Address, "")
	return c
}

// Connected waits for the connection and returns the process of codex.
func (c *Command) Connected() (pid int) {
	c.T.Helper()
	c.Wait("the connection", func(v *headless.View) bool {
		if p := v.Connection.Process; p != nil {
			pid = p.PID
		}
		return v.Connection.State == uicontract.Connected && pid > 0
	})
	return pid
}

// Interrupt ends the program as Ctrl-C does and requires that it ends well, and its codex with it.
func (c *Command) Interrupt(codex int) {
	c.T.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
		c.T.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		c.T.Errorf("the end: %v\n%s", err, c.said.String())
	}
	if err := syscall.Kill(codex, 0); err != syscall.ESRCH {
		c.T.Errorf("codex (pid %d) is left: %v", codex, err)
	}
}
