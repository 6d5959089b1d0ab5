// Package mcpclient is a plain MCP client over the standard input and output of one server's process: a line of JSON a message,
// one request after another, in the era with initialize. Nothing of the MCP SDK is in it: what it sees is what was sent.
package mcpclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Client is one server's process and the pipes to it. It is not for concurrent use.
type Client struct {
	Cmd *exec.Cmd
	In  io.WriteCloser
	// Transcript, unless nil, is told every message: "> " sent, "< " received.
	Transcript io.Writer

	out    *bufio.Reader
	stderr bytes.Buffer // where the caller wants it nowhere else
	id     int
}

// RefusedError is an answer that is an error, or the result of a tool that is marked as one.
type RefusedError struct {
	Method string
	Text   string // the error object, or the tool's text
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s was refused: %s", e.Method, e.Text) }

// Start starts a server and says nothing to it. The client can be closed also after an error.
func Start(cmd *exec.Cmd) (*Client, error) {
	c := &Client{Cmd: cmd}
	if cmd.Stderr == nil {
		cmd.Stderr = &c.stderr
	}
	var err error
	if c.In, err = cmd.StdinPipe(); err != nil {
		return c, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return c, err
	}
	c.out = bufio.NewReader(out)
	return c, cmd.Start()
}

// Connect starts a server and initializes a session with it under a client's name.
func Connect(cmd *exec.Cmd, name string) (*Client, error) {
	c, err := Start(cmd)
	if err != nil {
		return c, err
	}
	return c, c.Initialize(name)
}

// Initialize makes the handshake under a client's name.
func (c *Client) Initialize(name string) error {
	_, err := c.Call("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": name, "version": "1"}})
	if err != nil {
		return err
	}
	return c.Notify("notifications/initialized", nil)
}

// Notify sends a notification; params nil leaves them out.
func (c *Client) Notify(method string, params any) error {
	m := map[string]any{"jsonrpc": "2.0", "method": method}
	if params != nil {
		m["params"] = params
	}
	return c.send(m)
}

func (c *Client) send(message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if c.Transcript != nil {
		fmt.Fprintf(c.Transcript, "> %s\n", data)
	}
	_, err = c.In.Write(append(data, '\n'))
	return err
}

// Call makes one request and returns its result. The servers here ask nothing, so the next message is the answer. An error in
// it is a *RefusedError; any other error means that the server is gone or speaks no MCP.
func (c *Client) Call(method string, params any) (json.RawMessage, error) {
	c.id++
	if err := c.send(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	line, err := c.out.ReadBytes('\n')
	if c.Transcript != nil && len(line) > 0 {
		fmt.Fprintf(c.Transcript, "< %s\n", bytes.TrimRight(line, "\n"))
	}
	if err != nil {
		return nil, err
	}
	var answer struct {
		ID            int
		Result, Error json.RawMessage
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, fmt.Errorf("the answer to %s is no MCP message: %w: %s", method, err, line)
	}
	if answer.Error != nil {
		return nil, &RefusedError{method, string(answer.Error)}
	}
	if answer.ID != c.id || answer.Result == nil {
		return nil, fmt.Errorf("%s, request %d, was answered %s", method, c.id, line)
	}
	return answer.Result, nil
}

// LastID is the id of the last request.
func (c *Client) LastID() int { return c.id }

// Tool calls a tool and returns its text, also where the error is that the tool refused.
func (c *Client) Tool(name string, arguments any) (string, error) {
	result, err := c.Call("tools/call", map[string]any{"name": name, "arguments": arguments})
	if err != nil {
		return "", err
	}
	var r struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 {
		return "", fmt.Errorf("%s answered %s", name, result)
	}
	if r.IsError {
		return r.Content[0].Text, &RefusedError{name, r.Content[0].Text}
	}
	return r.Content[0].Text, nil
}

// Close closes the client's side and waits for the server's end, as an MCP client does; a server that lives on for a minute is
// killed. The error tells how the server ended.
func (c *Client) Close() error {
	if c.Cmd.Process == nil {
		return errors.New("the server was not started")
	}
	c.In.Close()
	ended := make(chan error, 1)
	go func() { io.Copy(io.Discard, c.out); ended <- c.Cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("the server's end: %w\n%s", err, c.stderr.String())
		}
		return nil
	case <-time.After(time.Minute):
		c.Cmd.Process.Kill()
		return errors.Join(errors.New("the server did not end within a minute after its input ended"), <-ended)
	}
}

// Log is what the server wrote to standard error, where cmd gave it no other place. It is complete once the server has ended.
func (c *Client) Log() string { return c.stderr.String() }

// Kill ends the server as a crash would.
func (c *Client) Kill() {
	c.Cmd.Process.Kill()
	c.Cmd.Wait()
}

// Fields reads the lines "name: value" of a tool's text. The result, which comes last, may span lines.
func Fields(text string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\n"), ":")
		if _, seen := m[name]; ok && !seen {
			m[name] = strings.TrimSpace(value)
		}
		if name == "result" {
			_, m[name], _ = strings.Cut(text, "\nresult: ")
			break
		}
	}
	return m
}
