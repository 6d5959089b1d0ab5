//go:build linux && !cgo

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sekisho/test/product"
)

// site is a configuration that was applied, with its own state root.
type site struct {
	t       *testing.T
	program string
	dir     string
	config  string
}

func newSite(t *testing.T, extra string) *site {
	t.Helper()
	program, err := bin.Build("cmd/agent-mcp")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, program: program, dir: product.Dir(t)}
	s.config = filepath.Join(s.dir, "agent.yaml")
	s.write(extra)
	if err := os.Mkdir(filepath.Join(s.dir, "project"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.apply()
	return s
}

func (s *site) write(extra string) {
	s.t.Helper()
	yaml := "schema_version: 2\nsandbox: {workspaces: [project]}\n" + extra
	if err := os.WriteFile(s.config, []byte(yaml), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) apply() {
	s.t.Helper()
	if out, err := s.command("apply", s.config, "--yes").CombinedOutput(); err != nil {
		s.t.Fatalf("apply: %v\n%s", err, out)
	}
}

func (s *site) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.program, args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(s.dir, "state"), "XDG_CACHE_HOME="+filepath.Join(s.dir, "cache"))
	return cmd
}

func (s *site) stateRoot() string { return filepath.Join(s.dir, "state", "agent-mcp") }

// instances lists the instance directories.
func (s *site) instances() []string {
	s.t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.stateRoot(), "instances"))
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// server is one running agent-mcp and its client's ends.
type server struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string // stdout, closed at its end
	ended  chan struct{}
	err    error
	mu     sync.Mutex
	stderr bytes.Buffer
	ready  chan struct{}
}

// start runs the server and returns without waiting for anything.
func (s *site) start() *server {
	s.t.Helper()
	v := &server{t: s.t, cmd: s.command(s.config), lines: make(chan string, 100), ended: make(chan struct{}), ready: make(chan struct{})}
	var err error
	if v.in, err = v.cmd.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	logs, err := v.cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := product.Start(v.cmd); err != nil {
		s.t.Fatal(err)
	}
	var readers sync.WaitGroup
	readers.Go(func() { v.read(out) })
	readers.Go(func() { v.watch(logs) })
	go func() {
		readers.Wait()
		v.err = v.cmd.Wait()
		close(v.ended)
	}()
	s.t.Cleanup(func() {
		v.cmd.Process.Kill()
		<-v.ended
	})
	return v
}

func (v *server) read(r io.Reader) {
	defer close(v.lines)
	for b := bufio.NewReader(r); ; {
		line, err := b.ReadString('\n')
		if line != "" {
			v.lines <- line
		}
		if err != nil {
			return
		}
	}
}

func (v *server) watch(r io.Reader) {
	announced := false
	for b := bufio.NewReader(r); ; {
		line, err := b.ReadString('\n')
		v.mu.Lock()
		v.stderr.WriteString(line)
		v.mu.Unlock()
		if !announced && strings.Contains(line, "msg=ready") {
			announced = true
			close(v.ready)
		}
		if err != nil {
			return
		}
	}
}

func (v *server) log() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.stderr.String()
}

func (v *server) awaitReady() *server {
	v.t.Helper()
	select {
	case <-v.ready:
	case <-v.ended:
		v.t.Fatalf("the server ended before it was ready: %v\n%s", v.err, v.log())
	case <-time.After(time.Minute):
		v.t.Fatalf("the server did not become ready:\n%s", v.log())
	}
	return v
}

func (v *server) send(frames ...string) {
	v.t.Helper()
	for _, f := range frames {
		if _, err := io.WriteString(v.in, f+"\n"); err != nil {
			v.t.Fatalf("writing to the server: %v\n%s", err, v.log())
		}
	}
}

// answer returns the next message of stdout.
func (v *server) answer() map[string]any {
	v.t.Helper()
	select {
	case line, ok := <-v.lines:
		if !ok {
			v.t.Fatalf("stdout ended:\n%s", v.log())
		}
		return v.message(line)
	case <-time.After(time.Minute):
		v.t.Fatalf("no answer:\n%s", v.log())
	}
	return nil
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

// awaitEnd returns the exit code and the messages that were still on stdout.
func (v *server) awaitEnd(within time.Duration) (code int, rest []map[string]any) {
	v.t.Helper()
	start := time.Now()
	select {
	case <-v.ended:
	case <-time.After(time.Minute):
		v.t.Fatalf("the server did not end:\n%s", v.log())
	}
	if took := time.Since(start); took > within {
		v.t.Errorf("the end took %v, limit %v", took, within)
	}
	for line := range v.lines {
		rest = append(rest, v.message(line))
	}
	var exit *exec.ExitError
	if errors.As(v.err, &exit) {
		return exit.ExitCode(), rest
	}
	return 0, rest
}
