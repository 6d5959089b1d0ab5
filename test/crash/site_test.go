//go:build linux && !cgo

package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/test/agentsite"
	"sekisho/test/mcpclient"
	"sekisho/test/product"
)

var bin product.Bin

func TestMain(m *testing.M) { bin.Main(m) }

// site is one workspace with its applied configuration, model and state root.
type site struct {
	*agentsite.Tested
	t         *testing.T
	workspace string
	trace     string
	product   string
	crashing  string
	records   bool // ended instances may keep records of MCP tasks
}

// allowed is the configuration.
const allowed = `file_edit: {memory_backup_limit_mb: 1}
sandbox:
  workspaces: ["WORKSPACE"]
  execution: {entries: [{alias: sh, path: /bin/sh}]}
`

func newSite(t *testing.T, script string) *site {
	t.Helper()
	s := &site{Tested: agentsite.ForTest(t, &bin, agentsite.Options{Script: script, YAML: allowed, Prepare: populate}), t: t}
	s.workspace, s.trace, s.product = s.Workspace, filepath.Join(s.Dir, "trace"), s.Program
	s.Env = append(s.Env, "CRASH_TRACE="+s.trace)
	var err error
	if s.crashing, err = bin.Build("test/crash/server"); err != nil {
		t.Fatal(err)
	}
	return s
}

// start runs a server and initializes the session. It returns an error when the server dies before it answers.
func (s *site) start(program string, at int) (*mcpclient.Client, error) {
	cmd := exec.Command(program, s.Config)
	cmd.Env = append(slices.Clip(s.Env), fmt.Sprint("CRASH_AT=", at))
	logs, err := os.OpenFile(filepath.Join(s.Dir, "stderr"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer logs.Close()
	cmd.Stderr = logs
	c, err := mcpclient.Start(cmd)
	if err != nil {
		s.t.Fatal(err)
	}
	return c, c.Initialize("crash")
}

// run has the task done and returns its last status; an error means that the server died.
func run(c *mcpclient.Client) (status string, err error) {
	task, err := c.Run("do it")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return c.Await(ctx, task)
}

func (s *site) log() string {
	data, _ := os.ReadFile(filepath.Join(s.Dir, "stderr"))
	return string(data)
}

// left lists what is left of ended servers, without records of MCP tasks where a site may have them.
func (s *site) left() ([]string, error) {
	pattern := "*"
	if s.records {
		pattern = "*/*"
	}
	left, err := filepath.Glob(filepath.Join(s.StateRoot(), "instances", pattern))
	return slices.DeleteFunc(left, func(path string) bool { return s.records && filepath.Base(path) == "mcp-tasks" }), err
}

// leftovers looks for everything that a task's resources could have left on this machine.
func (s *site) leftovers() error {
	var errs []error
	left, err := s.left()
	if len(left) > 0 || err != nil {
		errs = append(errs, fmt.Errorf("instances: %v %v", left, err))
	}
	return errors.Join(append(errs, agentsite.Traces(s.log()), s.processes())...)
}

// processes looks for a process that works in the site's workspace.
func (s *site) processes() error {
	all, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return err
	}
	for _, link := range all {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, s.workspace) {
			return fmt.Errorf("%s is in the workspace", link)
		}
	}
	return nil
}
