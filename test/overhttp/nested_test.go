//go:build linux && !cgo

package overhttp

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"sekisho/test/agentsite"
)

// asking is a script whose task runs the payload: it posts text to each address.
func asking(text string, addresses ...string) string {
	rules := []string{planRun}
	for i, a := range addresses {
		args, _ := json.Marshal([]string{"tcp-ask", a, text})
		rules = append(rules, fmt.Sprintf(`{"name":"ask %d","once":true,"when":{"phase":"run"},"reply":{"tool_calls":[{"name":"process_run","arguments":{"executable":"payload","args":%s,"cwd":"WORKSPACE","timeout_seconds":60,"stdin":null}}]}}`, i, args))
	}
	return `{"model":"scripted","capabilities":["completion","tools"],"rules":[` + strings.Join(append(rules, `{"name":"end","when":{"phase":"run"},"reply":{"content":"asked"}}`), ",") + `]}`
}

// A payload gives no task to another server of the same user, whose door could not tell it from a client. The control is a
// server of the same kind that is nobody's.
//
// proves A-POL-06
func TestNoPayloadReachesAnotherServersDoor(t *testing.T) {
	var reached atomic.Int32
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	control := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) })}
	go control.Serve(l)
	defer control.Close()

	other := newSite(t, agentsite.Idle, agentsite.Workspace)
	payload, err := programs.Build("test/payload")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", other.addr(), len(runCanary), runCanary)
	s := newSite(t, asking(text, l.Addr().String(), other.addr(), fmt.Sprintf("[::1]:%d", other.port)),
		fmt.Sprintf("sandbox: {workspaces: [\"WORKSPACE\"], network: {access: local, local_endpoints: [%d, %d]}, execution: {entries: [{alias: payload, path: %q}]}}\n",
			l.Addr().(*net.TCPAddr).Port, other.port, payload))
	s.Env = other.Env
	if out, err := s.Command("apply", s.Config, "--yes").CombinedOutput(); err != nil {
		t.Fatalf("apply: %v\n%s", err, out)
	}
	first := s.Start()
	v := other.Start()
	client := s.http()
	task := s.tool(client, "agent_run", map[string]string{"request": "ask them"})["task_id"]
	s.await(client, task, "completed", "failed") // a payload that fails fails its task
	if reached.Load() != 1 {
		t.Errorf("the control was reached %d times", reached.Load())
	}
	if code := v.StopBy(os.Interrupt); code != 0 {
		t.Errorf("the other server ended with %d", code)
	}
	// The two write one log; the first line is this test's own.
	if given := strings.Count(other.file("logs/http.jsonl"), `"mcp_tool":"agent_run"`); given != 1 {
		t.Errorf("%d tasks were given, the payload's among them", given)
	}
	if audit := other.file("logs/audit.jsonl"); !strings.Contains(audit, "reserved_server") {
		t.Error("the audit does not tell")
	}
	// Now that it listens, who lists its port is refused; a killed server's port is free at once.
	v = other.Start()
	if code := first.StopBy(os.Interrupt); code != 0 {
		t.Errorf("the first server ended with %d", code)
	}
	again := s.Launch(s.Command(s.Config))
	if err := again.Ready(); err == nil {
		t.Fatal("it is served with a listed door")
	}
	if !strings.Contains(again.Log.String(), "configuration.invalid") || !strings.Contains(again.Log.String(), "agent-mcp") {
		t.Errorf("a listed door: \n%s", again.Log.String())
	}
	v.Kill()
	s.Start().StopBy(os.Interrupt)
}
