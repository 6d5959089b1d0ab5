//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"time"
)

// client is one running server and its MCP client.
type client struct {
	s      *site
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr string // file
	id     int
}

// serve starts a server and initializes the session; an error means that it did not answer. crashAt makes test/crash/server
// kill itself at that durable effect. The client is usable for close and log in any case.
func (s *site) serve(program string, crashAt int) (*client, error) {
	c := &client{s: s, cmd: s.command(program, s.config)}
	c.cmd.Env = append(c.cmd.Env, fmt.Sprint("CRASH_AT=", crashAt))
	logs, err := os.CreateTemp(s.dir, "stderr-")
	if err != nil {
		return c, err
	}
	defer logs.Close()
	c.stderr = logs.Name()
	c.cmd.Stderr = logs
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return c, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return c, err
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return c, err
	}
	if _, err = c.call("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"selftest","version":"1"}}`); err != nil {
		return c, err
	}
	_, err = io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return c, err
}

var errRefused = errors.New("the server answered with an error")

// call makes one request; an error response is errRefused.
func (c *client) call(method, params string) (json.RawMessage, error) {
	c.id++
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method, params); err != nil {
		return nil, err
	}
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var m struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(line, &m); err != nil {
		return nil, fmt.Errorf("answer to %s: %q", method, line)
	}
	if m.Result == nil {
		return m.Error, errRefused
	}
	return m.Result, nil
}

// tool calls a tool; a result marked as an error is errRefused.
func (c *client) tool(name, arguments string) (string, error) {
	result, err := c.call("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
	if err != nil {
		return string(result), err
	}
	var r struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 {
		return "", fmt.Errorf("result %s", result)
	}
	if r.IsError {
		return r.Content[0].Text, errRefused
	}
	return r.Content[0].Text, nil
}

var field = regexp.MustCompile(`(?m)^(task_id|status): (.*)$`)

// enqueue hands over the one request of the scripts and returns the task's id.
func (c *client) enqueue() (string, error) {
	text, err := c.tool("agent_run", `{"request":"do it"}`)
	if err != nil {
		return "", err
	}
	m := field.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("agent_run said %q", text)
	}
	return m[2], nil
}

// finish polls the task until it has ended and returns its last status.
func (c *client) finish(task string) (string, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := c.tool("agent_status", fmt.Sprintf(`{"task_id":%q}`, task))
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
		case <-c.s.sc.ctx.Done():
			return text, c.s.sc.ctx.Err()
		}
	}
}

// close ends the client's side and returns how the server ended.
func (c *client) close() error {
	if c.cmd.Process == nil {
		return errors.New("it was not started")
	}
	c.in.Close()
	io.Copy(io.Discard, c.out)
	return c.cmd.Wait()
}

func (c *client) log() string { return c.s.read(c.stderr) }
