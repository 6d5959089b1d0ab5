//go:build linux && !cgo

package overhttp

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sekisho/test/agentsite"
)

// The test binary is also the attacker's program; roleEnv says which.
const (
	roleEnv  = "OVERHTTP_ROLE" // caller, holder, mapper, or own mapper
	whereEnv = "OVERHTTP_ADDR"
)

func init() {
	switch os.Getenv(roleEnv) {
	case "caller":
		os.Exit(caller(os.Getenv(whereEnv)))
	case "mapper":
		os.Exit(mapper(os.Getenv(whereEnv), 12345))
	case "holder":
		os.Exit(holder(os.Getenv(whereEnv)))
	case "own mapper":
		os.Exit(mapper(os.Getenv(whereEnv), os.Geteuid()))
	}
}

const runCanary = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_run","arguments":{"request":"x"}}}`

// caller posts one agent_run and prints status and body.
func caller(addr string) int {
	resp, err := http.Post("http://"+addr+"/mcp", "application/json", strings.NewReader(runCanary))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	body, _ := io.ReadAll(resp.Body)
	fmt.Printf("%d %s\n", resp.StatusCode, body)
	return 0
}

// holder listens on addr until its input ends.
func holder(addr string) int {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer l.Close()
	fmt.Print("x")
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// mapper listens in a network namespace of its own, on the address of the server in this one, and forwards as a user: what a
// container's user-space port mapping does. It prints what a caller in that namespace, of the server's own user, was answered.
func mapper(addr string, user int) int {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		fmt.Println(err)
		return 1
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		fmt.Printf("%s %v\n", out, err)
		return 1
	}
	there, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		fmt.Println(err)
		return 1
	}
	done := make(chan string, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its namespace
		if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- err.Error()
			return
		}
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), roleEnv+"=caller")
		out, err := cmd.CombinedOutput()
		done <- fmt.Sprintf("%s %v", out, err)
	}()
	inside, err := l.Accept()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if err := unix.Setresuid(user, user, user); err != nil { // of this thread, which makes the socket
		fmt.Println(err)
		return 1
	}
	outside, err := net.Dial("tcp", addr)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	go func() { io.Copy(outside, inside); outside.(*net.TCPConn).CloseWrite() }()
	io.Copy(inside, outside)
	inside.Close()
	fmt.Println(<-done)
	return 0
}

func (s *site) attack(role string, uid uint32) string {
	s.t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleEnv+"="+role, whereEnv+"="+s.addr())
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s as %d: %v\n%s", role, uid, err, out)
	}
	return string(out)
}

// needsRoot ends tests that must become another user.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
}

// proves A-MCP-05
func TestAnotherUserIsRefused(t *testing.T) {
	needsRoot(t)
	s := newSite(t, agentsite.Idle, agentsite.Workspace)
	v := s.Start()
	for _, uid := range []uint32{12345, 65534} {
		if got := s.attack("caller", uid); !strings.HasPrefix(got, "403 ") || strings.Contains(got, "task_id") {
			t.Errorf("user %d: %s", uid, got)
		}
	}
	if got := s.attack("caller", uint32(os.Geteuid())); !strings.HasPrefix(got, "200 ") || !strings.Contains(got, "status: queued") { // the control
		t.Errorf("this user: %s", got)
	}
	if got := s.attack("own mapper", 0); !strings.HasPrefix(got, "200 ") { // the control
		t.Errorf("a port mapped by this user: %s", got)
	}
	if got := s.attack("mapper", 0); !strings.HasPrefix(got, "403 ") {
		t.Errorf("a port mapped by another user: %s", got)
	}
	if code := v.StopBy(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, v.Log.String())
	}
	if got := strings.Count(s.file("logs/http.jsonl"), `"refused":"peer"`); got != 3 {
		t.Errorf("%d refused peers in the request log, want 3\n%s", got, s.file("logs/http.jsonl"))
	}
}

// file reads a file below the state root.
func (s *site) file(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Dir, "state", "agent-mcp", name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// No part of a request but its routing gets into the logs, on every way through the server.
//
// proves A-MCP-09
func TestNothingOfARequestGetsIntoTheLogs(t *testing.T) {
	s := newSite(t, agentsite.Idle, agentsite.Workspace+"logging: {level: debug}\n")
	v := s.Start()
	c := s.http()
	const canary = "canary4711"
	all := []string{"Authorization", "Bearer " + canary, "Cookie", "s=" + canary, "X-Forwarded-For", canary, "Forwarded", "for=" + canary, "User-Agent", canary, "Referer", canary,
		"Mcp-Session-Id", canary, "Last-Event-ID", canary, "Proxy-Authorization", canary, "X-Api-Key", canary}
	with := func(more ...string) []string { return append(append([]string{}, all...), more...) }
	send := func(method, path, body string, header []string) {
		req, err := http.NewRequest(method, "http://"+s.addr()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	status := `{"jsonrpc":"2.0","id":"` + canary + `","method":"tools/call","params":{"name":"agent_status","arguments":{"task_id":"` + canary + `"}}}`
	send("POST", "/mcp?token="+canary, status, with())
	send("POST", "/"+canary, status, with())
	send("GET", "/mcp?x="+canary, "", with())
	send(canary, "/mcp", "", with())
	send("POST", "/mcp", status, with("Origin", "http://"+canary))
	send("POST", "/mcp", status, with("Content-Type", canary))
	send("POST", "/mcp", canary, with())
	send("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+canary+`"}`, with("Mcp-Protocol-Version", canary, "Mcp-Method", canary, "Mcp-Name", canary))
	send("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, with("Mcp-Protocol-Version", canary))
	send("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+canary+`","arguments":{"`+canary+`":1}}}`, with())
	send("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"`+canary+`","reason":"`+canary+`"}}`, with())
	send("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`, with("Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", canary))
	if code := v.StopBy(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, v.Log.String())
	}
	lines := s.file("logs/http.jsonl")
	if n := strings.Count(lines, `"event":"request"`); n != 12 {
		t.Errorf("%d lines, want 12\n%s", n, lines)
	}
	if !strings.Contains(lines, `"mcp_tool":"agent_status"`) || !strings.Contains(lines, `"status":404`) { // the control: it is the log of these requests
		t.Errorf("the log does not tell routing metadata:\n%s", lines)
	}
	for name, text := range map[string]string{"http.jsonl": lines, "application.log": s.file("logs/application.log"), "stderr": v.Log.String(), "stdout": v.Out.String()} {
		if strings.Contains(text, canary) {
			t.Errorf("%s holds something of a request:\n%s", name, text)
		}
	}
}

// proves A-MCP-09
func TestTheRequestLogCanBeSwitchedOff(t *testing.T) {
	s := newSite(t, agentsite.Idle, agentsite.Workspace+"logging: {http_requests: false}\n")
	v := s.Start()
	s.post(s.http(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if code := v.StopBy(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, v.Log.String())
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "state", "agent-mcp", "logs", "http.jsonl")); err == nil || strings.Contains(v.Log.String(), "HTTP request") {
		t.Errorf("there is a request log all the same: %v\n%s", err, v.Log.String())
	}
}
