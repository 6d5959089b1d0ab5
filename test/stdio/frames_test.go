//go:build linux && !cgo

package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	scriptmodel "sekisho/test/fakes/ollama"
	"sekisho/test/product"
)

var programs product.Bin

func TestMain(m *testing.M) {
	code := m.Run()
	programs.Close()
	os.Exit(code)
}

// stage is an applied configuration with its own state root.
type stage struct {
	dir, config, program string
	env                  []string
}

func newStage(t *testing.T) stage {
	t.Helper()
	program, err := programs.Build("cmd/agent-mcp")
	if err != nil {
		t.Fatal(err)
	}
	dir := product.Dir(t)
	s := stage{dir: dir, config: filepath.Join(dir, "config", "agent.yaml"), program: program}
	s.env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	locales, err := filepath.Abs("../../config/locales")
	if err != nil {
		t.Fatal(err)
	}
	model, err := scriptmodel.Parse([]byte(`{"model":"scripted","capabilities":["completion","tools"],"rules":[{"name":"never planned","reply":{"content":"x"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	fake, err := scriptmodel.Listen(model)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fake.Close() })
	for path, text := range map[string]string{
		"workspace/file": "x\n",
		"config/agent.yaml": fmt.Sprintf("schema_version: 2\nollama: {endpoint: %q, model: scripted}\nsandbox: {workspaces: [%q]}\nlocalization: {directory: %q}\n",
			fake.URL(), filepath.Join(dir, "workspace"), locales),
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	apply := exec.Command(program, "apply", s.config, "--yes")
	apply.Env = s.env
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("apply: %v\n%s", err, out)
	}
	return s
}

// pipe feeds input to a fresh server and returns what it wrote to stdout and stderr and how long it lived after the input
// ended.
func (s stage) pipe(t *testing.T, input string) (stdout, stderr string, lived time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, s.config)
	cmd.Env = s.env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte(input)); err != nil {
		t.Fatalf("writing: %v\n%s", err, log.String())
	}
	in.Close()
	closed := time.Now()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the server ended with %v\n%s", err, log.String())
	}
	return out.String(), log.String(), time.Since(closed)
}

const handshake = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
	`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// proves A-MCP-04, A-MCP-08, A-TX-06
func TestGoodFramesAreAnsweredAmongBadOnes(t *testing.T) {
	s := newStage(t)
	good := []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"agent_status","arguments":{"task_id":"123e4567-e89b-42d3-a456-426614174000"}}}`,
	}
	bad := []string{
		"not json",
		"\xef\xbb\xbf" + good[0],
		`["batch"]`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"` + strings.Repeat("A", 41<<20) + `"}}`,
	}
	var input strings.Builder
	input.WriteString(handshake)
	for i, b := range bad {
		input.WriteString(b + "\n")
		if i < len(good) {
			input.WriteString(good[i] + "\n")
		}
	}
	stdout, stderr, lived := s.pipe(t, input.String())
	answers := map[string]bool{}
	refused := 0
	for line := range strings.Lines(stdout) {
		var m struct {
			JSONRPC string
			ID      any
			Error   *struct{ Code int }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" {
			t.Fatalf("stdout carries %.200q", line)
		}
		if m.ID == nil && m.Error != nil {
			refused++
		} else {
			answers[fmt.Sprint(m.ID)] = m.Error == nil
		}
	}
	for _, id := range []string{"i", "1", "2", "3"} {
		if !answers[id] {
			t.Errorf("request %s got no good answer\n%s\n%s", id, stdout, stderr)
		}
	}
	if refused != len(bad) {
		t.Errorf("%d frames refused, want %d\n%s", refused, len(bad), stdout)
	}
	if !strings.Contains(stdout, "error_code: task.not_found") {
		t.Error("agent_status did not tell task.not_found")
	}
	t.Logf("the server lived %v after the end of its input", lived)
	s.nothingLeft(t)
}

// proves A-MCP-04
func TestEveryLogLevelKeepsStandardOutputPure(t *testing.T) {
	s := newStage(t)
	base, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []string{"debug", "info", "warn", "error"} {
		if err := os.WriteFile(s.config, append(base, []byte("logging: {level: "+level+"}\n")...), 0o644); err != nil {
			t.Fatal(err)
		}
		apply := exec.Command(s.program, "apply", s.config, "--yes")
		apply.Env = s.env
		if out, err := apply.CombinedOutput(); err != nil {
			t.Fatalf("apply: %v\n%s", err, out)
		}
		stdout, _, _ := s.pipe(t, handshake+"garbage\n")
		for line := range strings.Lines(stdout) {
			if !json.Valid([]byte(line)) {
				t.Errorf("level %s: stdout carries %q", level, line)
			}
		}
	}
}

// Fatal paths write nothing to stdout, say what is wrong on stderr and exit 1.
// proves A-MCP-04, A-CFG-05, A-CLI-01
func TestFatalPathsKeepStandardOutputEmpty(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, s stage)
		says  string
	}{
		"no configuration":    {func(t *testing.T, s stage) { os.Remove(s.config) }, "configuration.invalid"},
		"broken YAML":         {func(t *testing.T, s stage) { os.WriteFile(s.config, []byte("a: ["), 0o644) }, "configuration.invalid"},
		"changed after apply": {func(t *testing.T, s stage) { appendTo(t, s.config, "logging: {level: warn}\n") }, "agent-mcp apply"},
		"nothing applied":     {func(t *testing.T, s stage) { os.RemoveAll(filepath.Join(s.dir, "state")) }, "agent-mcp apply"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			c.spoil(t, s)
			cmd := exec.Command(s.program, s.config)
			cmd.Env = s.env
			var out, log bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &log
			err := cmd.Run()
			exit, ok := err.(*exec.ExitError)
			if !ok || exit.ExitCode() != 1 || out.Len() > 0 || !strings.Contains(log.String(), c.says) {
				t.Errorf("%v, stdout %q, stderr\n%s", err, out.String(), log.String())
			}
		})
	}
}

func appendTo(t *testing.T, path, text string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// nothingLeft checks that the ended server left no instance and no process behind.
func (s stage) nothingLeft(t *testing.T) {
	t.Helper()
	filepath.WalkDir(filepath.Join(s.dir, "state"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && filepath.Base(filepath.Dir(path)) == "instances" {
			t.Errorf("instance %s is left", path)
		}
		return nil
	})
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if exe, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe")); err == nil && exe == s.program {
			t.Errorf("process %s still runs %s", e.Name(), exe)
		}
	}
}
