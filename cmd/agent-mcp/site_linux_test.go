//go:build linux && !cgo

package main

import (
	"encoding/json"
	"io"
	"testing"
	"time"

	"sekisho/test/agentsite"
)

// site is a configuration that was applied, with its own state root.
type site struct {
	*agentsite.Tested
	t *testing.T
}

func newSite(t *testing.T, extra string) *site {
	t.Helper()
	return &site{agentsite.ForTest(t, &bin, agentsite.Options{YAML: agentsite.Workspace + extra}), t}
}

// server is one running agent-mcp and its client's ends.
type server struct {
	*agentsite.Running
	t  *testing.T
	in io.WriteCloser
}

// start runs the server and returns without waiting for anything.
func (s *site) start() *server {
	s.t.Helper()
	cmd := s.Command(s.Config)
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	return &server{s.Launch(cmd), s.t, in}
}

func (v *server) awaitReady() *server {
	v.t.Helper()
	v.AwaitReady()
	return v
}

func (v *server) send(frames ...string) {
	v.t.Helper()
	for _, f := range frames {
		if _, err := io.WriteString(v.in, f+"\n"); err != nil {
			v.t.Fatalf("writing to the server: %v\n%s", err, v.Log.String())
		}
	}
}

// answer returns the next message of stdout.
func (v *server) answer() map[string]any {
	v.t.Helper()
	line, more, err := v.Line()
	if err != nil || !more {
		v.t.Fatalf("no answer, %v:\n%s", err, v.Log.String())
	}
	return v.message(line)
}

// message requires a line to be one JSON-RPC message.
func (v *server) message(line string) map[string]any {
	v.t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(line), &m); err != nil || m["jsonrpc"] != "2.0" {
		v.t.Fatalf("stdout carried something that is no MCP message: %q", line)
	}
	return m
}

// awaitEnd returns the exit code and the messages that were still on stdout. An end that never comes is a failure.
func (v *server) awaitEnd() (code int, rest []map[string]any) {
	v.t.Helper()
	start := time.Now()
	code = v.AwaitEnd()
	v.t.Logf("the end took %v", time.Since(start).Round(time.Millisecond))
	for {
		line, more, err := v.Line()
		if err != nil {
			v.t.Fatal(err)
		}
		if !more {
			return code, rest
		}
		rest = append(rest, v.message(line))
	}
}
