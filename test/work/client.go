//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// client is a plain MCP client over the stdio of one agent-mcp process.
type client struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	id     int
}

func (s *stage) start(ctx context.Context) (*client, error) {
	c := &client{cmd: exec.CommandContext(ctx, s.program, s.config)}
	c.cmd.Env, c.cmd.Dir, c.cmd.Stderr = s.env, s.dir, &c.stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	_, err = c.request("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "work", "version": "1"}})
	if err == nil {
		err = c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	if err != nil {
		return nil, fmt.Errorf("agent-mcp did not start: %w", errors.Join(err, c.stop()))
	}
	return c, nil
}

func (c *client) send(message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = c.in.Write(append(data, '\n'))
	return err
}

// request sends one request; the server asks nothing, so that the next message is the answer.
func (c *client) request(method string, params any) (json.RawMessage, error) {
	c.id++
	if err := c.send(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var answer struct {
		ID            int
		Result, Error json.RawMessage
	}
	if err := json.Unmarshal(line, &answer); err != nil || answer.ID != c.id || answer.Result == nil {
		return nil, fmt.Errorf("%s was answered %s", method, line)
	}
	return answer.Result, nil
}

// tool calls a tool and returns its text.
func (c *client) tool(name string, arguments any) (string, error) {
	result, err := c.request("tools/call", map[string]any{"name": name, "arguments": arguments})
	if err != nil {
		return "", err
	}
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 {
		return "", fmt.Errorf("%s answered %s", name, result)
	}
	return r.Content[0].Text, nil
}

// stop closes the client's side and waits for the server's end.
func (c *client) stop() error {
	c.in.Close()
	ended := make(chan error, 1)
	go func() { io.Copy(io.Discard, c.out); ended <- c.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("the server's end: %w\n%s", err, c.stderr.String())
		}
		return nil
	case <-time.After(time.Minute):
		c.cmd.Process.Kill()
		return errors.Join(errors.New("the server did not end within a minute after its input ended"), <-ended)
	}
}

// field is a line of a tool's text.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
