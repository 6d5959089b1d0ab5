//go:build linux

package main

import (
	"fmt"
	"maps"
	"slices"

	"sekisho/internal/strictjson"
)

// shape is what a client's published documentation says of its file: the member that holds the servers by name, and the
// members of a server's entry. Written down from the clients' own pages: modelcontextprotocol.io/docs/develop/connect-local-servers
// (Claude Desktop), code.claude.com/docs/en/mcp, cursor.com/docs/context/mcp, code.visualstudio.com/docs/copilot/reference/mcp-configuration,
// zed.dev/docs/ai/mcp.
type shape struct {
	servers string
	// typed: an entry names its transport in member type, as these words.
	typed map[string]bool // by transport; true: required, false: may be absent
	http  bool
}

var shapes = map[string]shape{
	"claude-desktop": {servers: "mcpServers"},
	"claude-code":    {servers: "mcpServers", typed: map[string]bool{"stdio": false, "http": true}, http: true},
	"cursor":         {servers: "mcpServers", typed: map[string]bool{"stdio": false}, http: true},
	"vscode":         {servers: "servers", typed: map[string]bool{"stdio": true, "http": true}, http: true},
	"zed":            {servers: "context_servers", http: true},
}

// server is an entry as all of these clients have it.
type server struct {
	Type    *string           `json:"type"`
	Command *string           `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	URL     *string           `json:"url"`
	Headers map[string]string `json:"headers"`
}

// entry checks a file against the client's shape and returns its one server.
func (s shape) entry(text string) (server, error) {
	var file map[string]map[string]server
	if err := strictjson.Unmarshal([]byte(text), 1<<20, &file); err != nil {
		return server{}, err
	}
	entries := file[s.servers]
	if len(file) != 1 || len(entries) != 1 || entries["agent"].Command == nil && entries["agent"].URL == nil {
		return server{}, fmt.Errorf("the file must hold %q with one server named agent, and has %q", s.servers, slices.Sorted(maps.Keys(file)))
	}
	e := entries["agent"]
	transport := "stdio"
	if e.URL != nil {
		transport = "http"
	}
	required, typed := s.typed[transport]
	switch {
	case e.Command != nil && (e.URL != nil || e.Headers != nil), e.URL != nil && (e.Args != nil || e.Env != nil):
		return e, fmt.Errorf("an entry is a program or a URL, not both")
	case e.URL != nil && !s.http:
		return e, fmt.Errorf("this client has no URL in its file")
	case e.Type != nil && (!typed || *e.Type != transport), e.Type == nil && required:
		return e, fmt.Errorf("member type of a %s server", transport)
	}
	return e, nil
}
