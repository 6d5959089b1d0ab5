// Command bare is an MCP server with the SDK and nothing else: what agent-mcp is compared with.
//
//	bare [-tools FILE] [-text FILE] [-http ADDR] [HASHED ...]
//
// It hashes the named files, then serves the tools of FILE (the result of a tools/list) on stdio, or stateless with JSON
// answers on http://ADDR/mcp; each call answers -text.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	list := flag.String("tools", "", "`file` with the result of a tools/list")
	text := flag.String("text", "", "`file` with the text that every call answers")
	addr := flag.String("http", "", "`address` to serve HTTP on")
	flag.Parse()
	if err := serve(*list, *text, *addr, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

func serve(list, text, addr string, hashed []string) error {
	for _, name := range hashed {
		if err := hash(name); err != nil {
			return err
		}
	}
	tools := mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "nothing", InputSchema: json.RawMessage(`{"type":"object"}`)}}}
	if list != "" {
		data, err := os.ReadFile(list)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, &tools); err != nil {
			return err
		}
	}
	var answer []byte
	if text != "" {
		var err error
		if answer, err = os.ReadFile(text); err != nil {
			return err
		}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	for _, t := range tools.Tools {
		s.AddTool(t, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(answer)}}, IsError: true}, nil
		})
	}
	if addr != "" {
		mux := http.NewServeMux()
		mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
		return http.ListenAndServe(addr, mux)
	}
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

func hash(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(sha256.New(), f)
	return err
}
