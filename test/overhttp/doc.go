// Package overhttp drives the product's agent-mcp over HTTP, as any program on the machine could.
package overhttp
