//go:build linux && !cgo

package stdio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A limit that ended a program is told as that limit, through every layer: kernel, backend, tool, runtime, MCP text.
// proves A-SBX-02, A-SBX-09, A-ERR-02
func TestLimitsAreToldAsLimits(t *testing.T) {
	for name, c := range map[string]struct {
		resources, arguments string
		code                 string
	}{
		"time":      {"{}", `{"executable":"sh","args":["-c","sleep 1000"],"cwd":"WORKSPACE","timeout_seconds":1,"stdin":null}`, "resource.time_limit"},
		"processes": {"{process_limit: 4}", `{"executable":"sh","args":["-c","for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; wait"],"cwd":"WORKSPACE","timeout_seconds":60,"stdin":null}`, "resource.process_limit"},
		"memory":    {"{memory_mb: 64}", `{"executable":"sh","args":["-c","head -c 200000000 /dev/zero | tail -c 190000000 | wc -c"],"cwd":"WORKSPACE","timeout_seconds":60,"stdin":null}`, "resource.memory_limit"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStageWith(t, `{"model":"scripted","capabilities":["completion","tools"],"rules":[
				{"name":"plan","when":{"phase":"plan"},"reply":{"content":{"tasks":[{"id":"t1","description":"run it","depends_on":[],"budget_class":"1K","optimistic_tokens":1,"most_likely_tokens":2,"pessimistic_tokens":3,"requires_external_effect":true,"required_tools":["process_run"]}]}}},
				{"name":"run","when":{"phase":"run"},"reply":{"tool_calls":[{"name":"process_run","arguments":`+c.arguments+`}]}}]}`,
				"  execution: {entries: [{alias: sh, path: /bin/sh}]}\n  resources: "+c.resources+"\n")
			status := s.task(t, "run it")
			if status["status"] != "failed" || status["last_error_code"] != c.code || status["replans"] != "1" {
				t.Errorf("got %v, want failed with %s after one replan", status, c.code)
			}
			s.nothingLeft(t)
		})
	}
}

// task hands one request to a fresh server, waits for its end and returns agent_status's fields.
func (s stage) task(t *testing.T, request string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.program, s.config)
	cmd.Env = s.env
	var log bytes.Buffer
	cmd.Stderr = &log
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	read := func() string {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after %q", err, line)
		}
		return line
	}
	io.WriteString(in, handshake)
	read()
	text := func(id int, tool string, arguments any) map[string]string {
		args, _ := json.Marshal(arguments)
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", id, tool, args)
		var m struct {
			Result struct{ Content []struct{ Text string } }
		}
		if line := read(); json.Unmarshal([]byte(line), &m) != nil || len(m.Result.Content) != 1 {
			t.Fatalf("%s answered %s", tool, line)
		}
		fields := map[string]string{}
		for line := range strings.Lines(m.Result.Content[0].Text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			fields[name] = strings.TrimSpace(value)
		}
		return fields
	}
	task := text(1, "agent_run", map[string]string{"request": request})["task_id"]
	var status map[string]string
	tick := time.NewTicker(50 * time.Millisecond) // the client's poll interval, as agent_status has no other way
	defer tick.Stop()
	for id := 2; id < 2000; id++ {
		status = text(id, "agent_status", map[string]string{"task_id": task})
		if s := status["status"]; s == "completed" || s == "failed" || s == "cancelled" {
			break
		}
		<-tick.C
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, log.String())
	}
	return status
}
