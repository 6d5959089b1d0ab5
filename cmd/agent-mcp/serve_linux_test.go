//go:build linux && !cgo

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sekisho/test/agentsite"
)

const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	listTools   = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

func ping(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id) }

// proves A-MCP-04, A-CLI-01, A-MCP-10, A-MCP-01
func TestThreeGoodFramesAmongFiveKindsOfBadOnes(t *testing.T) {
	s := newSite(t, "")
	v := s.start()
	v.send(initialize, "garbage", "\ufeff{}", `{"jsonrpc":"2.0","id":3}`, initialized, `[`+strings.Repeat("[", 2000),
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "\xff\xfe", listTools)
	answered := map[float64]bool{}
	for len(answered) < 2 {
		m := v.answer()
		if id, ok := m["id"].(float64); ok && m["result"] != nil {
			answered[id] = true
		}
	}
	if !answered[1] || !answered[2] {
		t.Errorf("answered %v, want 1 and 2", answered)
	}
	v.send(ping(4))
	for m := v.answer(); m["id"] != 4.0; m = v.answer() {
		if m["error"] == nil {
			t.Errorf("a bad frame was answered with %v", m)
		}
	}
	if !strings.Contains(v.Log.String(), "msg=ready") || len(s.Held()) != 1 {
		t.Errorf("ready and one instance are expected; instances %v\n%s", s.Held(), v.Log.String())
	}
	v.in.Close()
	if code, _ := v.awaitEnd(); code != 0 {
		t.Errorf("exit code %d after the end of input, want 0\n%s", code, v.Log.String())
	}
	if left := s.Held(); len(left) != 0 {
		t.Errorf("instances left: %v", left)
	}
}

// proves A-STOP-01, A-CLI-04
func TestSignalsStopGracefully(t *testing.T) {
	s := newSite(t, "")
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		v := s.start().awaitReady()
		if err := v.Cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if code, rest := v.awaitEnd(); code != 0 || len(rest) != 0 {
			t.Errorf("%v: exit code %d, stdout %v\n%s", sig, code, rest, v.Log.String())
		}
		if left := s.Held(); len(left) != 0 {
			t.Errorf("%v: instances left: %v", sig, left)
		}
	}
}

// proves A-MCP-04
func TestLossOfTheParentEndsTheServer(t *testing.T) {
	s := newSite(t, "")
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close() // standard input stays open: only the parent's death tells
	parent := s.Command()
	parent.Path, parent.Args = "/bin/sh", []string{"sh", "-c", `"$0" "$1" <&3 & wait`, s.Program, s.Config}
	parent.ExtraFiles = []*os.File{in}
	logs, err := parent.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	r := bufio.NewReader(logs)
	for line := ""; !strings.Contains(line, "msg=ready"); {
		if line, err = r.ReadString('\n'); err != nil {
			t.Fatalf("before ready: %v", err)
		}
	}
	parent.Process.Kill()
	ended := make(chan string, 1)
	go func() {
		rest, _ := io.ReadAll(r) // ends when the server, the last holder, ends
		ended <- string(rest)
	}()
	select {
	case rest := <-ended:
		if !strings.Contains(rest, "parent process ended") {
			t.Errorf("log after the parent's death:\n%s", rest)
		}
	case <-time.After(10 * time.Second):
		t.Error("the server outlived its parent")
		hold.Close()
		<-ended
	}
	parent.Wait()
	if left := s.Held(); len(left) != 0 {
		t.Errorf("instances left: %v", left)
	}
}

// proves A-MCP-04
// mcp report 6
func TestNothingButMessagesOnStdoutAtAnyLevelAndOnFatalPaths(t *testing.T) {
	for _, level := range []string{"debug", "info", "warn", "error"} {
		s := newSite(t, "logging: {level: "+level+"}\n")
		v := s.start()
		v.send(initialize, initialized, "garbage", listTools)
		for m := v.answer(); m["id"] != 2.0; m = v.answer() {
		}
		v.in.Close()
		if code, _ := v.awaitEnd(); code != 0 {
			t.Errorf("%s: exit code %d\n%s", level, code, v.Log.String())
		}
	}
	for name, damage := range map[string]func(*site){
		"changed":     func(s *site) { s.Configure(agentsite.Workspace + "agent: {max_iterations: 3}\n") },
		"malformed":   func(s *site) { s.Configure(agentsite.Workspace + "agent: [\n") },
		"not private": func(s *site) { os.Chmod(s.StateRoot(), 0o755) },
		"journal": func(s *site) {
			dir := filepath.Join(s.StateRoot(), "instances", "0011223344556677", "recovery")
			os.MkdirAll(dir, 0o700)
			os.WriteFile(filepath.Join(dir, "task.json"), []byte("{"), 0o600)
		},
	} {
		s := newSite(t, "logging: {level: debug}\n")
		damage(s)
		v := s.start()
		code, rest := v.awaitEnd()
		if code != 1 || len(rest) != 0 || !strings.Contains(v.Log.String(), "\n[") {
			t.Errorf("%s: exit code %d, stdout %v\n%s", name, code, rest, v.Log.String())
		}
	}
}

