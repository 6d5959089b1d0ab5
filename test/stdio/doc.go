// Package stdio drives the product's agent-mcp over its standard streams, as any program on the machine could.
package stdio
