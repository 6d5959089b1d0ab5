// Package agentsite is what tests run agent-mcp on: an applied configuration with its workspace and its state root, the scripted
// model that it names, and servers as their parent sees them.
package agentsite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	scriptmodel "sekisho/test/fakes/ollama"
	"sekisho/test/mcpclient"
)

// Idle is the script of a model that is never asked.
const Idle = `{"model":"scripted","capabilities":["completion","tools"],"rules":[{"name":"never planned","when":{"phase":"text"},"reply":{"content":"-"}}]}`

// Workspace is the rest of a configuration that allows nothing but the workspace.
const Workspace = "sandbox: {workspaces: [\"WORKSPACE\"]}\n"

// Options of a site. In Script and YAML, WORKSPACE stands for the workspace's path.
type Options struct {
	Program string // agent-mcp
	Dir     string // an empty directory that every user can enter
	Script  string // of the model; Idle by default
	YAML    string // the configuration but its version and its model; Workspace by default
	// Prepare, unless nil, fills the workspace before the configuration is applied.
	Prepare func(workspace string) error
}

// Site is one applied configuration.
type Site struct {
	Program   string
	Dir       string
	Workspace string
	Config    string
	Env       []string // of the product's processes
	Model     *scriptmodel.Server
}

// New makes a site and applies its configuration. The caller closes it.
func New(o Options) (*Site, error) {
	if o.Script == "" {
		o.Script = Idle
	}
	s := &Site{Program: o.Program, Dir: o.Dir, Workspace: filepath.Join(o.Dir, "workspace"), Config: filepath.Join(o.Dir, "agent.yaml"),
		Env: append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(o.Dir, "state"), "XDG_CACHE_HOME="+filepath.Join(o.Dir, "cache"))}
	if err := os.Mkdir(s.Workspace, 0o755); err != nil {
		return nil, err
	}
	if o.Prepare != nil {
		if err := o.Prepare(s.Workspace); err != nil {
			return nil, err
		}
	}
	script, err := scriptmodel.Parse([]byte(strings.ReplaceAll(o.Script, "WORKSPACE", s.Workspace)))
	if err != nil {
		return nil, err
	}
	if s.Model, err = scriptmodel.Listen(script); err != nil {
		return nil, err
	}
	if err := errors.Join(s.Configure(o.YAML), s.Apply()); err != nil {
		return nil, errors.Join(err, s.Model.Close())
	}
	return s, nil
}

// Configure writes the configuration, yaml as in Options, and applies nothing.
func (s *Site) Configure(yaml string) error {
	if yaml == "" {
		yaml = Workspace
	}
	head := fmt.Sprintf("schema_version: 2\nollama: {endpoint: %q, model: \"scripted:latest\", think: false}\n", s.Model.URL())
	return os.WriteFile(s.Config, []byte(head+strings.ReplaceAll(yaml, "WORKSPACE", s.Workspace)), 0o644)
}

// Apply makes the configuration the applied one.
func (s *Site) Apply() error {
	if out, err := s.Command("apply", s.Config, "--yes").CombinedOutput(); err != nil {
		return fmt.Errorf("apply: %w\n%s", err, out)
	}
	return nil
}

// Command is the product with arguments, on the site's own state root.
func (s *Site) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.Program, args...)
	cmd.Env = s.Env
	return cmd
}

// Client starts a server with the site's configuration and connects a client over its standard input and output.
func (s *Site) Client(name string) (*mcpclient.Client, error) {
	return mcpclient.Connect(s.Command(s.Config), name)
}

// StateRoot is where the product keeps its state.
func (s *Site) StateRoot() string { return filepath.Join(s.Dir, "state", "agent-mcp") }

// Instances lists what running and crashed servers hold.
func (s *Site) Instances() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.StateRoot(), "instances"))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// Close ends the model and tells what it was asked against its script.
func (s *Site) Close() error {
	err := s.Model.Close()
	if failures := s.Model.Failures(); len(failures) > 0 {
		err = errors.Join(err, fmt.Errorf("the model: %s", strings.Join(failures, "; ")))
	}
	return err
}

// FreePort returns a port of 127.0.0.1 that was free just now. It is none that the kernel gives to who asks for any: another
// process would get it before the server does.
func FreePort() (int, error) {
	for range 100 {
		port := 20000 + rand.IntN(9000)
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		switch {
		case err == nil:
			return port, l.Close()
		case !errors.Is(err, syscall.EADDRINUSE):
			return 0, err
		}
	}
	return 0, errors.New("no port of a hundred is free")
}
