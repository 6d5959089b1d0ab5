//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sekisho/test/fakes/responses"
)

const codexVersion = "0.159.1"

// codex starts codex app-server with agent-mcp among its MCP servers, looks at the inventory, and has a thread call the tools.
// No turn runs, so no model is asked.
func codex(transport string) func(context.Context, *stage, string) (string, error) {
	return func(ctx context.Context, s *stage, request string) (string, error) {
		home, err := os.MkdirTemp(s.dir, "codex-")
		if err != nil {
			return "", err
		}
		b, err := s.pageBlock("codex", transport)
		if err != nil {
			return "", err
		}
		table := b.Text
		if transport == "stdio" { // codex passes on only what is named
			table += fmt.Sprintf("env = {XDG_STATE_HOME = %q, XDG_CACHE_HOME = %q}\n", filepath.Join(s.stdio.Dir, "state"), filepath.Join(s.stdio.Dir, "cache"))
		}
		if err := responses.Home(home, "http://127.0.0.1:9", table, s.dir); err != nil {
			return "", err
		}
		a, err := startCodex(ctx, s, home)
		if err != nil {
			return "", err
		}
		text, err := a.agentRun(ctx, s.dir, request)
		if end := a.close(); err == nil && end != nil {
			err = end
		}
		if err != nil {
			return "", fmt.Errorf("%w\n%s", err, a.stderr)
		}
		return text, nil
	}
}

// appServer speaks JSON lines with one codex app-server.
type appServer struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *strings.Builder
	id     int
}

func startCodex(ctx context.Context, s *stage, home string) (*appServer, error) {
	a := &appServer{cmd: exec.CommandContext(ctx, s.codex, "app-server"), stderr: &strings.Builder{}}
	a.cmd.Env, a.cmd.Dir, a.cmd.Stderr = append(s.env(), "CODEX_HOME="+home), s.dir, a.stderr
	var err error
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	a.out = bufio.NewReader(out)
	return a, a.cmd.Start()
}

// agentRun does the client's part.
func (a *appServer) agentRun(ctx context.Context, cwd, request string) (string, error) {
	if err := a.call("initialize", map[string]any{"clientInfo": map[string]any{"name": "sekisho_clients", "title": "clients", "version": "1"}}, nil); err != nil {
		return "", err
	}
	if err := a.write(map[string]any{"method": "initialized"}); err != nil {
		return "", err
	}
	var list struct {
		Data []struct {
			Name  string
			Tools map[string]json.RawMessage
		}
	}
	if err := a.call("mcpServerStatus/list", map[string]any{}, &list); err != nil {
		return "", err
	}
	if len(list.Data) != 1 || list.Data[0].Name != "agent" || len(list.Data[0].Tools) != 2 || list.Data[0].Tools["agent_run"] == nil || list.Data[0].Tools["agent_status"] == nil {
		return "", fmt.Errorf("mcpServerStatus/list: %+v", list)
	}
	var started struct{ Thread struct{ ID string } }
	if err := a.call("thread/start", map[string]any{"cwd": cwd}, &started); err != nil {
		return "", err
	}
	tool := func(name string, arguments map[string]any) (string, error) {
		var result struct {
			Content []struct{ Text string }
			IsError bool
		}
		err := a.call("mcpServer/tool/call", map[string]any{"threadId": started.Thread.ID, "server": "agent", "tool": name, "arguments": arguments}, &result)
		if err != nil || len(result.Content) != 1 || result.IsError {
			return "", fmt.Errorf("%s: %w %+v", name, err, result)
		}
		return result.Content[0].Text, nil
	}
	text, err := tool("agent_run", map[string]any{"request": request})
	if err != nil {
		return "", err
	}
	return poll(ctx, text, func(task string) (string, error) { return tool("agent_status", map[string]any{"task_id": task}) })
}

func (a *appServer) write(m map[string]any) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = a.in.Write(append(data, '\n'))
	return err
}

// call waits for the answer to one request and passes over notifications.
func (a *appServer) call(method string, params, result any) error {
	a.id++
	if err := a.write(map[string]any{"id": a.id, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		line, err := a.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		var m struct {
			ID            json.RawMessage
			Method        string
			Result, Error json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return fmt.Errorf("%s: %w in %s", method, err, line)
		}
		if m.Method != "" {
			if m.ID != nil {
				return fmt.Errorf("%s: codex asks %s", method, line)
			}
			continue
		}
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	}
}

func (a *appServer) close() error {
	a.in.Close()
	io.Copy(io.Discard, a.out)
	if err := a.cmd.Wait(); err != nil {
		return fmt.Errorf("codex ended with %w", err)
	}
	return nil
}
