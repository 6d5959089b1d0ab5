//go:build linux

package serving

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	scriptmodel "sekisho/test/fakes/ollama"
)

// Site is one applied configuration.
type Site struct {
	Program   string // the product
	Dir       string
	Workspace string
	Config    string
	Env       []string // of the product's processes
	model     *scriptmodel.Server
}

// New makes a site below dir, which every user can enter. The script may name WORKSPACE; mcp is the mcp section of the
// configuration in flow style.
func New(program, dir, script, mcp string) (*Site, error) {
	s := &Site{Program: program, Dir: dir, Workspace: filepath.Join(dir, "workspace"), Config: filepath.Join(dir, "agent.yaml"),
		Env: append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "XDG_STATE_HOME="+filepath.Join(dir, "state"))}
	if err := os.Mkdir(s.Workspace, 0o755); err != nil {
		return nil, err
	}
	parsed, err := scriptmodel.Parse([]byte(strings.ReplaceAll(script, "WORKSPACE", s.Workspace)))
	if err != nil {
		return nil, err
	}
	if s.model, err = scriptmodel.Listen(parsed); err != nil {
		return nil, err
	}
	yaml := fmt.Sprintf("schema_version: 2\nollama: {endpoint: %q, model: \"scripted:latest\", think: false}\nmcp: %s\nsandbox: {workspaces: [workspace]}\n", s.model.URL(), mcp)
	if err := os.WriteFile(s.Config, []byte(yaml), 0o644); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	apply := exec.Command(program, "apply", s.Config, "--yes")
	apply.Env = s.Env
	if out, err := apply.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("apply: %w\n%s", err, out), s.Close())
	}
	return s, nil
}

// Close ends the model and tells what it was asked against its script.
func (s *Site) Close() error {
	err := s.model.Close()
	if failures := s.model.Failures(); len(failures) > 0 {
		err = errors.Join(err, fmt.Errorf("the model: %s", strings.Join(failures, "; ")))
	}
	return err
}

// FreePort returns a port of 127.0.0.1 that was free just now.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// Server is a program that serves over HTTP.
type Server struct {
	URL  string
	cmd  *exec.Cmd
	done chan error
	log  *log
}

var endpoint = regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`)

// Start runs a program until Stop and returns once it has told its URL on either output.
func Start(cmd *exec.Cmd) (*Server, error) {
	s := &Server{cmd: cmd, done: make(chan error, 1), log: &log{found: make(chan string, 1)}}
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { s.done <- cmd.Wait() }()
	select {
	case s.URL = <-s.log.found:
		return s, nil
	case err := <-s.done:
		return nil, fmt.Errorf("%s ended before it served: %v\n%s", filepath.Base(cmd.Path), err, s.log)
	case <-time.After(time.Minute):
		cmd.Process.Kill()
		return nil, fmt.Errorf("%s told no URL: %v\n%s", filepath.Base(cmd.Path), <-s.done, s.log)
	}
}

// Serve starts the product with the site's configuration, whose transport is http.
func (s *Site) Serve() (*Server, error) {
	cmd := exec.Command(s.Program, s.Config)
	cmd.Env = s.Env
	return Start(cmd)
}

// Stop ends it in order and returns how it ended.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-s.done:
		if err != nil {
			return fmt.Errorf("%w\n%s", err, s.log)
		}
		return nil
	case <-time.After(time.Minute):
		s.cmd.Process.Kill()
		return fmt.Errorf("%s did not stop: %w", filepath.Base(s.cmd.Path), <-s.done)
	}
}

// log keeps what a program prints and finds its URL.
type log struct {
	mu    sync.Mutex
	text  bytes.Buffer
	told  bool
	found chan string
}

var _ io.Writer = (*log)(nil)

// Write implements io.Writer.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if url := endpoint.Find(l.text.Bytes()); url != nil && !l.told && l.text.Bytes()[l.text.Len()-1] == '\n' {
		l.told = true
		l.found <- string(url)
	}
	return len(p), nil
}

// String implements fmt.Stringer.
func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
