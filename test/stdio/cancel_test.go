//go:build linux && !cgo

package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sekisho/test/agentsite"
	"sekisho/test/mcpclient"
)

// stubborn is a model whose first task starts processes that ignore signals and leave their session; the second only makes a
// file. The first program's processes are found by their argument.
const stubborn = `{"model":"scripted","capabilities":["completion","tools"],"rules":[
	{"name":"plan","when":{"phase":"plan"},"reply":{"content":{"tasks":[{"id":"t1","description":"run it","depends_on":[],"budget_class":"1K","optimistic_tokens":1,"most_likely_tokens":2,"pessimistic_tokens":3,"requires_external_effect":true,"required_tools":["process_run"]}]}}},
	{"name":"first","once":true,"scope":"server","when":{"phase":"run"},"reply":{"tool_calls":[{"name":"process_run","arguments":{"executable":"sh","args":["-c","trap '' TERM INT HUP; setsid sleep MARK & (sleep MARK &); : >WORKSPACE/started; sleep MARK; wait"],"cwd":"WORKSPACE","timeout_seconds":300,"stdin":null}}]}},
	{"name":"second","once":true,"when":{"phase":"run"},"reply":{"tool_calls":[{"name":"process_run","arguments":{"executable":"sh","args":["-c",": >WORKSPACE/second"],"cwd":"WORKSPACE","timeout_seconds":300,"stdin":null}}]}},
	{"name":"done","when":{"phase":"run","last_tool":"process_run","last_tool_ok":true},"reply":{"content":"made"}}]}`

const shell = "  execution: {entries: [{alias: sh, path: /bin/sh}]}\n"

// mark is an argument of sleep that no other test of this machine uses.
func mark(t *testing.T) string { return fmt.Sprintf("7%d.%d", os.Getpid(), len(t.Name())) }

// session is a client of a running server.
type session struct {
	*mcpclient.Client
	t *testing.T
}

func connect(t *testing.T, s *agentsite.Tested) *session {
	t.Helper()
	c, err := s.Client("stdio")
	if err != nil {
		t.Fatal(errors.Join(err, c.Close()))
	}
	t.Cleanup(c.Kill)
	return &session{c, t}
}

// run hands a request over and returns its task.
func (c *session) run(request string) string {
	c.t.Helper()
	task, err := c.Run(request)
	if err != nil {
		c.t.Fatal(err)
	}
	return task
}

func (c *session) status(task string) map[string]string {
	c.t.Helper()
	text, err := c.Status(task)
	if err != nil {
		c.t.Fatal(err)
	}
	return mcpclient.Fields(text)
}

