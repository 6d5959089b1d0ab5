// Command mcpgo runs agent_run with the mcp-go client and prints the last agent_status.
//
//	mcpgo stdio|http REQUEST TARGET...
//
// It has a go.mod of its own, so that the product's module does not know the library.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mcpgo:", err)
		os.Exit(1)
	}
}

var line = regexp.MustCompile(`(?m)^(task_id|status): (.*)$`)

func run(ctx context.Context, args []string) error {
	if len(args) < 3 {
		return errors.New("usage: mcpgo stdio|http REQUEST TARGET...")
	}
	c, err := connect(args[0], args[2:])
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Start(ctx); err != nil {
		return err
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "sekisho-clients", Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return err
	}
	tools, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return err
	}
	if len(tools.Tools) != 2 || tools.Tools[0].Name != "agent_run" || tools.Tools[1].Name != "agent_status" {
		return fmt.Errorf("tools: %+v", tools.Tools)
	}
	text, err := call(ctx, c, "agent_run", map[string]any{"request": args[1]})
	if err != nil {
		return err
	}
	task := field(text, "task_id")
	for {
		if text, err = call(ctx, c, "agent_status", map[string]any{"task_id": task}); err != nil {
			return err
		}
		switch field(text, "status") {
		case "completed", "failed", "cancelled":
			fmt.Println(text)
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func connect(transport string, target []string) (*client.Client, error) {
	if transport == "http" {
		return client.NewStreamableHttpClient(target[0])
	}
	return client.NewStdioMCPClient(target[0], os.Environ(), target[1:]...)
}

func call(ctx context.Context, c *client.Client, tool string, arguments map[string]any) (string, error) {
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments = tool, arguments
	result, err := c.CallTool(ctx, req)
	if err != nil {
		return "", err
	}
	if result.IsError || len(result.Content) != 1 {
		return "", fmt.Errorf("%s: %+v", tool, result)
	}
	text, ok := result.Content[0].(mcp.TextContent)
	if !ok {
		return "", fmt.Errorf("%s: %+v", tool, result.Content[0])
	}
	return text.Text, nil
}

func field(text, name string) string {
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		if m[1] == name {
			return m[2]
		}
	}
	return ""
}
