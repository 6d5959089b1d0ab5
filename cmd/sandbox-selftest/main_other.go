//go:build !linux

// Command sandbox-selftest runs the security matrix on this machine and prints what it saw.
package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	fmt.Fprintln(os.Stderr, "sandbox-selftest: there is no sandbox for", runtime.GOOS, "yet")
	os.Exit(1)
}