func (c *session) end() {
	c.t.Helper()
	if err := c.Close(); err != nil {
		c.t.Error(err)
	}
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// started waits until the first program of stubborn runs and a process of it is seen, which is the control of what looks for
// none: the shell makes its file before any of them has become sleep.
func started(t *testing.T, s *agentsite.Tested, mark string) {
	t.Helper()
	agentsite.Poll(t, "the first program's start", func() bool {
		return exists(filepath.Join(s.Workspace, "started")) && agentsite.Sleeping(mark) > 0
	})
}

// A task is cancelled, or timed out, only when its whole tree is dead, and only then does the next one begin.
//
// proves A-RUN-03, A-RUN-04, A-RUN-05, A-MCP-11
// mcp report 7
func TestTheQueueMovesOnlyWhenTheTreeIsDead(t *testing.T) {
	for name, c := range map[string]struct {
		yaml, status, code string
		cancel             bool
	}{
		"notifications/cancelled": {"", "cancelled", "agent.cancelled", true},
		"task time-out":           {"agent: {task_timeout_seconds: 3}\n", "failed", "resource.time_limit", false},
	} {
		t.Run(name, func(t *testing.T) {
			mark := mark(t)
			s := newSite(t, strings.ReplaceAll(stubborn, "MARK", mark), shell+c.yaml)
			client := connect(t, s)
			first := client.run("first")
			request := client.LastID()
			second := client.run("second")
			started(t, s, mark)
			if got := client.status(second)["status"]; got != "queued" {
				t.Errorf("the second task is %s while the first runs", got)
			}
			if c.cancel {
				if err := client.Notify("notifications/cancelled", map[string]any{"requestId": request}); err != nil {
					t.Error(err)
				}
			}
			var ended map[string]string
			agentsite.Poll(t, "the first task's end", func() bool {
				ended = client.status(first)
				next := client.status(second)["status"]
				if n := agentsite.Sleeping(mark); n > 0 && (ended["status"] == c.status || next != "queued") {
					t.Errorf("%d processes are left; first task %s, second %s", n, ended["status"], next)
				}
				return ended["status"] == c.status
			})
			if ended["last_error_code"] != c.code {
				t.Errorf("ended as %v, want %s", ended, c.code)
			}
			agentsite.Poll(t, "the second task's end", func() bool {
				ended = client.status(second)
				return ended["status"] == "completed" || ended["status"] == "failed"
			})
			if ended["status"] != "completed" {
				t.Errorf("the second task: %v", ended)
			}
			if !exists(filepath.Join(s.Workspace, "second")) {
				t.Error("the second program made nothing")
			}
			client.end()
			nothingLeft(t, s)
		})
	}
}

// However a stdio client goes, its running task ends with it: no process of the task and none of the server is left.
//
// proves A-MCP-04, A-RUN-04, A-STOP-01
// mcp report 5
func TestNothingOutlivesTheClient(t *testing.T) {
	for name, leave := range map[string]func(c *session){
		"end of input": func(c *session) { c.In.Close() },
		"SIGTERM":      func(c *session) { c.Cmd.Process.Signal(syscall.SIGTERM) },
		"SIGKILL":      func(c *session) { c.Cmd.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			mark := mark(t)
			s := newSite(t, strings.ReplaceAll(stubborn, "MARK", mark), shell)
			c := connect(t, s)
			c.run("first")
			started(t, s, mark)
			leave(c)
			if err := c.Cmd.Wait(); (err != nil) != (name == "SIGKILL") { // its input stays open but for the first
				t.Errorf("the server ended with %v\n%s", err, c.Log())
			}
			if name == "SIGKILL" { // the kernel does it, a moment later
				agentsite.Poll(t, "the end of the tree", func() bool { return agentsite.Sleeping(mark) == 0 })
				return
			}
			if n := agentsite.Sleeping(mark); n > 0 {
				t.Errorf("%d processes of the task are left", n)
			}
			nothingLeft(t, s)
		})
	}
}

// The parent is killed while a task runs and the pipe stays open in another process: the server notices, stops and leaves
// nothing.
//
// proves A-MCP-04
// mcp report 5
func TestAKilledParentLeavesNoOrphan(t *testing.T) {
	mark := mark(t)
	s := newSite(t, strings.ReplaceAll(stubborn, "MARK", mark), shell)
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	parent := exec.Command("/bin/sh", "-c", `"$0" "$1" <&3 & wait`, s.Program, s.Config)
	parent.Env = s.Env
	parent.ExtraFiles = []*os.File{in}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	io.WriteString(hold, handshake+`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_run","arguments":{"request":"first"}}}`+"\n")
	started(t, s, mark)
	parent.Process.Kill()
	parent.Wait()
	agentsite.Poll(t, "the end of the server", func() bool { return agentsite.Processes(s.Program) == 0 })
	if n := agentsite.Sleeping(mark); n > 0 {
		t.Errorf("%d processes of the task outlived the server", n)
	}
	nothingLeft(t, s)
}

// A thousand clients, one after another on one state root: each is served and nothing gathers.
//
// proves A-MCP-04, A-TX-06
// mcp report 5
func TestSequentialClients(t *testing.T) {
	s := newSite(t, "", "")
	clients := 25
	if os.Getenv("SEKISHO_SOAK") != "" { // make http-soak
		clients = 1000
	}
	for i := range clients {
		out, log, _ := pipe(t, s, handshake+`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n")
		if strings.Count(out, "\n") != 2 || !strings.Contains(out, `"agent_status"`) {
			t.Fatalf("client %d: %s\n%s", i, out, log)
		}
	}
	nothingLeft(t, s)
	left, err := os.ReadDir(s.StateRoot())
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 10 {
		t.Errorf("%d entries are in the state root", len(left))
	}
}
