package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// client is a plain MCP client over the stdio of one agent-mcp process. It keeps every message in a transcript: "> " sent,
// "< " received.
type client struct {
	cmd        *exec.Cmd
	in         io.WriteCloser
	out        *bufio.Reader
	transcript *os.File
	nextID     int
}

// startServer starts the real program on a configuration; its standard error goes to log.
func startServer(ctx context.Context, s *scene, log io.Writer) (*client, error) {
	path := fmt.Sprintf("%s/transcript-%d.txt", s.dir, len(s.run.Transcripts)+1)
	transcript, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, s.run.Program, s.config)
	cmd.Env = s.env
	cmd.Dir = s.dir
	cmd.Stderr = log
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s.run.Transcripts = append(s.run.Transcripts, path)
	s.run.PIDs = append(s.run.PIDs, cmd.Process.Pid)
	c := &client{cmd: cmd, in: in, out: bufio.NewReader(out), transcript: transcript}
	_, err = c.request("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "sekisho-demo", "version": "1"},
	})
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("the server did not start: %w", err)
	}
	return c, c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

func (c *client) send(message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.transcript, "> %s\n", data)
	_, err = c.in.Write(append(data, '\n'))
	return err
}

// request sends one request and returns its result; the server asks nothing, so the next message is the answer.
func (c *client) request(method string, params any) (json.RawMessage, error) {
	c.nextID++
	if err := c.send(map[string]any{"jsonrpc": "2.0", "id": c.nextID, "method": method, "params": params}); err != nil {
		return nil, err
	}
	line, err := c.out.ReadString('\n')
	if line != "" {
		fmt.Fprintf(c.transcript, "< %s\n", strings.TrimRight(line, "\n"))
	}
	if err != nil {
		return nil, err
	}
	var answer struct {
		ID     int
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal([]byte(line), &answer); err != nil {
		return nil, fmt.Errorf("answer is no MCP message: %w", err)
	}
	if answer.Error != nil {
		return nil, fmt.Errorf("%s: %d %s", method, answer.Error.Code, answer.Error.Message)
	}
	if answer.ID != c.nextID {
		return nil, fmt.Errorf("answer to %d, want %d", answer.ID, c.nextID)
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
		return "", errors.Join(fmt.Errorf("%s answered without one text", name), err)
	}
	return r.Content[0].Text, nil
}

// stop closes the client's side and waits for the server to go, as an MCP client does.
func (c *client) stop() error {
	c.in.Close()
	ended := make(chan error, 1)
	go func() { ended <- c.cmd.Wait() }()
	defer c.transcript.Close()
	select {
	case err := <-ended:
		return err
	case <-time.After(10 * time.Second):
		c.cmd.Process.Kill()
		return errors.Join(errors.New("the server did not end within 10 s after its input ended"), <-ended)
	}
}

// kill ends the server as a crash would.
func (c *client) kill() {
	c.cmd.Process.Kill()
	c.cmd.Wait()
	c.transcript.Close()
}

// fields reads the lines of a tool's text; the value of the last field may span lines.
func fields(text string) map[string]string {
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
