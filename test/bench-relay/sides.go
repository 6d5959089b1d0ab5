//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"sekisho/internal/relay"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/headless"
)

// side is one program that shows a thread.
type side interface {
	// load starts the program on a home of its own and loads the thread.
	load(ctx context.Context, home string) error
	// prompt sends a message and gives each text of the answer on; it returns at the end of the turn.
	prompt(ctx context.Context, text string, heard func(text string, at time.Time)) error
	// pid is the process whose memory counts.
	pid() int
	stop() error
}

func (b *bench) env(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CODEX_HOME=" + home, "CODEX_PATH=" + b.codex, "XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "XDG_STATE_HOME=" + filepath.Join(home, "state")}
}

// direct is the app-server itself, read by a program that does nothing else.
type direct struct {
	b     *bench
	l     *lines
	heard atomic.Pointer[func(string, time.Time)]
	ended chan struct{}
}

func (d *direct) start(ctx context.Context, home string) error {
	var err error
	if d.l, err = startLines(d.b.env(home), d.b.work, d.b.codex, "app-server"); err != nil {
		return err
	}
	d.ended = make(chan struct{}, 1)
	d.l.onNote = func(method string, params json.RawMessage, at time.Time) {
		switch method {
		case "item/agentMessage/delta":
			var p struct{ Delta string }
			if f := d.heard.Load(); f != nil && json.Unmarshal(params, &p) == nil {
				(*f)(p.Delta, at)
			}
		case "turn/completed":
			d.ended <- struct{}{}
		}
	}
	if err := d.l.call(ctx, "initialize", map[string]any{"clientInfo": map[string]any{"name": "bench", "version": "1"}}, nil); err != nil {
		return err
	}
	return d.l.write(map[string]any{"method": "initialized"})
}

func (d *direct) load(ctx context.Context, home string) error {
	if err := d.start(ctx, home); err != nil {
		return err
	}
	return d.l.call(ctx, "thread/resume", map[string]any{"threadId": d.b.thread, "excludeTurns": true}, nil)
}

func (d *direct) prompt(ctx context.Context, text string, heard func(string, time.Time)) error {
	d.heard.Store(&heard)
	if err := d.l.call(ctx, "turn/start", map[string]any{"threadId": d.b.thread, "input": []any{map[string]any{"type": "text", "text": text}}}, nil); err != nil {
		return err
	}
	select {
	case <-d.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *direct) pid() int    { return d.l.cmd.Process.Pid }
func (d *direct) stop() error { return d.l.stop() }

// acp is codex-acp.
type acp struct {
	b     *bench
	l     *lines
	heard atomic.Pointer[func(string, time.Time)]
}

func (a *acp) load(ctx context.Context, home string) error {
	var err error
	if a.l, err = startLines(a.b.env(home), a.b.work, "node", a.b.peer); err != nil {
		return err
	}
	a.l.onNote = func(method string, params json.RawMessage, at time.Time) {
		var p struct {
			Update struct {
				SessionUpdate string
				Content       struct{ Text string }
			}
		}
		if f := a.heard.Load(); f != nil && method == "session/update" && json.Unmarshal(params, &p) == nil && p.Update.SessionUpdate == "agent_message_chunk" {
			(*f)(p.Update.Content.Text, at)
		}
	}
	if err := a.l.call(ctx, "initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}}, nil); err != nil {
		return err
	}
	return a.l.call(ctx, "session/load", map[string]any{"sessionId": a.b.thread, "cwd": a.b.work, "mcpServers": []any{}}, nil)
}

func (a *acp) prompt(ctx context.Context, text string, heard func(string, time.Time)) error {
	a.heard.Store(&heard)
	return a.l.call(ctx, "session/prompt", map[string]any{"sessionId": a.b.thread, "prompt": []any{map[string]any{"type": "text", "text": text}}}, nil)
}

func (a *acp) pid() int    { return a.l.cmd.Process.Pid }
func (a *acp) stop() error { return a.l.stop() }

// relayed is relaycodex with a front end that speaks the worker contract.
type relayed struct {
	b      *bench
	cmd    *exec.Cmd
	client *headless.Client
	stream *headless.Stream
}

func (r *relayed) load(ctx context.Context, home string) error {
	config := filepath.Join(home, "config", "relaycodex")
	if err := os.MkdirAll(config, 0o700); err != nil {
		return err
	}
	profiles := fmt.Sprintf("profiles:\n  local:\n    codex: %q\n    local_root: %q\n", r.b.codex, r.b.work)
	if err := os.WriteFile(filepath.Join(config, "profiles.yaml"), []byte(profiles), 0o600); err != nil {
		return err
	}
	r.cmd = exec.Command(r.b.relay, "--no-open")
	r.cmd.Dir, r.cmd.Env, r.cmd.Stderr = r.b.work, r.b.env(home), os.Stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := r.cmd.Start(); err != nil {
		return err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err
	}
	if r.client, err = headless.Connect(ctx, strings.TrimSpace(address)); err != nil {
		return err
	}
	if r.stream, err = r.client.Stream(ctx, ""); err != nil {
		return err
	}
	if err := r.until(func(e uicontract.Event) bool {
		switch b := e.Body.(type) {
		case *uicontract.Snapshot:
			return b.Connection.State == uicontract.Connected
		case *uicontract.Connection:
			return b.State == uicontract.Connected
		}
		return false
	}); err != nil {
		return err
	}
	thread := uicontract.ThreadRef{Thread: relay.ThreadID(r.b.thread)}
	if err := r.do(ctx, uicontract.CmdThreadOpen, thread, nil); err != nil {
		return err
	}
	for more := true; more; {
		var older uicontract.OlderResult
		if err := r.do(ctx, uicontract.CmdThreadOlder, thread, &older); err != nil {
			return err
		}
		more = older.More
	}
	return r.do(ctx, uicontract.CmdThreadJoin, thread, nil)
}

func (r *relayed) do(ctx context.Context, kind uicontract.CommandKind, params, value any) error {
	result, err := r.client.Do(ctx, kind, params, value)
	if err == nil && result.Status != uicontract.Done {
		err = fmt.Errorf("%s: %s %+v", kind, result.Status, result.Problem)
	}
	return err
}

func (r *relayed) until(over func(uicontract.Event) bool) error {
	for {
		_, batch, err := r.stream.Next()
		if err != nil {
			return err
		}
		for _, e := range batch.Events {
			if over(e) {
				return nil
			}
		}
	}
}

func (r *relayed) prompt(ctx context.Context, text string, heard func(string, time.Time)) error {
	sent := make(chan error, 1)
	go func() {
		sent <- r.do(ctx, uicontract.CmdTurnSend, uicontract.TurnSend{Thread: relay.ThreadID(r.b.thread), Text: text}, nil)
	}()
	runs := false
	err := r.until(func(e uicontract.Event) bool {
		at := time.Now()
		switch b := e.Body.(type) {
		case *uicontract.Delta:
			heard(b.Text, at)
		case *uicontract.ThreadHead:
			ended := runs && b.TurnStatus == "completed"
			runs = runs || b.TurnStatus == "running"
			return ended
		}
		return false
	})
	if err == nil {
		err = <-sent
	}
	return err
}

func (r *relayed) pid() int { return r.cmd.Process.Pid }

func (r *relayed) stop() error {
	if r.stream != nil {
		r.stream.Close()
	}
	if r.client != nil {
		r.client.Close()
	}
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return r.cmd.Wait()
}
