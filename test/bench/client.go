//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// client is one MCP server's process and the two pipes to it.
type client struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	id     int
}

// startClient starts a server and returns when it has answered initialize.
func (b *bench) startClient(env []string, argv ...string) (*client, error) {
	c, err := b.startPlain(env, argv...)
	if err != nil {
		return nil, err
	}
	_, err = c.call("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	if err == nil {
		_, err = io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", argv[0], errors.Join(err, c.stop()))
	}
	return c, nil
}

// startPlain starts a server and says nothing to it.
func (b *bench) startPlain(env []string, argv ...string) (*client, error) {
	c := &client{cmd: exec.CommandContext(b.ctx, argv[0], argv[1:]...)}
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Dir = b.dir
	c.cmd.Stderr = &c.stderr
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
	return c, nil
}

// call sends one request and returns the result; the servers here ask nothing.
func (c *client) call(method, params string) (json.RawMessage, error) {
	line, err := c.exchange(method, params)
	if err != nil {
		return nil, err
	}
	var m struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(line, &m); err != nil || m.Result == nil {
		return nil, fmt.Errorf("answer to %s: %s", method, line)
	}
	return m.Result, nil
}

// exchange is call without a look into the answer.
func (c *client) exchange(method, params string) ([]byte, error) {
	c.id++
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method, params); err != nil {
		return nil, err
	}
	return c.out.ReadSlice('\n')
}

// tool calls a tool and returns its text.
func (c *client) tool(name, arguments string) (string, error) {
	result, err := c.call("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
	if err != nil {
		return "", err
	}
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 {
		return "", fmt.Errorf("result %s", result)
	}
	return r.Content[0].Text, nil
}

// stop closes the client's side and waits for the server's end.
func (c *client) stop() error {
	c.in.Close()
	io.Copy(io.Discard, c.out)
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("the server's end: %w\n%s", err, c.stderr.String())
	}
	return nil
}
