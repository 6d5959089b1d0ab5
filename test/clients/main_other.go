//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "agent-mcp serves on Linux only; there is nothing to judge here")
	os.Exit(1)
}
