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

	"sekisho/test/agentsite"
	"sekisho/test/product"
)

var programs product.Bin

func TestMain(m *testing.M) { programs.Main(m) }

// newSite has a model that follows script and further lines of the section sandbox; WORKSPACE in script is replaced.
func newSite(t *testing.T, script, sandbox string) *agentsite.Tested {
	t.Helper()
	return agentsite.ForTest(t, &programs, agentsite.Options{Script: script, YAML: "sandbox:\n  workspaces: [\"WORKSPACE\"]\n" + sandbox,
		Prepare: func(workspace string) error {
			return os.WriteFile(filepath.Join(workspace, "file"), []byte("x\n"), 0o644)
		}})
}

// pipe feeds input to a fresh server and returns what it wrote to stdout and stderr and how long it lived after the input
// ended.
func pipe(t *testing.T, s *agentsite.Tested, input string) (stdout, stderr string, lived time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Program, s.Config)
	cmd.Env = s.Env
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
	s := newSite(t, "", "")
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
	stdout, stderr, lived := pipe(t, s, input.String())
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
	nothingLeft(t, s)
}

// proves A-MCP-04
func TestEveryLogLevelKeepsStandardOutputPure(t *testing.T) {
	s := newSite(t, "", "")
	for _, level := range []string{"debug", "info", "warn", "error"} {
		s.Reconfigure(agentsite.Workspace + "logging: {level: " + level + "}\n")
		stdout, _, _ := pipe(t, s, handshake+"garbage\n")
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
		spoil func(t *testing.T, s *agentsite.Tested)
		says  string
	}{
		"no configuration":    {func(t *testing.T, s *agentsite.Tested) { os.Remove(s.Config) }, "configuration.invalid"},
		"broken YAML":         {func(t *testing.T, s *agentsite.Tested) { os.WriteFile(s.Config, []byte("a: ["), 0o644) }, "configuration.invalid"},
		"changed after apply": {func(t *testing.T, s *agentsite.Tested) { appendTo(t, s.Config, "logging: {level: warn}\n") }, "agent-mcp apply"},
		"nothing applied":     {func(t *testing.T, s *agentsite.Tested) { os.RemoveAll(filepath.Join(s.Dir, "state")) }, "agent-mcp apply"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "", "")
			c.spoil(t, s)
			cmd := s.Command(s.Config)
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
func nothingLeft(t *testing.T, s *agentsite.Tested) {
	t.Helper()
	filepath.WalkDir(filepath.Join(s.Dir, "state"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && filepath.Base(filepath.Dir(path)) == "instances" {
			t.Errorf("instance %s is left", path)
		}
		return nil
	})
	if n := agentsite.Processes(s.Program); n > 0 {
		t.Errorf("%d processes still run %s", n, s.Program)
	}
}
