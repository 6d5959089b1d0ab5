//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"time"
)

// clients are all of them, each with its line of the report.
func clients() []client {
	list := []client{
		{"inspector 2.12.0, http, legacy era", "inspector-http-legacy", inspectorLegacy},
		{"inspector 2.12.0, stdio, modern era, task polled to its end", "inspector-stdio-modern", inspectorTask("stdio")},
		{"inspector 2.12.0, http, modern era, task polled to its end", "inspector-http-modern", inspectorTask("http")},
	}
	for _, transport := range []string{"stdio", "http"} {
		list = append(list,
			client{"codex " + codexVersion + " app-server, " + transport + ", by docs/clients/codex.md", "codex-" + transport, codex(transport)},
			client{"claude code 2.1.332, " + transport + ", by docs/clients/claude-code.md; task by mcp-go", "claude-" + transport, claudeCode(transport)},
			client{"@modelcontextprotocol/sdk 1.32.2, " + transport, "sdk-" + transport, typescript("1", "legacy", transport)},
			client{"@modelcontextprotocol/client 2.4.0, " + transport + ", legacy era", "client-legacy-" + transport, typescript("2", "legacy", transport)},
			client{"@modelcontextprotocol/client 2.4.0, " + transport + ", modern era", "client-modern-" + transport, typescript("2", "modern", transport)},
			client{"mcp-go 1.2.1, " + transport, "mcpgo-" + transport, mcpgo(transport)},
		)
	}
	for _, name := range []string{"claude-desktop", "cursor", "vscode", "zed"} {
		for _, transport := range []string{"stdio", "http"} {
			if transport == "stdio" || shapes[name].http {
				list = append(list, client{"docs/clients/" + name + ".md, " + transport + ": shape; task by mcp-go", "page-" + name + "-" + transport, page(name, transport)})
			}
		}
	}
	return list
}

func typescript(major, era, transport string) func(context.Context, *stage, string) (string, error) {
	return func(ctx context.Context, s *stage, request string) (string, error) {
		script, err := filepath.Abs("test/clients/typescript.cjs")
		if err != nil {
			return "", err
		}
		return s.command(ctx, s.node, append([]string{script, s.modules, major, era, transport, request}, s.target(transport)...)...)
	}
}

func mcpgo(transport string) func(context.Context, *stage, string) (string, error) {
	return func(ctx context.Context, s *stage, request string) (string, error) {
		return s.command(ctx, s.mcpgo, append([]string{transport, request}, s.target(transport)...)...)
	}
}

// inspect calls one tool with the Inspector's command line and returns the text of the result.
func (s *stage) inspect(ctx context.Context, era, transport, tool, argument string) (string, error) {
	args := []string{filepath.Join(s.modules, "node_modules", ".bin", "mcp-inspector"), "--cli", "--protocol-era", era, "--format", "json", "--quiet",
		"--method", "tools/call", "--tool-name", tool, "--tool-arg", argument}
	if transport == "http" {
		args = append(args, "--transport", "http", "--server-url", s.url)
	} else {
		args = append(args, "-e", "XDG_STATE_HOME="+filepath.Join(s.stdio.Dir, "state")) // the Inspector passes nothing else on
		args = append(append(args, "--"), s.target(transport)...)
	}
	out, err := s.command(ctx, s.node, args...)
	if err != nil {
		return "", err
	}
	var answer struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Result.Content) != 1 || answer.Result.IsError {
		return "", fmt.Errorf("%w in %s", errors.Join(errors.New("no result"), err), out)
	}
	return answer.Result.Content[0].Text, nil
}

// inspectorTask opts into the Tasks extension, as the Inspector does in the modern era: it polls tasks/get and prints the
// result of the task.
func inspectorTask(transport string) func(context.Context, *stage, string) (string, error) {
	return func(ctx context.Context, s *stage, request string) (string, error) {
		return s.inspect(ctx, "modern", transport, "agent_run", "request="+request)
	}
}

// inspectorLegacy calls agent_run once and then agent_status; each call is a process and a connection of its own.
func inspectorLegacy(ctx context.Context, s *stage, request string) (string, error) {
	text, err := s.inspect(ctx, "legacy", "http", "agent_run", "request="+request)
	if err != nil {
		return "", err
	}
	return poll(ctx, text, func(task string) (string, error) {
		return s.inspect(ctx, "legacy", "http", "agent_status", "task_id="+task)
	})
}

var field = regexp.MustCompile(`(?m)^(task_id|status): (.*)$`)

func fields(text string) map[string]string {
	found := map[string]string{}
	for _, m := range field.FindAllStringSubmatch(text, -1) {
		if _, ok := found[m[1]]; !ok {
			found[m[1]] = m[2]
		}
	}
	return found
}

// poll asks for the task of an agent_run text until it has ended.
func poll(ctx context.Context, text string, status func(task string) (string, error)) (string, error) {
	task := fields(text)["task_id"]
	if task == "" {
		return "", fmt.Errorf("agent_run says %q", text)
	}
	for {
		text, err := status(task)
		if err != nil {
			return "", err
		}
		switch fields(text)["status"] {
		case "completed", "failed", "cancelled":
			return text, nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
