//go:build linux && !cgo

package crash

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	scriptmodel "sekisho/test/fakes/ollama"
	"sekisho/test/product"
)

var bin product.Bin

func TestMain(m *testing.M) {
	code := m.Run()
	bin.Close()
	os.Exit(code)
}

// site is one workspace with its applied configuration, model and state root.
type site struct {
	t         *testing.T
	dir       string
	workspace string
	config    string
	trace     string
	product   string
	crashing  string
	records   bool // ended instances may keep records of MCP tasks
}

func newSite(t *testing.T, script string) *site {
	t.Helper()
	s := &site{t: t, dir: product.Dir(t)}
	s.workspace, s.config, s.trace = filepath.Join(s.dir, "project"), filepath.Join(s.dir, "agent.yaml"), filepath.Join(s.dir, "trace")
	var err error
	if s.product, err = bin.Build("cmd/agent-mcp"); err != nil {
		t.Fatal(err)
	}
	if s.crashing, err = bin.Build("test/crash/server"); err != nil {
		t.Fatal(err)
	}
	model := scriptmodel.Start(t, strings.ReplaceAll(script, "WORKSPACE", s.workspace))
	yaml := fmt.Sprintf(`schema_version: 2
ollama: {endpoint: %q, model: "scripted:latest", think: false}
file_edit: {memory_backup_limit_mb: 1}
sandbox:
  workspaces: [project]
  execution: {entries: [{alias: sh, path: /bin/sh}]}
`, model.URL())
	if err := errors.Join(os.Mkdir(s.workspace, 0o755), populate(s.workspace), os.WriteFile(s.config, []byte(yaml), 0o644)); err != nil {
		t.Fatal(err)
	}
	if out, err := s.command(s.product, "apply", s.config, "--yes").CombinedOutput(); err != nil {
		t.Fatalf("apply: %v\n%s", err, out)
	}
	return s
}

func (s *site) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(s.dir, "state"), "XDG_CACHE_HOME="+filepath.Join(s.dir, "cache"), "CRASH_TRACE="+s.trace)
	return cmd
}

// client is one running server and its MCP client.
type client struct {
	s      *site
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr string // file
	id     int
}

// start runs a server and initializes the session. It returns an error when the server dies before it answers.
func (s *site) start(program string, at int) (*client, error) {
	c := &client{s: s, cmd: s.command(program, s.config), stderr: filepath.Join(s.dir, "stderr")}
	c.cmd.Env = append(c.cmd.Env, fmt.Sprint("CRASH_AT=", at))
	logs, err := os.OpenFile(c.stderr, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer logs.Close()
	c.cmd.Stderr = logs
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	_, err = c.call("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"crash","version":"1"}}`)
	if err == nil {
		_, err = io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	return c, err
}

func (c *client) call(method, params string) (json.RawMessage, error) {
	c.id++
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method, params); err != nil {
		return nil, err
	}
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var m struct {
		Result, Error json.RawMessage
	}
	if err := json.Unmarshal(line, &m); err != nil || m.Result == nil {
		return nil, fmt.Errorf("answer to %s: %s", method, line)
	}
	return m.Result, nil
}

// tool calls a tool and returns its text.
func (c *client) tool(name, arguments string) (string, error) {
	result, err := c.call("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
	if err != nil {
		return "", err
	}
	var r struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 {
		return "", fmt.Errorf("result %s", result)
	}
	return r.Content[0].Text, nil
}

var field = regexp.MustCompile(`(?m)^(task_id|status): (.*)$`)

// run has the task done and returns its last status; an error means that the server died.
func (c *client) run() (status string, err error) {
	text, err := c.tool("agent_run", `{"request":"do it"}`)
	if err != nil {
		return "", err
	}
	task := field.FindStringSubmatch(text)
	if task == nil {
		return "", fmt.Errorf("agent_run said %q", text)
	}
	tick := time.NewTicker(20 * time.Millisecond) // polling is what a client does
	defer tick.Stop()
	for limit := time.After(2 * time.Minute); ; {
		text, err := c.tool("agent_status", fmt.Sprintf(`{"task_id":%q}`, task[2]))
		if err != nil {
			return "", err
		}
		for _, m := range field.FindAllStringSubmatch(text, -1) {
			if m[1] == "status" && (m[2] == "completed" || m[2] == "failed" || m[2] == "cancelled") {
				return text, nil
			}
		}
		select {
		case <-tick.C:
		case <-limit:
			return "", errors.New("the task did not end in time")
		}
	}
}

// close ends the client's side and returns how the server ended.
func (c *client) close() error {
	c.in.Close()
	io.Copy(io.Discard, c.out)
	return c.cmd.Wait()
}

func (s *site) stateRoot() string { return filepath.Join(s.dir, "state", "agent-mcp") }

func (s *site) log() string {
	data, _ := os.ReadFile(filepath.Join(s.dir, "stderr"))
	return string(data)
}

var instanceID = regexp.MustCompile(`instance=([0-9a-f]{16})`)

// instances lists what is left of ended servers, without records of MCP tasks where a site may have them.
func (s *site) instances() ([]string, error) {
	pattern := "*"
	if s.records {
		pattern = "*/*"
	}
	left, err := filepath.Glob(filepath.Join(s.stateRoot(), "instances", pattern))
	return slices.DeleteFunc(left, func(path string) bool { return s.records && filepath.Base(path) == "mcp-tasks" }), err
}

// leftovers looks for everything that a task's resources could have left on this machine.
func (s *site) leftovers() error {
	var errs []error
	left, err := s.instances()
	if len(left) > 0 || err != nil {
		errs = append(errs, fmt.Errorf("instances: %v %v", left, err))
	}
	ids := map[string]bool{}
	for _, m := range instanceID.FindAllStringSubmatch(s.log(), -1) {
		ids[m[1]] = true
	}
	if len(ids) == 0 {
		errs = append(errs, errors.New("no instance id in the log: nothing to look for"))
	}
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		for id := range ids {
			if err == nil && d.IsDir() && strings.Contains(d.Name(), id) {
				errs = append(errs, fmt.Errorf("control group %s", path))
			}
		}
		return nil
	})
	return errors.Join(append(errs, s.processes(ids))...)
}

// processes looks for a process that belongs to the site: by its control group, its directory or its mounts.
func (s *site) processes(ids map[string]bool) error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.Trim(e.Name(), "0123456789") != "" || e.Name() == fmt.Sprint(os.Getpid()) {
			continue
		}
		groups, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cgroup"))
		mounts, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "mountinfo"))
		for id := range ids {
			if strings.Contains(string(groups), id) || strings.Contains(string(mounts), id) {
				return fmt.Errorf("process %s of instance %s is alive", e.Name(), id)
			}
		}
		if cwd, err := os.Readlink(filepath.Join("/proc", e.Name(), "cwd")); err == nil && strings.HasPrefix(cwd, s.workspace) {
			return fmt.Errorf("process %s works in the workspace", e.Name())
		}
	}
	return nil
}
