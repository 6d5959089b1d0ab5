//go:build linux && !cgo

package overhttp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sekisho/test/agentsite"
)

const planRun = `{"name":"plan","when":{"phase":"plan"},"reply":{"content":{"tasks":[{"id":"t1","description":"run it","depends_on":[],"budget_class":"1K","optimistic_tokens":1,"most_likely_tokens":2,"pessimistic_tokens":3,"requires_external_effect":true,"required_tools":["process_run"]}]}}}`

// sleeper is a model whose task leaves processes with an argument of their own.
func sleeper(mark string) string {
	return `{"model":"scripted","capabilities":["completion","tools"],"rules":[` + planRun + `,
	{"name":"run","once":true,"when":{"phase":"run"},"reply":{"tool_calls":[{"name":"process_run","arguments":{"executable":"sh","args":["-c","trap '' TERM INT HUP; setsid sleep ` + mark + ` & : >WORKSPACE/started; sleep ` + mark + `; wait"],"cwd":"WORKSPACE","timeout_seconds":300,"stdin":null}}]}}]}`
}

const withShell = "sandbox:\n  workspaces: [\"WORKSPACE\"]\n  execution: {entries: [{alias: sh, path: /bin/sh}]}\n"

func (s *site) made(name string) bool {
	_, err := os.Lstat(filepath.Join(s.Dir, "workspace", name))
	return err == nil
}

// A closed connection cancels nothing; a signal ends everything: the running task with its tree, the queued one, the port.
//
// proves A-MCP-05, A-STOP-01, A-RUN-04
func TestAClosedConnectionCancelsNothingAndASignalEverything(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		mark := fmt.Sprintf("8%d.%d", os.Getpid(), sig)
		s := newSite(t, sleeper(mark), withShell)
		v := s.Start()
		// The client sends no more after its request, and is gone with the first byte of the answer.
		c, err := net.Dial("tcp", s.addr())
		if err != nil {
			t.Fatal(err)
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_run","arguments":{"request":"x"}}}`
		fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", s.addr(), len(body), body)
		c.(*net.TCPConn).CloseWrite()
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Errorf("%v: %v\n%s", sig, err, v.Log.String())
		}
		c.Close()
		// The shell makes the file before any process has become sleep.
		agentsite.Poll(t, "the start of the program", func() bool { return s.made("started") && agentsite.Sleeping(mark) > 0 })
		client := s.http()
		queued := s.tool(client, "agent_run", map[string]string{"request": "y"})
		if got := s.tool(client, "agent_status", map[string]string{"task_id": queued["task_id"]}); got["status"] != "queued" || agentsite.Sleeping(mark) == 0 {
			t.Errorf("the first task does not run: the second is %s, %d processes", got["status"], agentsite.Sleeping(mark))
		}
		if code := v.StopBy(sig); code != 0 {
			t.Errorf("%v: exit code %d\n%s", sig, code, v.Log.String())
		}
		if n := agentsite.Sleeping(mark); n > 0 {
			t.Errorf("%v: %d processes are left", sig, n)
		}
		if left := s.Held(); len(left) > 0 {
			t.Errorf("%v: instances left: %v", sig, left)
		}
		if c, err := net.Dial("tcp", s.addr()); err == nil {
			c.Close()
			t.Errorf("%v: the port is still open", sig)
		}
		audit := s.file("logs/audit.jsonl")
		if strings.Count(audit, `"final_state":"cancelled"`) < 1 {
			t.Errorf("%v: the audit does not tell a cancelled task:\n%s", sig, audit)
		}
	}
}

// While the model thinks for longer than any client waits, agent_run has answered and agent_status answers.
//
// proves A-MCP-02, A-MCP-05
// mcp report 8
func TestAgentRunDoesNotWaitForTheModel(t *testing.T) {
	s := newSite(t, `{"model":"scripted","capabilities":["completion","tools"],"rules":[{"name":"slow","reply":{"content":"x","delay_ms":600000}}]}`, agentsite.Workspace)
	v := s.Start()
	c := s.http()
	var tasks []string
	for range 20 {
		got := s.tool(c, "agent_run", map[string]string{"request": "x"})
		if got["status"] != "queued" {
			t.Fatalf("answered %v", got)
		}
		tasks = append(tasks, got["task_id"])
	}
	s.await(c, tasks[0], "planning")
	if got := s.tool(c, "agent_status", map[string]string{"task_id": tasks[19]}); got["status"] != "queued" {
		t.Errorf("the last one is %v", got)
	}
	if code := v.StopBy(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, v.Log.String())
	}
}