// proves A-TX-06
func TestServersSideBySide(t *testing.T) {
	s := newSite(t, "")
	alive := []*server{s.start().awaitReady(), s.start().awaitReady()}
	victim := s.start().awaitReady()
	if got := s.Held(); len(got) != 3 {
		t.Fatalf("instances %v, want three", got)
	}
	victim.Kill()
	if got := s.Held(); len(got) != 3 {
		t.Errorf("instances %v, want the killed one still there", got)
	}
	next := s.start().awaitReady()
	if got := s.Held(); len(got) != 3 || !strings.Contains(next.Log.String(), "recovered an abandoned instance") {
		t.Errorf("instances %v after recovery\n%s", got, next.Log.String())
	}
	for i, v := range append(alive, next) {
		v.send(initialize, initialized, ping(7))
		for m := v.answer(); m["id"] != 7.0; m = v.answer() {
		}
		v.in.Close()
		if code, _ := v.awaitEnd(); code != 0 {
			t.Errorf("server %d: exit code %d\n%s", i, code, v.Log.String())
		}
	}
	if left := s.Held(); len(left) != 0 {
		t.Errorf("instances left: %v", left)
	}
}

// proves A-TX-06
func TestManyServersStartAtOnce(t *testing.T) {
	s := newSite(t, "")
	var all []*server
	for range 5 {
		all = append(all, s.start())
	}
	for _, v := range all {
		v.awaitReady()
	}
	if got := s.Held(); len(got) != 5 {
		t.Errorf("instances %v, want five", got)
	}
	for _, v := range all {
		v.in.Close()
		if code, _ := v.awaitEnd(); code != 0 {
			t.Errorf("exit code %d\n%s", code, v.Log.String())
		}
	}
	if left := s.Held(); len(left) != 0 {
		t.Errorf("instances left: %v", left)
	}
}

// proves A-MCP-04
func TestAClientThatClosesStderrIsStillServed(t *testing.T) {
	s := newSite(t, "logging: {level: debug}\n")
	cmd := s.Command(s.Config)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	logs, _ := cmd.StderrPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	logs.Close()
	io.WriteString(in, initialize+"\n"+initialized+"\n"+listTools+"\n")
	r := bufio.NewReader(out)
	for range 2 {
		line, err := r.ReadString('\n')
		if err != nil || !json.Valid([]byte(line)) {
			t.Fatalf("answer %q, %v", line, err)
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if left := s.Held(); len(left) != 0 {
		t.Errorf("instances left: %v", left)
	}
}

// What a task would meet in its workspace is said when a configuration is applied and when a server starts.
//
// proves A-POL-10, A-POL-14
func TestApplyAndStartTellWhatATaskWouldMeet(t *testing.T) {
	s := newSite(t, "")
	if err := os.WriteFile(s.Dir+"/outside", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(s.Dir+"/outside", s.Dir+"/workspace/linked"); err != nil {
		t.Fatal(err)
	}
	told := func(want string) {
		t.Helper()
		out, err := s.Command("apply", s.Config, "--yes").CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("apply does not say %q: %v\n%s", want, err, out)
		}
		v := s.start()
		v.send(initialize)
		v.answer()
		v.in.Close()
		if code, _ := v.awaitEnd(); code != 0 || !strings.Contains(v.Log.String(), want) {
			t.Errorf("the start does not say %q: exit %d\n%s", want, code, v.Log.String())
		}
	}
	told(s.Dir + "/workspace/linked")
	if err := os.Remove(s.Dir + "/workspace/linked"); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		return // only root can make files of others
	}
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(s.Dir+"/workspace/"+name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(s.Dir+"/workspace/"+name, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	told("2 files and directories in the writable directories, first " + s.Dir + "/workspace/a")
}
