//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	scriptmodel "sekisho/test/fakes/ollama"
)

// server is one running product with its MCP session and the agent task at work.
type server struct {
	s       *site
	cmd     *exec.Cmd
	session *mcp.ClientSession
	stderr  bytes.Buffer
	task    string // "" when none is at work
	ready   *ask   // a request of the run phase that waits for a call
	plans   int
}

// serve starts the product on the site. extra are files that it inherits, from descriptor 3 on.
func (s *site) serve(ctx context.Context, extra ...*os.File) (*server, error) {
	v := &server{s: s, cmd: s.command(ctx, s.program, s.config)}
	v.cmd.Stderr, v.cmd.ExtraFiles = &v.stderr, extra
	client := mcp.NewClient(&mcp.Implementation{Name: "attack", Version: "1"}, nil)
	var err error
	if v.session, err = client.Connect(ctx, &mcp.CommandTransport{Command: v.cmd, TerminateDuration: time.Minute}, nil); err != nil {
		return nil, fmt.Errorf("the server did not start: %w: %.600s", err, v.stderr.String())
	}
	return v, nil
}

func (v *server) tool(ctx context.Context, name string, arguments any) (string, error) {
	r, err := v.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if len(r.Content) != 1 {
		return "", fmt.Errorf("%s answered %d contents", name, len(r.Content))
	}
	t, ok := r.Content[0].(*mcp.TextContent)
	if !ok || r.IsError {
		return "", fmt.Errorf("%s answered %v", name, r.Content[0])
	}
	return t.Text, nil
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

func (v *server) status(ctx context.Context) (text string, ended bool, err error) {
	text, err = v.tool(ctx, "agent_status", map[string]any{"task_id": v.task})
	switch field(text, "status") {
	case "completed", "failed", "cancelled":
		ended = true
	}
	return text, ended, err
}

// next waits for the model to be asked in the run phase, or for the task's end, whose status it returns. Plans are answered: with one,
// or when over with none, so that the task ends.
func (v *server) next(ctx context.Context, over bool) (a *ask, status string, err error) {
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case a := <-v.s.model.asks:
			switch {
			case a.phase == "run":
				return a, "", nil
			case a.phase == "plan" && !over && v.ready == nil:
				v.plans++
				a.reply <- plan(v.plans)
			case a.phase == "plan":
				return a, "", nil
			default:
				a.reply <- say("A summary.")
			}
		case <-tick.C:
			text, ended, err := v.status(ctx)
			if err != nil || ended {
				return nil, text, err
			}
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
	}
}

// begin makes sure that the model of a task waits for a call. A task that ended before it ran gives its last status.
func (v *server) begin(ctx context.Context) (status string, err error) {
	if v.ready != nil {
		return "", nil
	}
	reply, err := v.tool(ctx, "agent_run", map[string]any{"request": "Do it."})
	if err != nil {
		return "", err
	}
	if v.task = field(reply, "task_id"); v.task == "" {
		return "", fmt.Errorf("agent_run answered %q", reply)
	}
	a, status, err := v.next(ctx, false)
	if err != nil {
		return "", err
	}
	if a == nil {
		v.task = ""
	}
	v.ready = a
	return status, nil
}

// result is what the model was told of a call, or how the task ended.
type result struct {
	OK     bool   `json:"ok"`
	Code   string `json:"error_code"`
	Target string `json:"target_path"`
	Text   string // everything after the header
	Status string // of agent_status, when the call ended the task
}

// call makes one tool call and returns what came of it. A call that is denied ends its task; the next one begins another.
func (v *server) call(ctx context.Context, name string, arguments map[string]any) (r result, err error) {
	if status, err := v.begin(ctx); err != nil || status != "" {
		return result{Code: field(status, "last_error_code"), Status: status}, err
	}
	before := 0 // results that the model knows
	for _, m := range v.ready.q.Messages {
		if m.Role == "tool" {
			before++
		}
	}
	v.ready.reply <- scriptmodel.Reply{ToolCalls: []scriptmodel.Call{{Name: name, Arguments: text(arguments)}}}
	a, status, err := v.next(ctx, true)
	if err != nil {
		return r, err
	}
	v.ready = nil
	if a == nil {
		v.task = ""
		return result{Code: field(status, "last_error_code"), Status: status}, nil
	}
	var told []string
	for _, m := range a.q.Messages {
		if a.phase != "run" || m.Role == "tool" {
			told = append(told, m.Content)
		}
	}
	if a.phase == "run" {
		v.ready = a
		if len(told) <= before {
			return r, fmt.Errorf("the call of %s was not made", name)
		}
		header, body, _ := strings.Cut(told[len(told)-1], "\n")
		if err := json.Unmarshal([]byte(header), &r); err != nil {
			return r, fmt.Errorf("the model was told %q", told[len(told)-1])
		}
		r.Text = body
		return r, nil
	}
	// A replan: the model is asked for another plan with the result of the refused call, and gives none.
	r.Text, r.Code = strings.Join(told, "\n"), "policy.denied"
	if m := errorCode.FindStringSubmatch(r.Text); m != nil {
		r.Code = m[1]
	}
	a.reply <- say(map[string]any{"tasks": []any{}})
	r.Status, err = v.finish(ctx)
	return r, err
}

var errorCode = regexp.MustCompile(`"error_code":"([a-z_.]+)"`)

// finish lets the task end and returns its last status.
func (v *server) finish(ctx context.Context) (string, error) {
	if v.task == "" {
		return "", nil
	}
	for {
		if v.ready != nil {
			v.ready.reply <- say("Done.")
			v.ready = nil
		}
		a, status, err := v.next(ctx, true)
		if err != nil {
			return "", err
		}
		if a == nil {
			v.task = ""
			return status, nil
		}
		if a.phase == "run" {
			v.ready = a
		} else {
			a.reply <- say(map[string]any{"tasks": []any{}})
		}
	}
}

// close ends the task and the server.
func (v *server) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	_, err := v.finish(ctx)
	return errors.Join(err, v.session.Close())
}