// proves A-MCP-05, A-MCP-10, A-ERR-01
func TestAPortInUseIsExplained(t *testing.T) {
	s := newSite(t, agentsite.Idle, agentsite.Workspace)
	v := s.Start()
	second := s.Launch(s.Command(s.Config))
	<-second.Ended
	log := second.Log.String()
	if code := second.Cmd.ProcessState.ExitCode(); code != 1 || strings.Contains(log, "msg=ready") || !strings.Contains(log, "[server.address_unusable]") ||
		!strings.Contains(log, fmt.Sprintf("process %d (\"agent-mcp\")", v.Cmd.Process.Pid)) || second.Out.String() != "" {
		t.Errorf("exit code %d\n%s", code, log)
	}
	if status, _ := s.post(s.http(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != 200 {
		t.Errorf("the first server answers %d", status)
	}
	if left := s.Held(); len(left) != 1 {
		t.Errorf("instances %v, want the first server's", left)
	}
	v.Kill()
	third := s.Start() // the port is free again at once, and the killed server is recovered
	if !strings.Contains(third.Log.String(), "recovered an abandoned instance") {
		t.Errorf("no recovery:\n%s", third.Log.String())
	}
	third.StopBy(syscall.SIGTERM)
	if os.Geteuid() != 0 {
		return
	}
	l := exec.Command("/proc/self/exe") // a listener of another user
	l.Env = append(os.Environ(), roleEnv+"=holder", whereEnv+"="+s.addr())
	l.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	in, err := l.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := l.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	io.ReadFull(out, make([]byte, 1))
	fourth := s.Launch(s.Command(s.Config))
	<-fourth.Ended
	in.Close()
	l.Wait()
	if log := fourth.Log.String(); !strings.Contains(log, "[server.address_unusable]") || !strings.Contains(log, s.addr()) {
		t.Errorf("a port of another user:\n%s", log)
	}
}

// A server that was started to outlive its terminal does.
//
// proves A-STOP-01
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	s := newSite(t, agentsite.Idle, agentsite.Workspace)
	cmd := s.Command()
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `trap '' HUP INT; exec "$0" "$1"`, s.Program, s.Config}
	v := s.Launch(cmd)
	v.AwaitReady()
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		v.Cmd.Process.Signal(sig)
		if status, _ := s.post(s.http(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != 200 {
			t.Errorf("after %v: %d", sig, status)
		}
	}
	if code := v.StopBy(syscall.SIGTERM); code != 0 || strings.Count(v.Log.String(), "msg=stopping") != 1 {
		t.Errorf("exit code %d\n%s", code, v.Log.String())
	}
}

// Twenty MiB of images arrive; 40 MiB are read and judged; one byte more is refused; the server answers after each.
//
// proves A-MCP-05, A-MCP-08
func TestLargeRequests(t *testing.T) {
	s := newSite(t, agentsite.Idle, agentsite.Workspace)
	v := s.Start()
	c := s.http()
	image := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 10<<20-8)...))
	images := []map[string]string{{"mime_type": "image/png", "data_base64": image}, {"mime_type": "image/png", "data_base64": image}}
	if got := s.tool(c, "agent_run", map[string]any{"request": "look", "images": images}); got["status"] != "queued" {
		t.Errorf("20 MiB of images: %v", got)
	}
	frame := func(size int) string {
		const head, tail = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`, `"}}`
		return head + strings.Repeat("A", size-len(head)-len(tail)) + tail
	}
	for _, r := range []struct{ size, status int }{{40 << 20, 200}, {40<<20 + 1, 413}, {41 << 20, 413}, {100, 200}} {
		if status, answer := s.post(c, frame(r.size)); status != r.status {
			t.Errorf("%d bytes: %d %.200s, want %d", r.size, status, answer, r.status)
		}
	}
	chunked, err := http.NewRequest("POST", s.url(), io.MultiReader(bytes.NewReader([]byte(frame(40<<20+1)))))
	if err != nil {
		t.Fatal(err)
	}
	chunked.Header.Set("Content-Type", "application/json")
	if resp, err := c.Do(chunked); err != nil || resp.StatusCode != 413 {
		t.Errorf("chunked: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	var m struct{ Result json.RawMessage }
	if status, answer := s.post(c, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); status != 200 || json.Unmarshal([]byte(answer), &m) != nil || m.Result == nil {
		t.Errorf("afterwards: %d %s", status, answer)
	}
	if code := v.StopBy(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, v.Log.String())
	}
}
