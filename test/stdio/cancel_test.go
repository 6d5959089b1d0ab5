//go:build linux && !cgo

package stdio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
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

// sleeping counts the processes with the mark, as the machine sees them.
func sleeping(t *testing.T, mark string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && string(text) == "sleep\x00"+mark+"\x00" {
			n++
		}
	}
	return n
}

// session is a client of a running server.
type session struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	log bytes.Buffer
	id  int
}

func (s stage) session(t *testing.T) *session {
	t.Helper()
	c := &session{t: t, cmd: exec.CommandContext(t.Context(), s.program, s.config)}
	c.cmd.Env = s.env
	c.cmd.Stderr = &c.log
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(c.in, handshake)
	c.read()
	return c
}

func (c *session) read() string {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("%v after %q", err, line)
	}
	return line
}

// tool calls a tool and returns the lines of its text; c.id is the request's id.
func (c *session) tool(name string, arguments any) map[string]string {
	c.t.Helper()
	c.id++
	args, err := json.Marshal(arguments)
	if err != nil {
		c.t.Fatal(err)
	}
	fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", c.id, name, args)
	var m struct {
		Result struct{ Content []struct{ Text string } }
	}
	if line := c.read(); json.Unmarshal([]byte(line), &m) != nil || len(m.Result.Content) != 1 {
		c.t.Fatalf("%s answered %s", name, line)
	}
	fields := map[string]string{}
	for line := range strings.Lines(m.Result.Content[0].Text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = strings.TrimSpace(value)
	}
	return fields
}

func (c *session) status(task string) map[string]string {
	c.t.Helper()
	return c.tool("agent_status", map[string]string{"task_id": task})
}

// poll calls done until it is true; a client has no other way.
func poll(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 3000 {
		if done() {
			return
		}
		<-tick.C
	}
	t.Fatalf("%s did not happen", what)
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

func (c *session) end() {
	c.t.Helper()
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("the server ended with %v\n%s", err, c.log.String())
	}
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
			s := newStageWith(t, strings.ReplaceAll(stubborn, "MARK", mark), shell+c.yaml)
			client := s.session(t)
			first := client.tool("agent_run", map[string]string{"request": "first"})["task_id"]
			request := client.id
			second := client.tool("agent_run", map[string]string{"request": "second"})["task_id"]
			poll(t, "the first program's start", func() bool { return exists(filepath.Join(s.dir, "workspace", "started")) })
			if n := sleeping(t, mark); n == 0 { // the control: such a process is seen
				t.Error("no process of the first task is seen")
			}
			if got := client.status(second)["status"]; got != "queued" {
				t.Errorf("the second task is %s while the first runs", got)
			}
			if c.cancel {
				fmt.Fprintf(client.in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", request)
			}
			var ended map[string]string
			poll(t, "the first task's end", func() bool {
				ended = client.status(first)
				next := client.status(second)["status"]
				if n := sleeping(t, mark); n > 0 && (ended["status"] == c.status || next != "queued") {
					t.Errorf("%d processes are left; first task %s, second %s", n, ended["status"], next)
				}
				return ended["status"] == c.status
			})
			if ended["last_error_code"] != c.code {
				t.Errorf("ended as %v, want %s", ended, c.code)
			}
			poll(t, "the second task's end", func() bool {
				ended = client.status(second)
				return ended["status"] == "completed" || ended["status"] == "failed"
			})
			if ended["status"] != "completed" {
				t.Errorf("the second task: %v", ended)
			}
			if !exists(filepath.Join(s.dir, "workspace", "second")) {
				t.Error("the second program made nothing")
			}
			client.end()
			s.nothingLeft(t)
		})
	}
}

// However a stdio client goes, its running task ends with it: no process of the task and none of the server is left.
//
// proves A-MCP-04, A-RUN-04, A-STOP-01
// mcp report 5
func TestNothingOutlivesTheClient(t *testing.T) {
	for name, leave := range map[string]func(c *session){
		"end of input": func(c *session) { c.in.Close() },
		"SIGTERM":      func(c *session) { c.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGKILL":      func(c *session) { c.cmd.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			mark := mark(t)
			s := newStageWith(t, strings.ReplaceAll(stubborn, "MARK", mark), shell)
			c := s.session(t)
			c.tool("agent_run", map[string]string{"request": "first"})
			poll(t, "the program's start", func() bool { return exists(filepath.Join(s.dir, "workspace", "started")) })
			if sleeping(t, mark) == 0 {
				t.Error("no process of the task is seen")
			}
			leave(c)
			if err := c.cmd.Wait(); (err != nil) != (name == "SIGKILL") {
				t.Errorf("the server ended with %v\n%s", err, c.log.String())
			}
			if name == "SIGKILL" { // the kernel does it, a moment later
				poll(t, "the end of the tree", func() bool { return sleeping(t, mark) == 0 })
				return
			}
			if n := sleeping(t, mark); n > 0 {
				t.Errorf("%d processes of the task are left", n)
			}
			s.nothingLeft(t)
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
	s := newStageWith(t, strings.ReplaceAll(stubborn, "MARK", mark), shell)
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	parent := exec.Command("/bin/sh", "-c", `"$0" "$1" <&3 & wait`, s.program, s.config)
	parent.Env = s.env
	parent.ExtraFiles = []*os.File{in}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	io.WriteString(hold, handshake+`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_run","arguments":{"request":"first"}}}`+"\n")
	poll(t, "the program's start", func() bool { return exists(filepath.Join(s.dir, "workspace", "started")) })
	if sleeping(t, mark) == 0 {
		t.Error("no process of the task is seen")
	}
	parent.Process.Kill()
	parent.Wait()
	servers := func() (n int) {
		exes, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, e := range exes {
			if at, err := os.Readlink(e); err == nil && at == s.program {
				n++
			}
		}
		return n
	}
	poll(t, "the end of the server", func() bool { return servers() == 0 })
	if n := sleeping(t, mark); n > 0 {
		t.Errorf("%d processes of the task outlived the server", n)
	}
	s.nothingLeft(t)
}

// A thousand clients, one after another on one state root: each is served and nothing gathers.
//
// proves A-MCP-04, A-TX-06
// mcp report 5
func TestSequentialClients(t *testing.T) {
	s := newStage(t)
	clients := 25
	if os.Getenv("SEKISHO_SOAK") != "" { // make http-soak
		clients = 1000
	}
	for i := range clients {
		out, log, _ := s.pipe(t, handshake+`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n")
		if strings.Count(out, "\n") != 2 || !strings.Contains(out, `"agent_status"`) {
			t.Fatalf("client %d: %s\n%s", i, out, log)
		}
	}
	s.nothingLeft(t)
	left, err := os.ReadDir(filepath.Join(s.dir, "state", "agent-mcp"))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 10 {
		t.Errorf("%d entries are in the state root", len(left))
	}
}
