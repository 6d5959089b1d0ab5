// Command agent-mcp is an MCP server whose work runs inside an operating system sandbox.
package main

import "sekisho/internal/sandbox/host"

func main() {
	if host.Child() {
		return
	}
}
