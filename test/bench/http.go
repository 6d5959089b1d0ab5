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
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// httpClient is one MCP server's process and one connection to it. It writes requests itself: an HTTP library would cost both
// sides of a comparison so much that their difference could not be seen.
type httpClient struct {
	cmd    *exec.Cmd // nil for a further connection
	addr   string
	conn   net.Conn
	in     *bufio.Reader
	modern bool
	stderr bytes.Buffer
	id     int
	body   bytes.Buffer
}

func address(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// startHTTP starts a server and returns when it can be connected to.
func (b *bench) startHTTP(env []string, port int, argv ...string) (*httpClient, error) {
	c := &httpClient{cmd: exec.CommandContext(b.ctx, argv[0], argv[1:]...), addr: address(port)}
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Dir = b.dir
	c.cmd.Stderr = &c.stderr
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	for {
		err := c.connect()
		if err == nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", argv[0], errors.Join(err, c.stop()))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (c *httpClient) connect() (err error) {
	if c.conn, err = net.Dial("tcp", c.addr); err != nil {
		return err
	}
	c.in = bufio.NewReader(c.conn)
	return nil
}

// another is a further connection to the same server.
func (c *httpClient) another() (*httpClient, error) {
	a := &httpClient{addr: c.addr, modern: c.modern}
	return a, a.connect()
}

func (c *httpClient) exchange(method, params string) ([]byte, error) {
	c.id++
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.id, method, params)
	routing := "MCP-Protocol-Version: 2025-06-18\r\n"
	if c.modern {
		routing = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + method + "\r\n"
		if _, rest, ok := strings.Cut(params, `"name":"`); ok && method == "tools/call" {
			name, _, _ := strings.Cut(rest, `"`)
			routing += "Mcp-Name: " + name + "\r\n"
		}
	}
	_, err := fmt.Fprintf(c.conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s",
		c.addr, routing, len(body), body)
	if err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	c.body.Reset()
	_, err = io.Copy(&c.body, resp.Body)
	return c.body.Bytes(), err
}

// stop ends the connection and, if it is its own, the server.
func (c *httpClient) stop() error {
	if c.conn != nil {
		c.conn.Close()
	}
	if c.cmd == nil {
		return nil
	}
	c.cmd.Process.Signal(syscall.SIGTERM)
	err := c.cmd.Wait()
	if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGTERM {
		return nil // the bare server knows no other end
	}
	if err != nil {
		return fmt.Errorf("the server's end: %w\n%s", err, c.stderr.String())
	}
	return nil
}

// atOnce is how many clients call at a time. The server's queue takes 64 tasks.
const atOnce = 50

// many measures how long agent_run takes for each of 50 clients that call at the same moment, again and again, without and with
// the Tasks extension, whose record is on the disk before the answer.
func (b *bench) many() (err error) {
	var ends []func() error
	defer func() {
		for i := len(ends) - 1; i >= 0; i-- {
			err = errors.Join(err, ends[i]())
		}
	}()
	first, err := b.httpProduct(&ends)
	if err != nil {
		return err
	}
	first.modern = true
	clients := []*httpClient{first}
	for range atOnce - 1 {
		c, err := first.another()
		if err != nil {
			return err
		}
		ends = append(ends, c.stop)
		clients = append(clients, c)
	}
	for name, meta := range map[string]string{
		"plain":      modernMeta,
		"with Tasks": strings.Replace(modernMeta, `Capabilities":{}`, `Capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1),
	} {
		times, err := b.rounds(clients, `{"name":"agent_run","arguments":{"request":"x"},`+meta+`}`)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		slices.Sort(times)
		at := func(q float64) string { return short(times[min(len(times)-1, int(q*float64(len(times))))]) }
		note(name, "%d calls: median %s, p90 %s, p99 %s, longest %s", len(times), at(0.5), at(0.9), at(0.99), short(times[len(times)-1]))
	}
	return nil
}

// rounds lets all clients call at once, waits until every task has ended, and does so again.
func (b *bench) rounds(clients []*httpClient, params string) ([]time.Duration, error) {
	var all []time.Duration
	for range b.pairs(10) {
		took, tasks, errs := make([]time.Duration, len(clients)), make([]string, len(clients)), make([]error, len(clients))
		start := make(chan struct{})
		var running sync.WaitGroup
		for i, c := range clients {
			running.Go(func() {
				<-start
				begun := time.Now()
				answer, err := c.exchange("tools/call", params)
				took[i] = time.Since(begun)
				tasks[i], errs[i] = taskOf(answer, err)
			})
		}
		close(start)
		running.Wait()
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		all = append(all, took...)
		for i, c := range clients {
			if err := b.untilEnded(c, tasks[i]); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// taskOf finds the id of the task in either answer to agent_run.
func taskOf(answer []byte, err error) (string, error) {
	if err != nil {
		return "", err
	}
	var m struct {
		Result struct {
			TaskID  string `json:"taskId"`
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal(answer, &m); err != nil {
		return "", err
	}
	if m.Result.TaskID != "" {
		return m.Result.TaskID, nil
	}
	if len(m.Result.Content) == 1 {
		if _, rest, ok := strings.Cut(m.Result.Content[0].Text, "task_id: "); ok {
			id, _, _ := strings.Cut(rest, "\n")
			return id, nil
		}
	}
	return "", fmt.Errorf("agent_run answered %s", answer)
}

func (b *bench) untilEnded(c *httpClient, task string) error {
	for {
		answer, err := c.exchange("tools/call", `{"name":"agent_status","arguments":{"task_id":"`+task+`"},`+modernMeta+`}`)
		if err != nil {
			return err
		}
		if !bytes.Contains(answer, []byte("status: queued")) && !bytes.Contains(answer, []byte("status: planning")) && !bytes.Contains(answer, []byte("status: running")) {
			return nil
		}
		select {
		case <-b.ctx.Done():
			return b.ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
