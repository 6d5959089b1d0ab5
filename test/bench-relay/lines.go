//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// lines speaks JSON-RPC in lines with a program that it started: the app-server itself, or codex-acp.
type lines struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	onNote func(method string, params json.RawMessage, at time.Time)
	done   chan struct{}

	mu   sync.Mutex
	next int
	wait map[int]chan message
	err  error
}

type message struct {
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func startLines(env []string, dir, program string, args ...string) (*lines, error) {
	l := &lines{cmd: exec.Command(program, args...), wait: map[int]chan message{}, done: make(chan struct{})}
	l.cmd.Dir, l.cmd.Env = dir, env
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var err error
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	go l.read(out)
	return l, nil
}

func (l *lines) read(out io.Reader) {
	defer close(l.done)
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		at := time.Now()
		if err != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.err = err
			for _, ch := range l.wait {
				close(ch)
			}
			l.wait = nil
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		if m.Method != "" {
			if l.onNote != nil {
				l.onNote(m.Method, m.Params, at)
			}
			continue
		}
		var id int
		if json.Unmarshal(m.ID, &id) != nil {
			continue
		}
		l.mu.Lock()
		ch := l.wait[id]
		delete(l.wait, id)
		l.mu.Unlock()
		if ch != nil {
			ch <- m
		}
	}
}

func (l *lines) write(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = l.in.Write(append(data, '\n'))
	return err
}

func (l *lines) call(ctx context.Context, method string, params, result any) error {
	ch := make(chan message, 1)
	l.mu.Lock()
	if l.wait == nil {
		l.mu.Unlock()
		return fmt.Errorf("%s: %w", method, l.err)
	}
	l.next++
	id := l.next
	l.wait[id] = ch
	l.mu.Unlock()
	if err := l.write(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return err
	}
	select {
	case m, ok := <-ch:
		switch {
		case !ok:
			return fmt.Errorf("%s: %w", method, io.ErrUnexpectedEOF)
		case m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error)
		case result == nil:
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

// stop ends the program with its group.
func (l *lines) stop() error {
	err := l.in.Close()
	select {
	case <-l.done:
	case <-time.After(3 * time.Second):
	}
	kill := syscall.Kill(-l.cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(kill, syscall.ESRCH) {
		kill = nil
	}
	<-l.done
	_ = l.cmd.Wait() // it was killed, or has left
	return errors.Join(err, kill)
}
