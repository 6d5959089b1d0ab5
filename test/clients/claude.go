//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// claudeCode gives the page's entry to the Claude Code CLI, which then connects to the server and says so. It runs no task,
// because that takes an account; the page's command or URL runs one with mcp-go.
func claudeCode(transport string) func(context.Context, *stage, string) (string, error) {
	return func(ctx context.Context, s *stage, request string) (string, error) {
		b, err := s.pageBlock("claude-code", transport)
		if err != nil {
			return "", err
		}
		var file struct{ MCPServers map[string]json.RawMessage }
		if err := json.Unmarshal([]byte(b.Text), &file); err != nil {
			return "", err
		}
		home, err := os.MkdirTemp(s.dir, "claude-")
		if err != nil {
			return "", err
		}
		claude := func(args ...string) (string, error) {
			return s.command(ctx, "env", append([]string{"HOME=" + home, "CLAUDE_CONFIG_DIR=" + home, "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
				filepath.Join(s.modules, "node_modules", "@anthropic-ai", "claude-code-linux-x64", "claude")}, args...)...)
		}
		if _, err := claude("mcp", "add-json", "--scope", "user", "agent", string(file.MCPServers["agent"])); err != nil {
			return "", err
		}
		told, err := claude("mcp", "get", "agent")
		if err != nil {
			return "", err
		}
		if !strings.Contains(told, "Connected") || !strings.Contains(told, "Type: "+transport) {
			return "", fmt.Errorf("claude mcp get says %q", told)
		}
		return page("claude-code", transport)(ctx, s, request)
	}
}

// page runs a task with the command or the URL of a page's file, after the file was judged by its client's shape.
func page(name, transport string) func(context.Context, *stage, string) (string, error) {
	return func(ctx context.Context, s *stage, request string) (string, error) {
		b, err := s.pageBlock(name, transport)
		if err != nil {
			return "", err
		}
		e, err := shapes[name].entry(b.Text)
		if err != nil {
			return "", err
		}
		if e.URL != nil {
			return s.command(ctx, s.mcpgo, "http", request, *e.URL)
		}
		if e.Command == nil {
			return "", errors.New("no command")
		}
		return s.command(ctx, s.mcpgo, append([]string{"stdio", request, *e.Command}, e.Args...)...)
	}
}
